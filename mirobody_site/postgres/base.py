"""The back end's connections: each is tried before it is given out."""

from typing import Any

import psycopg
from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own, but that connections which a restart of Postgres broke are passed over without a pause.

    The pool's check, which ``CONN_HEALTH_CHECKS`` switches on, waits longer before each next one that it tries.
    """

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """A connection that works. Raises ``OperationalError`` at once when Postgres cannot be reached."""
        connection = super().get_new_connection(conn_params)
        while self.pool is not None and not _works(connection):
            self.pool.putconn(connection)
            connection = super().get_new_connection(conn_params)
        return connection


def _works(connection: "psycopg.Connection[Any]") -> bool:
    try:
        connection.execute("")
    except psycopg.OperationalError:
        return False
    return True
