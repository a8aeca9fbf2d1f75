"""The one error tree: every fault a caller can see. Pure Python; how an error becomes HTTP or an event lives elsewhere.

The codes and statuses are those of the wire contract's error table (section 1).
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any


class ApiError(Exception):
    """A fault and all its caller is told: status, ``type``, ``code``, ``param``, a message without private data."""

    status = 500
    type = "server_error"
    code = "server_error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        self.param = param
        self.headers = dict(headers or {})

    def payload(self) -> dict[str, Any]:
        """The inner error object: ``{"message", "type", "code", "param"}``."""
        return {"message": self.message, "type": self.type, "code": self.code, "param": self.param}


class InvalidRequestError(ApiError):
    """400: the caller's mistake."""

    status = 400
    type = "invalid_request_error"
    code = "invalid_value"


class AuthenticationError(ApiError):
    """401: ``missing_api_key`` or ``invalid_api_key``."""

    status = 401
    type = "authentication_error"
    code = "invalid_api_key"


class NotFoundError(ApiError):
    """404: unknown, expired, deleted or not the caller's; the same words for all four."""

    status = 404
    type = "invalid_request_error"
    code = "not_found"


class MethodNotAllowedError(ApiError):
    """405."""

    status = 405
    type = "invalid_request_error"
    code = "method_not_allowed"


class ConflictError(ApiError):
    """409: ``conversation_locked`` (with ``Retry-After``) or ``idempotency_conflict``."""

    status = 409
    type = "invalid_request_error"
    code = "conversation_locked"


class RequestTooLargeError(ApiError):
    """413: the body is over the limit."""

    status = 413
    type = "invalid_request_error"
    code = "request_too_large"


class UnsupportedMediaTypeError(ApiError):
    """415: the body is not declared as JSON."""

    status = 415
    type = "invalid_request_error"
    code = "unsupported_media_type"


class RateLimitError(ApiError):
    """429 ``rate_limit_exceeded``."""

    status = 429
    type = "rate_limit_error"
    code = "rate_limit_exceeded"


class InsufficientQuotaError(ApiError):
    """429 ``insufficient_quota``: the account's monthly cap is spent."""

    status = 429
    type = "insufficient_quota"
    code = "insufficient_quota"


class UpstreamError(ApiError):
    """502: the model provider, or another server behind this one, failed."""

    status = 502
    type = "upstream_error"
    code = "upstream_error"


class ServerError(ApiError):
    """500: a fault of this server; its cause is in the log, never in the message."""

    def __init__(self, message: str = "The server had an error while processing the request.") -> None:
        super().__init__(message)


def error_for_status(status: int) -> ApiError:
    """The error for an HTTP status that a library chose. What may not be seen does not exist: 403 becomes 404."""
    match status:
        case HTTPStatus.UNAUTHORIZED:
            return AuthenticationError("An API key is needed.", code="missing_api_key")
        case HTTPStatus.NOT_FOUND | HTTPStatus.FORBIDDEN:
            return NotFoundError("There is nothing at this address.")
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return MethodNotAllowedError("This method is not allowed here.")
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return RequestTooLargeError("The request body is too large.")
        case HTTPStatus.UNSUPPORTED_MEDIA_TYPE:
            return UnsupportedMediaTypeError("The body must be application/json.")
        case _ if status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return InvalidRequestError("The request is malformed.")
        case _:
            return ServerError()
