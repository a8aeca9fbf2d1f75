"""How this server logs: the ids it works for on every line; of exceptions the type and place, never the text."""

import json
import logging
import sys
from datetime import UTC, datetime
from types import TracebackType

from django.core.signals import got_request_exception

from mirobody_site.tenancy.faults import describe_fault
from mirobody_site.tenancy.log_context import current_ids

logger = logging.getLogger(__name__)


class LogContextFilter(logging.Filter):
    """Puts the ids of the log context on every record: as ``ids``, a mapping, and as ``context``, ``-`` without any."""

    def filter(self, record: logging.LogRecord) -> bool:
        ids = current_ids()
        vars(record).update(ids=ids, context=" ".join(ids.values()) or "-")
        return True


class TaskResultFilter(logging.Filter):
    """Takes return values and exception texts out of Celery's own lines about a task."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, dict):
            record.args = {**record.args, "return_value": "", "exc": "", "traceback": ""}
        return True


ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class ContentFreeFormatter(logging.Formatter):
    """A message's first line, and the exception's type and place. Later lines may hold values."""

    def format(self, record: logging.LogRecord) -> str:
        first_line = logging.makeLogRecord(record.__dict__)
        first_line.msg, first_line.args = record.getMessage().split("\n", 1)[0], ()
        first_line.exc_text = None
        return super().format(first_line)

    def formatException(self, ei: ExceptionInfo) -> str:  # noqa: N802 - the name is the standard library's
        return describe_fault(ei[1]) if ei[1] is not None else ""


class JsonFormatter(ContentFreeFormatter):
    """A JSON object a line with ``time`` (UTC, ISO 8601), ``level``, ``logger``, ``message``, and what else is known.

    That is ``request_id``, ``response_id``, ``task_id``; ``exception``; of requests ``method``, ``route``, ``status``;
    ``duration_ms``.
    """

    _FIELDS = ("method", "route", "status", "duration_ms")

    def format(self, record: logging.LogRecord) -> str:
        values = vars(record)
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            **values.get("ids", {}),
            "message": record.getMessage().split("\n", 1)[0],
            **{name: values[name] for name in self._FIELDS if values.get(name) is not None},
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_unhandled_exceptions() -> None:
    """Has exceptions outside of API views logged by type and place. Django's own lines hold the path and the text."""
    got_request_exception.connect(_log_unhandled, dispatch_uid=__name__)


def _log_unhandled(**_: object) -> None:
    exception = sys.exception()
    if exception is not None:
        logger.error("unhandled %s", describe_fault(exception))
