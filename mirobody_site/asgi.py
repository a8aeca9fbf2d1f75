"""The ASGI entry point: Django inside the body limit, the access log and the request ids."""

import os
from importlib import import_module
from typing import cast

from asgiref.typing import ASGI3Application
from django.conf import settings
from django.core.asgi import get_asgi_application

from mirobody_site.tenancy.access_log import AccessLogMiddleware
from mirobody_site.tenancy.body_limit import BodyLimitMiddleware
from mirobody_site.tenancy.request_id import RequestIdMiddleware

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirobody_site.settings")

django_application = get_asgi_application()
if not settings.CELERY_BROKER_URL:
    # Without workers nothing else would sweep.
    import_module("responses_app.embedded").sweep_regularly()

application = RequestIdMiddleware(
    AccessLogMiddleware(BodyLimitMiddleware(cast("ASGI3Application", django_application), settings.REQUEST_BODY_BYTES))
)
