"""A provider's faults as errors of this server, in words of our own, and what a bare model's caller is told instead."""

import math
from collections.abc import Collection
from http import HTTPStatus
from types import MappingProxyType

from mirobody_site.tenancy.errors import ApiError, InvalidRequestError, RateLimitError
from responses_app.engine.ports import ModelFault, Refusable
from responses_app.llm.refusals import Refusal

TIMED_OUT = "The model provider did not answer in time."
UNREACHABLE = "The model provider could not be reached."
BROKE_OFF = "The model provider broke off its answer."
UNREADABLE = "The model provider sent an answer that could not be read."
REPORTED = "The model provider reported an error in the middle of its answer."
STOPPED = "The answer was stopped, since nobody waits for it any more."
_SERVER_FAULT = "The model provider had an error."
_REFUSED = "The model provider refused the request."
_BY_STATUS = MappingProxyType(
    {
        401: "The model provider refused this server's credentials.",
        403: "The model provider refused this server's credentials.",
        408: TIMED_OUT,
        429: "The model provider is rate limited.",
    }
)
_PASSING_STATUSES = frozenset({408, 409, 429})
_CALLERS_STATUSES = frozenset({400, 404, 413, 422})
_LONGEST_RETRY_AFTER = 86_400


class ProviderError(ModelFault):
    """502 ``upstream_error``. ``provider_status`` is the HTTP status the provider gave, if it gave one.

    ``may_pass``: no model is at work on the request, and the same one may succeed, ``retry_after`` seconds later if
    the provider said when.
    """

    def __init__(
        self,
        message: str,
        provider_status: int | None = None,
        *,
        may_pass: bool = False,
        retry_after: float | None = None,
        for_caller: ApiError | None = None,
        about: Collection[Refusable] = frozenset(),
    ) -> None:
        super().__init__(message, for_caller=for_caller, about=about)
        self.provider_status = provider_status
        self.may_pass = may_pass
        self.retry_after = retry_after


class ConnectionFault(ProviderError):
    """The connection failed or the time was over; what had been said before may still be whole."""


class InferenceStopped(ProviderError):
    """No fault: nobody waits for the answer any more."""

    def __init__(self) -> None:
        super().__init__(STOPPED)


def refusal(status: int, said: Refusal, retry_after: float | None = None) -> ProviderError:
    """What an answer with a status other than 2xx means."""
    server_fault = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    message = _BY_STATUS.get(status) or (_SERVER_FAULT if server_fault else _REFUSED)
    return ProviderError(
        message,
        status,
        may_pass=server_fault or status in _PASSING_STATUSES,
        retry_after=retry_after,
        for_caller=_for_caller(status, said, retry_after),
        about=said.about if status in _CALLERS_STATUSES else frozenset(),
    )


def _for_caller(status: int, said: Refusal, retry_after: float | None) -> ApiError | None:
    if status in _CALLERS_STATUSES:
        if "context" in said.about:
            return InvalidRequestError(said.message or _REFUSED, code="context_length_exceeded", param="input")
        return InvalidRequestError(said.message or _REFUSED, param=said.param)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        seconds = min(max(1, math.ceil(retry_after or 1)), _LONGEST_RETRY_AFTER)
        return RateLimitError(_BY_STATUS[status], headers={"Retry-After": str(seconds)})
    return None
