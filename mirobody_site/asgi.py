"""The ASGI entry point: Django inside the body limit, the access log and the request ids."""

import os
from typing import cast

from asgiref.typing import ASGI3Application
from django.conf import settings
from django.core.asgi import get_asgi_application

from mirobody_site.tenancy.access_log import AccessLogMiddleware
from mirobody_site.tenancy.body_limit import BodyLimitMiddleware
from mirobody_site.tenancy.request_id import RequestIdMiddleware

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirobody_site.settings")

application = RequestIdMiddleware(
    AccessLogMiddleware(
        BodyLimitMiddleware(cast("ASGI3Application", get_asgi_application()), settings.REQUEST_BODY_BYTES)
    )
)
