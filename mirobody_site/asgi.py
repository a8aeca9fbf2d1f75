"""The ASGI entry point: Django inside the body limit, the access log and the request ids."""

import os
from importlib import import_module
from typing import Any, cast

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, Scope
from django.conf import settings
from django.core.asgi import get_asgi_application

from mirobody_site.api_handler import ApiHandler, is_api_path
from mirobody_site.tenancy.access_log import AccessLogMiddleware
from mirobody_site.tenancy.body_limit import BodyLimitMiddleware
from mirobody_site.tenancy.request_id import RequestIdMiddleware

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirobody_site.settings")

pages = get_asgi_application()
api = ApiHandler()
if not settings.CELERY_BROKER_URL:
    # Without workers nothing else would sweep.
    import_module("responses_app.embedded").sweep_regularly()


async def _django(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    handler = api if is_api_path(cast("dict[str, Any]", scope)) else pages
    await handler(cast("Any", scope), cast("Any", receive), cast("Any", send))


application = RequestIdMiddleware(AccessLogMiddleware(BodyLimitMiddleware(_django, settings.REQUEST_BODY_BYTES)))
