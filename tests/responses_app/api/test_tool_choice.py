"""``tool_choice`` in model mode: what is guaranteed whatever the provider does with it (wire contract, section 9)."""

import secrets
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from pytest_django import Settings

from tests.responses_app.api.both_ways import refused
from tests.responses_app.api.conftest import BOOKING, LOOKUP, Ask, Script, calls_of, create_stream, message, output_for
from tests.support.envelope import assert_error
from tests.support.upstream import Call, Request, Step, Upstream, Usage

Json = dict[str, Any]

TOOLS = [LOOKUP, BOOKING]
PHONE = Call("phone_lookup", {"name": "Dr Li"})
DATE = Call("book_appointment", {"date": "2026-12-01"})
NAMED = {"type": "function", "name": "phone_lookup"}
SPELLINGS: list[Any] = ["required", NAMED, {"type": "function", "function": {"name": "phone_lookup"}}]
each_spelling = pytest.mark.parametrize("choice", SPELLINGS, ids=["required", "named", "named, nested"])

UNKNOWN_CHOICE = {
    "error": {"message": "The tool_choice parameter does not support being set to this in thinking mode."}
}
UNKNOWN_FIELD = {"error": {"message": "Unrecognized request argument supplied: chat_template_kwargs"}}


@pytest.fixture(autouse=True)
def new_models(settings: Settings) -> None:
    """Models of which nothing is known yet."""
    settings.LLM_MODEL_FLASH = f"flash-{secrets.token_hex(4)}"


@pytest.fixture
def bare(ask: Ask) -> Ask:
    """``ask`` in model mode, with tools."""

    def asked(**body: Any) -> Json:
        return ask(**{"mode": "model", "tools": TOOLS} | body)

    return asked


def is_native(request: Request) -> bool:
    return request.body["tool_choice"] != "auto" and not is_unthinking(request)


def is_unthinking(request: Request) -> bool:
    return request.body.get("enable_thinking") is False


def demands(request: Request) -> bool:
    """Whether the choice is asked for in words."""
    return "must call" in request.system


def calls_when(condition: Callable[[Request], bool], *calls: Call, otherwise: Step | None = None) -> Any:
    """A provider that makes the calls when the condition holds."""
    return lambda request: Step(calls=calls) if condition(request) else otherwise or Step(text=["I would rather talk."])


@each_spelling
def test_is_passed_to_a_provider_that_knows_it(bare: Ask, script: Script, upstream: Upstream, choice: Any) -> None:
    mark = script(calls_when(is_native, PHONE))
    response = bare(input=f"Go {mark}", tool_choice=choice)
    assert [call["name"] for call in calls_of(response)] == ["phone_lookup"]
    assert response["tool_choice"] == ("required" if choice == "required" else NAMED)
    [asked] = upstream.requests(mark)
    named = {"type": "function", "function": {"name": "phone_lookup"}}
    assert asked.body["tool_choice"] == ("required" if choice == "required" else named)
    assert asked.system == ""


PROVIDERS = {
    "refuses it while it thinks": (is_unthinking, UNKNOWN_CHOICE),
    "leaves it aside while it thinks": (is_unthinking, None),
    "refuses it and every switch": (demands, UNKNOWN_FIELD | {"error": {"message": "tool_choice: unknown field"}}),
    "leaves it aside always": (demands, None),
}


@each_spelling
@pytest.mark.parametrize(("calls_if", "refusal"), PROVIDERS.values(), ids=PROVIDERS.keys())
def test_is_kept_by_a_provider_that(
    bare: Ask,
    script: Script,
    upstream: Upstream,
    choice: Any,
    calls_if: Callable[[Request], bool],
    refusal: Json | None,
) -> None:
    refused_step = Step(status=400, error_body=refusal) if refusal else None
    mark = script(calls_when(calls_if, PHONE, otherwise=refused_step))
    response = bare(input=f"Go {mark}", tool_choice=choice)
    assert [call["name"] for call in calls_of(response)] == ["phone_lookup"]
    assert response["output_text"] == ""
    tried = len(upstream.requests(mark))
    assert tried == (2 if calls_if is is_unthinking else 3)
    bare(input=f"Go {mark}", tool_choice=choice)
    assert len(upstream.requests(mark)) == tried + 1, "what is known is not found out again"


def test_a_way_that_fails_later_is_not_kept_to(
    api: httpx.Client, bare: Ask, script: Script, upstream: Upstream
) -> None:
    bare(input=f"Go {script(calls_when(demands, PHONE))}", tool_choice="required")
    never = script(Step(text=["No."]), repeat_last=True)
    body = {"mode": "model", "input": f"Go {never}", "tools": TOOLS, "tool_choice": "required"}
    assert_error(api.post("/v1/responses", json=body), 502, "upstream_error")
    assert len(upstream.requests(never)) == 2
    native = script(calls_when(is_native, PHONE))
    bare(input=f"Go {native}", tool_choice="required")
    assert len(upstream.requests(native)) == 1


def test_what_the_provider_refused_costs_nothing(bare: Ask, script: Script) -> None:
    refused_step = Step(status=400, error_body=UNKNOWN_CHOICE)
    step = Step(calls=[PHONE], usage=Usage(prompt=100, completion=7))
    mark = script(lambda request: step if demands(request) else refused_step)
    response = bare(input=f"Go {mark}", tool_choice="required")
    assert response["usage"]["billed_tokens"] == {"input": 100, "output": 7, "total": 107}


def test_all_that_the_provider_answered_is_billed(bare: Ask, script: Script) -> None:
    mark = script(calls_when(demands, PHONE), Step(text=["?"]))
    response = bare(input=f"Go {mark}", tool_choice="required")
    assert response["usage"]["billed_tokens"] == {"input": 3000, "output": 150, "total": 3150}


def test_switches_that_are_refused_in_any_words_are_left_out(bare: Ask, script: Script) -> None:
    def answer(request: Request) -> Step:
        if is_unthinking(request):
            return Step(status=422, error_body={"error": {"message": "Extra inputs are not permitted."}})
        return Step(calls=[PHONE]) if demands(request) else Step(text=["No."])

    assert calls_of(bare(input=f"Go {script(answer)}", tool_choice="required"))


@each_spelling
def test_a_model_that_is_asked_in_words_is_told_once_more(
    bare: Ask, script: Script, upstream: Upstream, choice: Any
) -> None:
    talk = Step(text=["I would rather talk."])
    mark = script(talk, Step(calls=[PHONE]))
    response = bare(input=f"Go {mark}", tool_choice=choice)
    assert calls_of(response)
    assert response["output_text"] == ""
    assert [said["role"] for said in upstream.requests(mark)[-1].messages[-2:]] == ["assistant", "user"]


@each_spelling
def test_a_provider_that_never_calls_is_a_502(
    api: httpx.Client, script: Script, upstream: Upstream, choice: Any
) -> None:
    mark = script(Step(text=["I would rather talk."]), repeat_last=True)
    body = {"mode": "model", "input": f"Go {mark}", "tools": TOOLS, "tool_choice": choice}
    answer = api.post("/v1/responses", json=body)
    assert_error(answer, 502, "upstream_error")
    assert "tool_choice" in answer.json()["error"]["message"]
    assert len(upstream.requests(mark)) == 4
    stream = create_stream(api, **body)
    assert stream.error
    assert stream.error["code"] == stream.response["error"]["code"] == "upstream_error"
    assert stream.function_calls == []


def test_a_named_tool_alone_is_called(bare: Ask, script: Script) -> None:
    response = bare(input=f"Go {script(Step(calls=[DATE, PHONE, DATE]))}", tool_choice=NAMED)
    assert [call["name"] for call in calls_of(response)] == ["phone_lookup"]


def test_a_named_tool_is_asked_for_again_when_another_is_called(bare: Ask, script: Script, upstream: Upstream) -> None:
    mark = script(calls_when(demands, PHONE, otherwise=Step(calls=[DATE])))
    response = bare(input=f"Go {mark}", tool_choice=NAMED)
    assert [call["name"] for call in calls_of(response)] == ["phone_lookup"]
    assert upstream.requests(mark)[-1].tool_names == ["phone_lookup"]


@pytest.mark.parametrize("name", ["auto", "none", "required"])
def test_a_tool_may_have_the_name_of_a_choice(bare: Ask, script: Script, upstream: Upstream, name: str) -> None:
    mark = script(Step(calls=[Call(name)]))
    tool = {"type": "function", "name": name}
    response = bare(input=f"Go {mark}", tools=[LOOKUP, tool], tool_choice=tool)
    assert [call["name"] for call in calls_of(response)] == [name]
    assert upstream.requests(mark)[0].body["tool_choice"] == {"type": "function", "function": {"name": name}}


def test_calls_may_come_with_text(bare: Ask, script: Script) -> None:
    response = bare(input=f"Go {script(Step(text=['Let me see.'], calls=[PHONE]))}", tool_choice="required")
    assert [item["type"] for item in response["output"]] == ["message", "function_call"]


def test_a_call_that_is_malformed_is_told_once(bare: Ask, script: Script) -> None:
    broken = Call("phone_lookup", "[]")
    assert calls_of(bare(input=f"Go {script(Step(calls=[broken]), Step(calls=[PHONE]))}", tool_choice="required"))


def test_required_holds_for_every_request_of_a_replay(bare: Ask, script: Script) -> None:
    mark = script(Step(calls=[PHONE]), Step(calls=[DATE]))
    asked = [message(f"Go {mark}")]
    [first] = calls_of(bare(input=asked, tool_choice="required"))
    [second] = calls_of(bare(input=[*asked, first, output_for(first)], tool_choice="required"))
    assert second["name"] == "book_appointment"


def test_another_refusal_is_not_mistaken_for_one_of_the_choice(
    api: httpx.Client, script: Script, upstream: Upstream
) -> None:
    mark = script(Step(status=400, error_body={"error": {"message": "This context is too long."}}))
    body = {"mode": "model", "input": f"Go {mark}", "tools": TOOLS, "tool_choice": "required"}
    assert_error(api.post("/v1/responses", json=body), 400, "invalid_value")
    assert len(upstream.requests(mark)) == 1


@pytest.mark.parametrize("choice", ["required", NAMED])
def test_a_choice_needs_tools(api: httpx.Client, choice: Any) -> None:
    refused(api, {"mode": "model", "input": "Go", "tool_choice": choice}, "invalid_value", "tool_choice")
    refused(api, {"mode": "model", "input": "Go", "tools": [], "tool_choice": choice}, "invalid_value", "tool_choice")


@pytest.mark.parametrize(
    ("choice", "code"),
    [
        ({"type": "function", "name": "absent"}, "unsupported_parameter"),
        ({"type": "allowed_tools", "mode": "required", "tools": [NAMED]}, "unsupported_parameter"),
        ({"type": "web_search"}, "unsupported_parameter"),
        ("any", "unsupported_parameter"),
        (7, "invalid_type"),
    ],
)
def test_others_are_refused(api: httpx.Client, choice: Any, code: str) -> None:
    refused(api, {"mode": "model", "input": "Go", "tools": TOOLS, "tool_choice": choice}, code, "tool_choice")


def test_agent_mode_has_no_required(api: httpx.Client) -> None:
    refused(api, {"input": "Go", "tools": TOOLS, "tool_choice": "required"}, "unsupported_parameter", "tool_choice")


def test_the_built_in_analyst_calls_the_only_tool_there_is(bare: Ask, settings: Settings) -> None:
    settings.LLM_BASE_URL = ""
    response = bare(input="Tomorrow, 2026-12-07.", tools=[BOOKING], tool_choice="required")
    assert [call["name"] for call in calls_of(response)] == ["book_appointment"]
