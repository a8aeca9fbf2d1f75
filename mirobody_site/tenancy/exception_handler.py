"""DRF's exception handler: an API view's exception becomes the envelope. The envelope's form lives in envelope.py."""

import logging
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpResponse
from rest_framework.exceptions import APIException

from mirobody_site.tenancy.envelope import error_response
from mirobody_site.tenancy.errors import ApiError, ServerError, error_for_status
from mirobody_site.tenancy.faults import describe_fault

logger = logging.getLogger(__name__)


def handle_exception(exception: Exception, context: dict[str, Any]) -> HttpResponse:
    """The answer to an exception raised in a view. A 5xx is logged by its type and place alone."""
    error = to_api_error(exception)
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        origin = exception.__cause__ if exception is error and exception.__cause__ else exception
        logger.error("%s %s", error.code, describe_fault(origin))
    return error_response(error)


def to_api_error(exception: BaseException) -> ApiError:
    """The error a caller is told of; a stranger's exception becomes ``server_error`` without its text."""
    match exception:
        case ApiError():
            return exception
        case Http404() | PermissionDenied():
            return error_for_status(HTTPStatus.NOT_FOUND)
        case RequestDataTooBig():
            return error_for_status(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        case SuspiciousOperation():
            return error_for_status(HTTPStatus.BAD_REQUEST)
        case APIException():
            return error_for_status(exception.status_code)
        case _:
            return ServerError()
