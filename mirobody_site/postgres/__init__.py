"""Django's Postgres back end with a connection pool that gets over an outage at once, however long it was."""
