"""Which request, response and task the running code works for: the ids that log lines carry. Never a person's name."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

IDS = ("request_id", "response_id", "task_id")
_current: ContextVar[Mapping[str, str]] = ContextVar("log_context", default={})  # noqa: B039 - nobody changes it


@contextmanager
def log_context(**ids: str | None) -> Iterator[None]:
    """Adds ``ids``, some of ``IDS``, to every line logged inside. Other threads see it when they copy the context."""
    token = _current.set({**_current.get(), **{name: value for name, value in ids.items() if value}})
    try:
        yield
    finally:
        _current.reset(token)


def current_ids() -> Mapping[str, str]:
    """The ids that are known, by name."""
    return _current.get()


def current_request_id() -> str | None:
    """The id of the request being served or worked for, or ``None`` outside of one."""
    return _current.get().get("request_id")
