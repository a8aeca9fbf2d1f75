"""What all operations of the OpenAPI document share: key, faults, headers, and how types become components.

What each one takes and gives stands beside its door. Source: OpenAPI 3.1.
"""

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from drf_spectacular.drainage import set_override
from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from mirobody_site.tenancy.error_shapes import ErrorEnvelope

JSON = "application/json"
EVENT_STREAM = "text/event-stream"
_COMPONENT = "#/components/schemas/{model}"
_TAG = "tag:"
_ALWAYS = (HTTPStatus.BAD_REQUEST, HTTPStatus.INTERNAL_SERVER_ERROR)
_WITH_A_KEY = (HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS)
_WITH_A_BODY = (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
FAULTS: Mapping[int, str] = {
    HTTPStatus.BAD_REQUEST: "The request is at fault; `param` names the field.",
    HTTPStatus.UNAUTHORIZED: "The key is missing or not valid.",
    HTTPStatus.NOT_FOUND: "Unknown, expired, deleted or not the caller's.",
    HTTPStatus.CONFLICT: "Another turn of the conversation runs, or the idempotency key belongs to another body.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is too large.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The body is not declared as JSON.",
    HTTPStatus.TOO_MANY_REQUESTS: "The key's rate limit, or the account's monthly cap, is reached.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "A fault of this server.",
    HTTPStatus.BAD_GATEWAY: "The model provider, or another server behind this one, failed.",
}


def header(name: str, description: str, schema: Any = str, **given: Any) -> OpenApiParameter:
    """A header of the request, or with ``response=True`` of the answer."""
    return OpenApiParameter(name, schema, OpenApiParameter.HEADER, description=description, **given)


def query(name: str, description: str, schema: Any = str, **given: Any) -> OpenApiParameter:
    """A query parameter."""
    return OpenApiParameter(name, schema, OpenApiParameter.QUERY, description=description, **given)


def in_path(name: str, description: str) -> OpenApiParameter:
    """A part of the path."""
    return OpenApiParameter(name, str, OpenApiParameter.PATH, description=description)


USER_HEADER = header("X-Mirobody-User", "The Subject, for clients that cannot put `user` into the body.")
IDEMPOTENCY_KEY = header(
    "Idempotency-Key",
    "The same request under the same key is answered again, not done again.",
    {"type": "string", "pattern": "^[!-~]{1,255}$"},
)
USER_QUERY = query("user", "The Subject; without it the account's default one.")
_WITH_A_KEY_ALONE = [status for status in (HTTPStatus.OK, *FAULTS) if status != HTTPStatus.UNAUTHORIZED]
_ANSWER_HEADERS = (
    header("X-Request-Id", "The request's id: the caller's own if it sent a sane one.", response=True),
    header("Retry-After", "Seconds.", int, response=[HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS]),
)
_RATE_HEADERS = (
    header("X-RateLimit-Limit", "The key's requests a minute.", int, response=_WITH_A_KEY_ALONE),
    header("X-RateLimit-Remaining", "How many are left in this minute.", int, response=_WITH_A_KEY_ALONE),
    header("X-RateLimit-Reset", "Seconds until the next minute begins.", int, response=_WITH_A_KEY_ALONE),
)


def operation(
    operation_id: str,
    summary: str,
    answer: Mapping[str, Any],
    *,
    request: type[BaseModel] | None = None,
    parameters: Sequence[OpenApiParameter] = (),
    faults: Sequence[int] = (),
    key: bool = True,
) -> Callable[..., Any]:
    """Describes a view's method. ``answer``: the type of the 200 by media type; ``faults``: errors beside the usual."""
    usual = _ALWAYS + (_WITH_A_BODY if request else ()) + (_WITH_A_KEY if key else ())
    usual += (HTTPStatus.NOT_FOUND,) if any(one.location == OpenApiParameter.PATH for one in parameters) else ()
    return extend_schema(
        operation_id=operation_id,
        summary=summary,
        request=request,
        parameters=[*parameters, *_ANSWER_HEADERS, *(_RATE_HEADERS if key else ())],
        responses={(HTTPStatus.OK.value, media_type): shape for media_type, shape in answer.items()}
        | {(status, JSON): OpenApiResponse(ErrorEnvelope, FAULTS[status]) for status in sorted({*usual, *faults})},
    )


class ApiSchema(AutoSchema):
    """How views of the API are read."""

    def map_parsers(self) -> list[str]:
        """Bodies are JSON; the views read them themselves."""
        return [JSON]


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # its registry has no types
    """The API key."""

    target_class = "mirobody_site.tenancy.authentication.ApiKeyAuthentication"
    name = "ApiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A key of the account: `mb_live_…`."}


class WireJsonSchema(GenerateJsonSchema):
    """Pydantic's JSON Schema, with the discriminator of unions whose tag a function reads from ``type``."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Titles that only repeat names are left out."""
        return False

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        told = super().tagged_union_schema(schema)
        mapping = {
            str(tag).removeprefix(_TAG): choice["$ref"]
            for tag, choice in ((tag, self.generate_inner(choice)) for tag, choice in schema["choices"].items())
            if "$ref" in choice
        }
        if callable(schema["discriminator"]) and len(mapping) == len(schema["choices"]):
            # Where a type may be left out an object may fit more than one of them.
            return {"anyOf": told["oneOf"], "discriminator": {"propertyName": "type", "mapping": mapping}}
        return told


class PydanticModels(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # its registry has no types
    """Pydantic models as components, their parts included."""

    target_class = "pydantic.BaseModel"
    match_subclasses = True
    priority = 1

    def get_name(self, auto_schema: AutoSchema, direction: str) -> str:
        # A part of another model is known by its name alone, which looks like a collision.
        set_override(self.target, "suppress_collision_warning", True)
        return str(self.target.__name__)

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> dict[str, Any]:
        schema: dict[str, Any] = self.target.model_json_schema(ref_template=_COMPONENT, schema_generator=WireJsonSchema)
        for name, part in schema.pop("$defs", {}).items():
            component = ResolvedComponent(  # type: ignore[no-untyped-call]
                name=name, type=ResolvedComponent.SCHEMA, object=name, schema=part
            )
            auto_schema.registry.register_on_missing(component)
        return schema


def faults_once(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """The document with each error's answer told once and referred to."""
    shared: dict[str, Any] = {}
    operations = (operation for path in result["paths"].values() for operation in path.values())
    for responses in (operation["responses"] for operation in operations):
        for status in [status for status in responses if int(status) >= HTTPStatus.BAD_REQUEST]:
            name = HTTPStatus(int(status)).phrase.title().replace(" ", "")
            shared[name] = responses[status]
            responses[status] = {"$ref": f"#/components/responses/{name}"}
    result["components"]["responses"] = dict(sorted(shared.items()))
    return result


Endpoint = tuple[str, str, str, Any]


def api_endpoints(endpoints: list[Endpoint]) -> list[Endpoint]:
    """The paths under /v1, without the slash at the end that changes nothing."""
    return [
        (path.rstrip("/"), regex, method, view) for path, regex, method, view in endpoints if path.startswith("/v1/")
    ]
