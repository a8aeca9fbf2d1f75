"""How this server logs: the request id on every line; of exceptions the type and place, never the text."""

import logging
import sys
from types import TracebackType

from django.core.signals import got_request_exception

from mirobody_site.tenancy.faults import describe_fault
from mirobody_site.tenancy.request_id import current_request_id

logger = logging.getLogger(__name__)


class RequestIdFilter(logging.Filter):
    """Puts ``request_id`` on every record; ``-`` outside a request."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current_request_id() or "-"
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


def log_unhandled_exceptions() -> None:
    """Has exceptions outside of API views logged by type and place. Django's own lines hold the path and the text."""
    got_request_exception.connect(_log_unhandled, dispatch_uid=__name__)


def _log_unhandled(**_: object) -> None:
    exception = sys.exception()
    if exception is not None:
        logger.error("unhandled %s", describe_fault(exception))
