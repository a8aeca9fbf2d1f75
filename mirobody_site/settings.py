"""Every setting, read from the environment; all have a default that runs without any service or key."""

import os
import secrets
import tempfile
from datetime import timedelta
from pathlib import Path

import environ
from csp.constants import NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from django.core.exceptions import ImproperlyConfigured

from mirobody_site.postgres import pool
from responses_app.protocol.catalogue import catalogue

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
environ.Env.read_env(env.str("ENV_FILE", default=str(BASE_DIR / ".env")), overwrite=False)

DATA_DIR = Path(env.str("DATA_DIR", default=str(BASE_DIR / "data")))
DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)


def _secret_key() -> str:
    """The key from the environment, or one made once and kept under ``data/`` for this user alone."""
    given = env.str("DJANGO_SECRET_KEY", default="")
    if given:
        return str(given)
    path = DATA_DIR / "secret_key"
    if not path.exists():
        _keep_new_secret(path)
    return path.read_text()


def _keep_new_secret(path: Path) -> None:
    """Writes a new secret beside ``path`` and links it there whole: of processes that start together one wins."""
    descriptor, written = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(50))
        os.link(written, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(written)


SECRET_KEY = _secret_key()
DEBUG = env.bool("DJANGO_DEBUG", default=False)
ALLOWED_HOSTS = env.list("DJANGO_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])

INSTALLED_APPS = [
    # Before the admin, whose site it replaces.
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "adrf",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "mirobody_site.tenancy",
    "tools_app",
    "responses_app",
    "mirobody_site.operators",
    "csp",
    "axes",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "mirobody_site.static_files.AsyncWhiteNoiseMiddleware",
    "mirobody_site.tenancy.middleware.api_answers",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "mirobody_site.operators.middleware.AuditRefusals",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "mirobody_site.urls"
ASGI_APPLICATION = "mirobody_site.asgi.application"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {"default": env.db_url("DATABASE_URL", default=f"sqlite:///{DATA_DIR / 'mirobody.sqlite3'}")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # Immediate transactions queue writers instead of failing them half-way; WAL lets readers go on meanwhile.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;",
    }
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}
else:
    # Turns and requests borrow a connection for as long as they talk to the database, never while they wait for a
    # model: many more of them than connections can be under way.
    DATABASES["default"]["ENGINE"] = "mirobody_site.postgres"
    DATABASES["default"]["OPTIONS"] = {
        "connect_timeout": 5,
        "pool": {"min_size": 1, "max_size": env.int("DATABASE_POOL_SIZE", default=16), "timeout": 20, **pool.OPTIONS},
    }
# SQLite leaves out the columns that an index only carries along.
# Whether other hosts of the domain have HTTPS is not known here (security.W005, W021). Without Redis there is one
# process, whose memory serves as its cache (axes.W001).
SILENCED_SYSTEM_CHECKS = ["models.W040", "security.W005", "security.W021", "axes.W001"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
# Served from where the packages keep them, so that nothing has to be collected before a start.
WHITENOISE_USE_FINDERS = True

X_FRAME_OPTIONS = "DENY"
# Under "no-referrer" browsers name no origin in the forms they post, and Django refuses those.
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 60 * 60
# On where callers come by HTTPS alone, as behind the proxy of docs/operations.md.
HTTPS_ONLY = env.bool("HTTPS_ONLY", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS_ONLY
SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60 if HTTPS_ONLY else 0
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
# Of one name and address; counted in the cache, so that no table keeps names as they were typed.
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_HANDLER = "axes.handlers.cache.AxesCacheHandler"
AXES_VERBOSE = False
CSRF_COOKIE_HTTPONLY = True
# Pages ask no other host for anything. The admin's Alpine.js evaluates expressions of its templates, which needs
# unsafe-eval; its colours stand in a style element. No inline script runs.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, UNSAFE_EVAL],
        "style-src": [SELF, UNSAFE_INLINE],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
UNFOLD = {
    "SITE_TITLE": "Mirobody operators",
    "SITE_HEADER": "Mirobody",
    "SITE_SUBHEADER": "Agent API for health data",
    "SITE_URL": None,
    "SHOW_VIEW_ON_SITE": False,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": "/static/operators/icon.svg"}],
    "DASHBOARD_CALLBACK": "mirobody_site.operators.dashboard.filled",
    "SIDEBAR": {"show_search": False, "show_all_applications": True, "navigation": []},
}

REST_FRAMEWORK = {
    "EXCEPTION_HANDLER": "mirobody_site.tenancy.exception_handler.handle_exception",
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_SCHEMA_CLASS": "mirobody_site.tenancy.openapi.ApiSchema",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Mirobody Agent API",
    "DESCRIPTION": "Answers questions about a person's health records over the OpenAI Responses protocol.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SCHEMA_PATH_PREFIX": "/v1",
    "PREPROCESSING_HOOKS": ["mirobody_site.tenancy.openapi.api_endpoints"],
    "COMPONENT_SPLIT_PATCH": False,
    "POSTPROCESSING_HOOKS": ["mirobody_site.tenancy.openapi.faults_once", "mirobody_site.openapi_links.linked"],
}

# Requests a minute of a key that has no limit of its own.
RATE_LIMIT_RPM = env.int("RATE_LIMIT_RPM", default=60)
if RATE_LIMIT_RPM < 1:
    raise ImproperlyConfigured("RATE_LIMIT_RPM must be at least 1.")

REDIS_URL = env.str("REDIS_URL", default="")
if REDIS_URL:
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": REDIS_URL,
            "KEY_PREFIX": "mirobody",
            "OPTIONS": {"socket_connect_timeout": 2, "socket_timeout": 2},
        }
    }
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default=REDIS_URL)
# No result back end: results are rows, and a result would be health content in the broker.
CELERY_TASK_IGNORE_RESULT = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # The broker keeps no second copy of what a worker fetched: that takes two round trips a turn. A turn whose message
    # dies with its worker is sent again from its row (responses_app/services/recovery.py).
    "ack_emulation": False,
    "socket_connect_timeout": 5,
    "socket_timeout": 10,
    "socket_keepalive": True,
}
CELERY_WORKER_REDIRECT_STDOUTS = False

LLM_BASE_URL = env.str("LLM_BASE_URL", default="")
LLM_API_KEY = env.str("LLM_API_KEY", default="")
LLM_MODEL_FLASH = env.str("LLM_MODEL_FLASH", default="mirobody-flash")
LLM_MODEL_EXPERT = env.str("LLM_MODEL_EXPERT", default="mirobody-expert")
LLM_TIMEOUT_SECONDS = env.float("LLM_TIMEOUT_SECONDS", default=60.0)
try:
    MODEL_CATALOGUE = catalogue(env.json("MODEL_CATALOGUE", default={}))
except (ValueError, TypeError, AttributeError) as error:
    raise ImproperlyConfigured(f"MODEL_CATALOGUE: {error}") from error
TURN_DEADLINE_SECONDS = env.float("TURN_DEADLINE_SECONDS", default=280.0)
TURN_THREADS = env.int("TURN_THREADS", default=32)
# How long a worker that is told to stop lets its turns go on.
WORKER_GRACE_SECONDS = env.float("WORKER_GRACE_SECONDS", default=25.0)
TURN_MODEL_CALLS = env.int("TURN_MODEL_CALLS", default=24)
RESPONSE_TTL_DAYS = env.float("RESPONSE_TTL_DAYS", default=30.0)
REQUEST_BODY_BYTES = env.int("REQUEST_BODY_BYTES", default=32 * 1024 * 1024)
DATA_UPLOAD_MAX_MEMORY_SIZE = REQUEST_BODY_BYTES
# A body above this size would go to a temporary file; health content stays off the disk.
FILE_UPLOAD_MAX_MEMORY_SIZE = REQUEST_BODY_BYTES
BUILTIN_TOOLS = env.list(
    "BUILTIN_TOOLS",
    default=[
        "query_health_data",
        "list_family_members",
        "list_clinical_records",
        "summarize_health_data",
        "search_medical_evidence",
        "read_source",
    ],
)
EUROPE_PMC_URL = env.str("EUROPE_PMC_URL", default="https://www.ebi.ac.uk/europepmc/webservices/rest")
CLINICAL_TRIALS_URL = env.str("CLINICAL_TRIALS_URL", default="https://clinicaltrials.gov/api/v2")
# Tests and development only: lets addresses that come from callers, models or pages reach this machine and its network.
EGRESS_ALLOW_PRIVATE = env.bool("EGRESS_ALLOW_PRIVATE", default=False)
# How long the MCP servers of a request may take to list their tools, and one of them for a call.
MCP_LIST_SECONDS = env.float("MCP_LIST_SECONDS", default=15.0)
MCP_CALL_SECONDS = env.float("MCP_CALL_SECONDS", default=60.0)
HARNESS_TOOLS = env.list(
    "HARNESS_TOOLS",
    default=["write_todos", "task", "eval", "ls", "read_file", "write_file", "edit_file", "glob", "grep"],
)
TOOL_CHOICE_NONE = env.str("TOOL_CHOICE_NONE", default="all")

METRICS_TOKEN = env.str("METRICS_TOKEN", default="")
WORKER_METRICS_PORT = env.int("WORKER_METRICS_PORT", default=0)
WORKER_METRICS_HOST = env.str("HOST", default="127.0.0.1")

LOG_FORMAT = env.str("LOG_FORMAT", default="text")
if LOG_FORMAT not in ("text", "json"):
    raise ImproperlyConfigured("LOG_FORMAT must be text or json.")
# Lines hold ids, counts, statuses and exception types; see mirobody_site/tenancy/log.py for what keeps content out.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "context": {"()": "mirobody_site.tenancy.log.LogContextFilter"},
        "task_result": {"()": "mirobody_site.tenancy.log.TaskResultFilter"},
    },
    "formatters": {
        "text": {
            "()": "mirobody_site.tenancy.log.ContentFreeFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s [%(context)s] %(message)s",
        },
        "json": {"()": "mirobody_site.tenancy.log.JsonFormatter"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT, "filters": ["context"]}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {
        "django": {"level": "INFO"},
        # These write request paths, which hold names of Subjects; mirobody_site.tenancy says the same without them.
        "django.request": {"level": "CRITICAL"},
        "uvicorn.access": {"level": "CRITICAL"},
        "uvicorn": {"level": "INFO", "propagate": True},
        "uvicorn.error": {"level": "INFO"},
        # A line for every message; turns have lines of their own, with more in them.
        "celery.beat": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING", "filters": ["task_result"]},
        # Its lines hold names as they were typed; sign-ins are audited.
        "axes": {"level": "CRITICAL"},
        "httpx": {"level": "WARNING"},
        # Its lines hold addresses, and with them what was searched for.
        "urllib3": {"level": "CRITICAL"},
        # And what these say holds what MCP servers are asked and answer; "client" is of the package mcp too.
        "mcp": {"level": "CRITICAL"},
        "client": {"level": "CRITICAL"},
        "httpx2": {"level": "CRITICAL"},
        "httpcore2": {"level": "CRITICAL"},
    },
}
