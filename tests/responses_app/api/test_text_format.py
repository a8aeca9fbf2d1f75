"""``text.format`` in model mode: an answer is the JSON that was asked for, or incomplete (wire contract, section 2)."""

import json
import secrets
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pytest_django import Settings

from tests.responses_app.api.both_ways import refused
from tests.responses_app.api.conftest import (
    LOOKUP,
    Ask,
    Script,
    calls_of,
    create,
    create_stream,
    message,
    ok,
    output_for,
)
from tests.responses_app.api.test_any_body import anything, schemas
from tests.support.grammar import check_stream
from tests.support.upstream import Call, Raw, Request, Step, Upstream

Json = dict[str, Any]

SCHEMA = {
    "type": "object",
    "properties": {"hr": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["hr", "note"],
    "additionalProperties": False,
}
VITALS = {"type": "json_schema", "name": "vitals", "strict": True, "schema": SCHEMA, "description": "Vital signs."}
NATIVE = {
    "type": "json_schema",
    "json_schema": {"name": "vitals", "strict": True, "schema": SCHEMA, "description": "Vital signs."},
}
ANY_OBJECT = {"type": "json_object"}
GOOD = '{"hr": 61, "note": "静息"}'
WRONG = '{"hr": "fast"}'
NOT_JSON = "The heart rate is 61."
FENCED = f"```json\n{GOOD}\n```"
MISMATCH = {"reason": "format_mismatch"}

NO_FORMAT = {"error": {"message": "response_format type is unavailable here.", "param": "response_format"}}

quickly = hypothesis_settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
each_format = pytest.mark.parametrize("asked", [VITALS, ANY_OBJECT], ids=["json_schema", "json_object"])


@pytest.fixture(autouse=True)
def new_models(settings: Settings) -> None:
    """Models of which nothing is known yet."""
    settings.LLM_MODEL_FLASH = f"flash-{secrets.token_hex(4)}"


@pytest.fixture
def bare(ask: Ask) -> Ask:
    """``ask`` in model mode, for the vital signs unless another format is given."""

    def asked(text_format: Json = VITALS, **body: Any) -> Json:
        return ask(mode="model", text={"format": text_format}, **body)

    return asked


def format_of(request: Request) -> str | None:
    """The type of the format that a provider is asked for."""
    asked = request.body.get("response_format")
    return asked["type"] if asked else None


REFUSALS: dict[str, Any] = {
    "an error object": NO_FORMAT,
    "an error text": {"error": "json_schema is not supported"},
    "flat": {"object": "error", "message": "This response_format type is unavailable now", "code": 400},
    "a list": [{"error": {"code": 400, "message": "Invalid JSON schema", "status": "INVALID_ARGUMENT"}}],
    "fields": {"detail": [{"loc": ["body", "response_format", "type"], "msg": "Input should be 'text'", "input": "x"}]},
    "fields in a message": {"message": {"detail": [{"loc": ["body", "response_format"], "msg": "Extra inputs"}]}},
    "a code": {"error": {"message": "Failed to generate it.", "code": "json_validate_failed"}},
    "text": b"response_format is not known here",
}


def without(*types: str, text: str = GOOD) -> Any:
    """A provider without these formats, that answers otherwise."""
    return lambda request: (
        Step(status=400, error_body=NO_FORMAT) if format_of(request) in types else Step(text=list(text))
    )


@each_format
def test_is_passed_to_a_provider_that_knows_it(bare: Ask, script: Script, upstream: Upstream, asked: Json) -> None:
    mark = script(Step(text=[GOOD]))
    response = bare(asked, input=f"HR 61 {mark}")
    assert response["status"] == "completed"
    assert json.loads(response["output_text"]) == {"hr": 61, "note": "静息"}
    assert response["text"]["format"] == asked
    [request] = upstream.requests(mark)
    assert request.system == ""
    assert request.body["response_format"] == (ANY_OBJECT if asked is ANY_OBJECT else NATIVE)


def test_comes_as_the_provider_writes_it(api: httpx.Client, script: Script) -> None:
    mark = script(Step(text=['\n{"hr": 61, ', '"note": ', '"ok"}']))
    stream = create_stream(api, mode="model", text={"format": VITALS}, input=f"HR 61 {mark}")
    assert stream.types.count("response.output_text.delta") == 3
    assert json.loads(stream.response["output_text"]) == {"hr": 61, "note": "ok"}


PROVIDERS = {
    "has none of schemas": ("json_schema",),
    "has none": ("json_schema", "json_object"),
}


@pytest.mark.parametrize("lacking", PROVIDERS.values(), ids=PROVIDERS.keys())
def test_a_schema_is_given_in_words_to_a_provider_that(
    bare: Ask, script: Script, upstream: Upstream, lacking: tuple[str, ...]
) -> None:
    mark = script(without(*lacking))
    response = bare(input=f"HR 61 {mark}", instructions="Be brief.")
    assert json.loads(response["output_text"]) == {"hr": 61, "note": "静息"}
    tried = [format_of(request) for request in upstream.requests(mark)]
    assert tried == ["json_schema", "json_object", None][: len(lacking) + 1]
    last = upstream.requests(mark)[-1]
    assert last.system.startswith("Be brief.")
    assert json.dumps(SCHEMA, separators=(",", ":")) in last.system
    assert "Vital signs." in last.system
    bare(input=f"HR 61 {mark}")
    assert len(upstream.requests(mark)) == len(tried) + 1, "what is known is not found out again"


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refusal_is_understood_in_any_form(bare: Ask, script: Script, refusal: Any) -> None:
    def answer(request: Request) -> Step:
        is_known = format_of(request) != "json_schema"
        return Step(text=[GOOD]) if is_known else Step(status=422, error_body=refusal)

    assert bare(input=f"HR 61 {script(answer)}")["output_text"] == GOOD


def test_what_is_known_of_one_schema_says_nothing_of_another(bare: Ask, script: Script, upstream: Upstream) -> None:
    bare(input=f"HR 61 {script(without('json_schema'))}")
    other = VITALS | {"schema": SCHEMA | {"title": "Other"}}
    mark = script(Step(text=[GOOD]))
    bare(other, input=f"HR 61 {mark}")
    assert [format_of(request) for request in upstream.requests(mark)] == ["json_schema"]


def test_any_object_is_asked_for_in_words_too_where_the_provider_wants_that(
    bare: Ask, script: Script, upstream: Upstream
) -> None:
    refusal = {"error": {"message": "'messages' must contain the word 'json' to use 'response_format'."}}

    def answer(request: Request) -> Step:
        return Step(text=["{}"]) if "JSON" in request.system else Step(status=400, error_body=refusal)

    mark = script(answer)
    assert bare(ANY_OBJECT, input=f"Go {mark}")["output_text"] == "{}"
    assert [format_of(request) for request in upstream.requests(mark)] == ["json_object", "json_object"]


@each_format
@pytest.mark.parametrize("lacking", [(), ("json_schema", "json_object")], ids=["native", "in words"])
def test_a_fence_around_the_answer_is_left_away(
    api: httpx.Client, script: Script, asked: Json, lacking: tuple[str, ...]
) -> None:
    body = {"mode": "model", "text": {"format": asked}, "input": f"HR 61 {script(without(*lacking, text=FENCED))}"}
    assert json.loads(create(api, **body)["output_text"]) == {"hr": 61, "note": "静息"}
    stream = create_stream(api, **body)
    assert json.loads(stream.response["output_text"]) == {"hr": 61, "note": "静息"}
    assert "```" not in str(stream.events)


@pytest.mark.parametrize("wrong", [NOT_JSON, WRONG, f"Here: {GOOD}", "[]", "NaN", '{"hr": NaN, "note": ""}', ""])
def test_a_wrong_answer_is_asked_for_once_more(bare: Ask, script: Script, upstream: Upstream, wrong: str) -> None:
    def first(request: Request) -> Step:
        return without("json_schema", text=wrong)(request)

    mark = script(first, without("json_schema"))
    response = bare(input=f"HR 61 {mark}")
    assert response["status"] == "completed"
    assert json.loads(response["output_text"]) == {"hr": 61, "note": "静息"}
    said = upstream.requests(mark)[-1].messages
    assert [each["content"] for each in said if each["role"] == "assistant"] == ([wrong] if wrong else [])


@pytest.mark.parametrize("wrong", [NOT_JSON, WRONG])
def test_an_answer_wrong_twice_is_incomplete(bare: Ask, script: Script, upstream: Upstream, wrong: str) -> None:
    mark = script(without("json_schema", text=NOT_JSON), without("json_schema", text=wrong))
    response = bare(input=f"HR 61 {mark}")
    assert (response["status"], response["incomplete_details"]) == ("incomplete", MISMATCH)
    assert response["output_text"] == wrong
    assert response["output"][-1]["status"] == "incomplete"
    assert len(upstream.requests(mark)) == 3


class TestNativeButWrong:
    """A provider that takes the format and keeps not to it."""

    def test_what_was_streamed_is_not_taken_back(self, api: httpx.Client, script: Script, upstream: Upstream) -> None:
        mark = script(Step(text=['{"hr": ', '"fast"}']))
        stream = create_stream(api, mode="model", text={"format": VITALS}, input=f"HR {mark}")
        assert (stream.response["status"], stream.response["incomplete_details"]) == ("incomplete", MISMATCH)
        assert stream.response["output_text"] == WRONG
        assert len(upstream.requests(mark)) == 1

    def test_who_does_not_stream_gets_another(self, api: httpx.Client, script: Script) -> None:
        mark = script(Step(text=[WRONG]), Step(text=[GOOD]))
        assert create(api, mode="model", text={"format": VITALS}, input=f"HR {mark}")["output_text"] == GOOD

    def test_what_does_not_begin_like_json_is_held(self, bare: Ask, script: Script, upstream: Upstream) -> None:
        mark = script(Step(text=["The ", "heart rate"]), Step(text=[GOOD]))
        assert bare(input=f"HR {mark}")["output_text"] == GOOD
        assert [format_of(request) for request in upstream.requests(mark)] == ["json_schema", "json_object"]


def test_a_held_answer_that_is_cut_off_is_told(bare: Ask, script: Script) -> None:
    step = Step(text=['{"hr": '], finish="length")
    mark = script(lambda request: without("json_schema")(request) if format_of(request) == "json_schema" else step)
    response = bare(input=f"HR {mark}", max_output_tokens=16)
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert response["output_text"] == '{"hr": '


def test_a_call_needs_no_format_and_the_turn_after_it_does(bare: Ask, script: Script) -> None:
    mark = script(Step(calls=[Call("phone_lookup", {"name": "A"})]), Step(text=[GOOD]))
    asked = [message(f"HR {mark}")]
    handoff = bare(input=asked, tools=[LOOKUP])
    [call] = calls_of(handoff)
    assert handoff["output_text"] == ""
    answered = bare(input=[*asked, call, output_for(call)], tools=[LOOKUP])
    assert json.loads(answered["output_text"])["hr"] == 61


def test_a_fault_in_mid_answer_is_told_as_ever(api: httpx.Client, script: Script) -> None:
    broken = Step(text=['{"hr"', Raw(b"data: {nonsense\n\n")], finish=None)
    stream = create_stream(api, mode="model", text={"format": VITALS}, input=f"HR {script(broken)}")
    assert stream.response["status"] == "failed"
    assert stream.response["error"]["code"] == "upstream_error"


def test_a_schema_of_another_type(bare: Ask, script: Script, upstream: Upstream) -> None:
    asked = {"type": "json_schema", "name": "list", "schema": {"type": "array", "items": {"type": "integer"}}}
    mark = script(without("json_schema", text="[1, 2]"))
    assert bare(asked, input=f"Count {mark}")["output_text"] == "[1, 2]"
    assert [format_of(request) for request in upstream.requests(mark)] == ["json_schema", None]


BAD: list[tuple[Json, str, str]] = [
    ({"type": "json_schema", "schema": SCHEMA}, "missing_required_parameter", "text.format.name"),
    ({"type": "json_schema", "name": "a"}, "missing_required_parameter", "text.format.schema"),
    ({"type": "json_schema", "name": "a b", "schema": SCHEMA}, "invalid_value", "text.format.name"),
    ({"type": "json_schema", "name": "a", "schema": []}, "invalid_type", "text.format.schema"),
    ({"type": "json_schema", "name": "a", "schema": {"type": "objekt"}}, "invalid_value", "text.format.schema"),
    ({"type": "json_schema", "name": "a", "schema": {"$ref": "#/nowhere"}}, "invalid_value", "text.format.schema"),
    (
        {"type": "json_schema", "name": "a", "schema": {"$ref": "http://127.0.0.1/"}},
        "invalid_value",
        "text.format.schema",
    ),
    ({"type": "json_schema", "name": "a", "schema": {"pattern": "[a"}}, "invalid_value", "text.format.schema"),
    ({"type": "json_schema", "name": "a", "schema": {"title": "x" * 200_000}}, "value_too_long", "text.format.schema"),
    ({"type": "json_schema", "name": "a", "schema": SCHEMA, "strict": "yes"}, "invalid_type", "text.format.strict"),
    ({"type": "yaml"}, "invalid_value", "text.format.type"),
    ({}, "missing_required_parameter", "text.format.type"),
]


@pytest.mark.parametrize(("asked", "code", "param"), BAD, ids=[str(asked)[:60] for asked, *_ in BAD])
def test_a_format_that_is_none(api: httpx.Client, asked: Json, code: str, param: str) -> None:
    refused(api, {"mode": "model", "input": "Go", "text": {"format": asked}}, code, param)


@pytest.mark.parametrize("asked", [ANY_OBJECT, VITALS, {"type": "json_schema"}])
def test_agent_mode_has_plain_text_alone(api: httpx.Client, asked: Json) -> None:
    refused(api, {"input": "Go", "text": {"format": asked}}, "unsupported_parameter", "text")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(value=st.dictionaries(st.text(max_size=4), values, max_size=4), size=st.integers(1, 9), escaped=st.booleans())
@quickly
def test_any_object_cut_anywhere_comes_as_it_was(
    api: httpx.Client, script: Script, value: Json, size: int, escaped: bool
) -> None:
    text = json.dumps(value, ensure_ascii=escaped)
    mark = script(Step(text=[text[i : i + size] for i in range(0, len(text), size)], write_size=size * 7))
    stream = create_stream(api, mode="model", text={"format": ANY_OBJECT}, input=f"Go {mark}", store=False)
    assert (stream.response["status"], stream.response["output_text"]) == ("completed", text)


@given(text=st.text(st.sampled_from('{}[]":,a1 `\n'), max_size=8) | values.map(json.dumps))
@quickly
def test_any_answer_is_json_that_fits_or_incomplete(api: httpx.Client, script: Script, text: str) -> None:
    mark = script(Step(text=list(text)), repeat_last=True)
    for answer in (
        create(api, mode="model", text={"format": VITALS}, input=f"Go {mark}"),
        create_stream(api, mode="model", text={"format": ANY_OBJECT}, input=f"Go {mark}").response,
    ):
        if answer["status"] == "completed":
            assert isinstance(json.loads(answer["output_text"]), dict)
        else:
            assert answer["incomplete_details"] == MISMATCH


@given(asked=st.builds(lambda key, value: VITALS | {key: value}, st.sampled_from(list(VITALS)), anything) | anything)
@quickly
def test_any_format_is_kept_or_refused(api: httpx.Client, script: Script, asked: Any) -> None:
    mark = script(Step(text=[GOOD]), repeat_last=True)
    answer = api.post("/v1/responses", json={"mode": "model", "text": {"format": asked}, "input": f"Go {mark}"})
    if answer.status_code == 400:
        assert str(answer.json()["error"]["param"]).startswith("text")
    else:
        assert ok(answer)["status"] in ("completed", "incomplete")


@given(schema=schemas)
@quickly
def test_any_schema_is_kept_or_refused(api: httpx.Client, script: Script, schema: Any) -> None:
    mark = script(Step(text=[GOOD]), repeat_last=True)
    body = {"mode": "model", "text": {"format": VITALS | {"schema": schema}}, "input": f"Go {mark}", "stream": True}
    answer = api.post("/v1/responses", json=body)
    if answer.status_code == 400:
        assert answer.json()["error"]["param"] == "text.format.schema"
    else:
        assert check_stream(answer.content).response["status"] in ("completed", "incomplete")


def test_the_built_in_analyst_fills_no_format(bare: Ask, settings: Settings) -> None:
    settings.LLM_BASE_URL = ""
    response = bare(input="How is my glucose?")
    assert (response["status"], response["incomplete_details"]) == ("incomplete", MISMATCH)
    assert response["output_text"]
