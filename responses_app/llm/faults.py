"""A provider's faults as errors of this server, in words of our own. Nothing a provider wrote passes through here."""

import logging
from http import HTTPStatus
from types import MappingProxyType

import httpx2
import openai

from mirobody_site.tenancy.errors import UpstreamError

logger = logging.getLogger(__name__)

TIMED_OUT = "The model provider did not answer in time."
UNREACHABLE = "The model provider could not be reached."
BROKE_OFF = "The model provider broke off its answer."
UNREADABLE = "The model provider sent an answer that could not be read."
REPORTED = "The model provider reported an error in the middle of its answer."
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


class ProviderError(UpstreamError):
    """502 ``upstream_error``. ``provider_status`` is the HTTP status the provider gave, if it gave one."""

    def __init__(self, message: str, provider_status: int | None = None) -> None:
        super().__init__(message)
        self.provider_status = provider_status


CLIENT_FAULTS = (ProviderError, openai.APIError, httpx2.HTTPError, httpx2.StreamError)


def provider_error(error: Exception) -> ProviderError:
    """One of ``CLIENT_FAULTS`` as what is to be raised; logs its type and status.

    Raise it outside of the handler: an exception with the provider's own text must not hang on it as its context.
    """
    fault = error if isinstance(error, ProviderError) else _classified(error)
    logger.warning("model provider failed: %s, status %s", type(error).__name__, fault.provider_status)
    return fault


def _classified(error: Exception) -> ProviderError:
    match error:
        case openai.APIStatusError():
            return ProviderError(_status_message(error.status_code), error.status_code)
        case openai.APITimeoutError() | httpx2.TimeoutException():
            return ProviderError(TIMED_OUT)
        case openai.APIConnectionError():
            return ProviderError(UNREACHABLE)
        case httpx2.DecodingError():
            return ProviderError(UNREADABLE)
        case _:
            return ProviderError(BROKE_OFF)


def _status_message(status: int) -> str:
    return _BY_STATUS.get(status) or (_SERVER_FAULT if status >= HTTPStatus.INTERNAL_SERVER_ERROR else _REFUSED)
