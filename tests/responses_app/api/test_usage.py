"""What a turn is said to have cost (wire contract, section 3, "Usage")."""

import httpx

from tests.responses_app.api.conftest import LOOKUP, Ask, Script, create, create_stream
from tests.support.upstream import Call, Step, Usage

MEMBERS = Call("list_family_members", {})


def test_the_providers_figures_are_summed_over_the_turns_model_calls(ask: Ask, script: Script) -> None:
    mark = script(
        Step(calls=[MEMBERS], usage=Usage(prompt=1000, completion=20, cached=600, reasoning=5)),
        Step(text=["Fine."], usage=Usage(prompt=1100, completion=30, cached=900, reasoning=7), usage_with_finish=True),
    )
    usage = ask(input=f"Hi {mark}")["usage"]
    assert usage["billed_tokens"] == {"input": 2100, "output": 50, "total": 2150}
    assert usage["output_tokens"] == 50
    assert usage["input_tokens_details"]["cached_tokens"] == 1500
    assert usage["output_tokens_details"]["reasoning_tokens"] == 12
    assert usage["input_tokens"] + usage["input_tokens_details"]["system_tokens"] == 2100


def test_without_the_providers_figures_the_count_is_our_own(ask: Ask, script: Script) -> None:
    usage = ask(input=f"Hi {script(Step(reasoning=['Hm, hm.'], text=['Fine, thank you.'], usage=None))}")["usage"]
    assert usage["billed_tokens"]["estimated"] is True
    assert usage["output_tokens"] > usage["output_tokens_details"]["reasoning_tokens"] > 0
    assert usage["input_tokens_details"]["system_tokens"] > usage["input_tokens"] > 0


def test_input_tokens_are_what_this_request_sent(api: httpx.Client, script: Script) -> None:
    mark = script(Step(text=["Fine."], usage=Usage(prompt=50_000)), repeat_last=True)
    plain = create(api, input=f"Hi {mark}")
    longer = create(api, input=f"Hi {'and so on ' * 50} {mark}")
    instructed = create(api, input=f"Hi {mark}", instructions="Be very short. " * 10)
    equipped = create(api, input=f"Hi {mark}", tools=[LOOKUP])
    continued = create(api, input=f"Hi {mark}", previous_response_id=longer["id"])
    shown = [response["usage"]["input_tokens"] for response in (plain, longer, instructed, equipped, continued)]
    assert shown[1] > shown[0] + 100
    assert shown[2] > shown[0] + 30
    assert shown[3] > shown[0] + 10
    assert shown[4] == shown[0]


def test_input_tokens_are_at_most_the_bill(api: httpx.Client, script: Script) -> None:
    mark = script(Step(text=["Fine."], usage=Usage(prompt=7)))
    usage = create(api, input=f"Hi {'and so on ' * 50} {mark}")["usage"]
    assert (usage["input_tokens"], usage["input_tokens_details"]["system_tokens"]) == (7, 0)


def test_a_failed_turn_has_the_usage_of_what_it_did(api: httpx.Client, script: Script) -> None:
    mark = script(Step(calls=[MEMBERS], usage=Usage(prompt=1000, completion=20)), Step(status=400))
    usage = create_stream(api, input=f"Hi {mark}").response["usage"]
    assert usage["billed_tokens"]["input"] >= 1000
    assert usage["billed_tokens"]["output"] >= 20
