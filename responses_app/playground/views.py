"""The doors of ``/playground``. The page itself asks the API, with a key of the account that logged in."""

from typing import Annotated, cast

from csp.constants import NONE, SELF
from csp.decorators import csp
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from pydantic import BaseModel, Field, ValidationError

from mirobody_site.tenancy.models import ApiKey, Subject
from mirobody_site.tenancy.services import create_api_key, revoke_api_key
from responses_app.protocol.request import MODELS
from responses_app.rendering import answer_html

KEY_NAME = "playground"
_KEY_IN_SESSION = "playground_key_id"
_SUBJECTS_SHOWN = 200
_own_resources_only = csp(
    {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "connect-src": [SELF],
        "img-src": [SELF, "data:"],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
)
_logged_in = login_required(login_url="playground-login")


@method_decorator([_own_resources_only, never_cache], name="dispatch")
class Login(LoginView):
    """The login of accounts, operators or not."""

    template_name = "playground/login.html"
    next_page = "playground"
    redirect_authenticated_user = True


@_own_resources_only
@never_cache
@require_GET
@_logged_in
def index(request: HttpRequest) -> HttpResponse:
    """The page, with the names of the account's Subjects."""
    account = cast(User, request.user)
    subjects = Subject.objects.filter(account=account, erased_at=None).exclude(user_key="").order_by("user_key")
    names = list(subjects.values_list("user_key", flat=True)[:_SUBJECTS_SHOWN])
    return render(request, "playground/index.html", {"subjects": names, "models": MODELS})


@never_cache
@require_POST
@_logged_in
def make_key(request: HttpRequest) -> JsonResponse:
    """A key of the account for this visit: ``{"key": secret}``. The one that the same login was given before ends."""
    before = ApiKey.objects.filter(pk=request.session.get(_KEY_IN_SESSION, 0), account=cast(User, request.user)).first()
    if before is not None:
        revoke_api_key(before)
    key, secret = create_api_key(cast(User, request.user).username, KEY_NAME)
    request.session[_KEY_IN_SESSION] = key.pk
    return JsonResponse({"key": secret})


class _Support(BaseModel):
    call_id: str
    records: list[str]


class _Figure(BaseModel):
    start: Annotated[int, Field(ge=0)]
    end: int
    supported_by: list[_Support]


class _Grounding(BaseModel):
    figures: list[_Figure]


class _Answer(BaseModel):
    text: Annotated[str, Field(max_length=1_000_000)]
    grounding: _Grounding | None = None


@never_cache
@require_POST
@_logged_in
def show_answer(request: HttpRequest) -> JsonResponse:
    """The HTML of an answer: ``{"text", "grounding"}`` of a response become ``{"html"}``. Nothing is kept."""
    try:
        answer = _Answer.model_validate_json(request.body)
    except ValidationError:
        return JsonResponse({"error": "Expected the text and the grounding of a response."}, status=400)
    grounding = answer.grounding.model_dump() if answer.grounding else None
    return JsonResponse({"html": answer_html(answer.text, grounding)})
