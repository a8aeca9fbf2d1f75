"""The ``grounding`` of a response: which numbers of its answer stand in the turn's tool results, and where."""

from typing import Any

import httpx
import pytest

from responses_app.models import Response
from responses_app.services.sweeping import sweep_expired
from tests.responses_app.api.conftest import (
    LOOKUP,
    Ask,
    Script,
    calls_of,
    create,
    create_stream,
    output_for,
    retrieve,
    write_record,
)
from tests.support.upstream import Call, Step

GLUCOSE = Call("query_health_data", {"indicators": ["fasting glucose"], "operation": "readings"})
PHONE = Call("phone_lookup", {"name": "Dr Li"})


def marks(response: dict[str, Any]) -> dict[str, bool]:
    """Each figure of the answer, and whether something supports it."""
    return {figure["text"]: bool(figure["supported_by"]) for figure in response["grounding"]["figures"]}


def write_glucose(api: httpx.Client) -> list[str]:
    """Three readings, and their ids from the newest on."""
    for day, value in enumerate(("5.4 mmol/L", "97 mg/dL", "6.13 mmol/L"), start=1):
        write_record(api, "fasting glucose", value, time=f"2026-01-0{day}")
    write_record(api, "daily steps", "8213", unit="steps", time="2026-01-01")
    return [row["id"] for row in api.get("/v1/data", params={"indicator": "glucose"}).json()["data"]]


def test_a_supported_number_names_its_record_and_an_invented_one_does_not(
    ask: Ask, api: httpx.Client, script: Script
) -> None:
    ids = write_glucose(api)
    text = "你的血糖 is 6.13 mmol/L, up from 4.9 mmol/L."
    response = ask(input=script(Step(calls=[GLUCOSE]), Step(text=[text])))
    (step,) = response["tool_steps"]
    grounding = response["grounding"]
    assert (grounding["numbers"], grounding["supported"]) == (2, 1)
    supported, invented = grounding["figures"]
    assert supported["supported_by"] == [{"call_id": step["call_id"], "records": [ids[0]]}]
    assert invented == {"text": "4.9", "start": text.index("4.9"), "end": text.index("4.9") + 3, "supported_by": []}


@pytest.mark.parametrize(
    ("said", "supported"),
    [
        ("6.13", True),
        ("6.1 mmol/L", True),
        ("6 mmol/L", True),
        ("6.2 mmol/L", False),
        ("6.16 mmol/L", False),
        ("110 mg/dL", True),
        ("120 mg/dL", False),
        ("6.13 kg", False),
        ("three readings", None),
        ("3 readings", True),
        ("三次", True),
        ("九次", False),
        ("97 mg/dL", True),
    ],
)
def test_units_and_rounding_are_understood(
    api: httpx.Client, script: Script, said: str, supported: bool | None
) -> None:
    write_glucose(api)
    response = create(api, input=script(Step(calls=[GLUCOSE]), Step(text=[f"It says {said}."])))
    assert list(marks(response).values()) == ([] if supported is None else [supported])


def test_separators_and_large_units_are_understood(api: httpx.Client, script: Script) -> None:
    write_glucose(api)
    steps = Call("query_health_data", {"indicators": ["daily steps"]})
    response = create(api, input=script(Step(calls=[steps]), Step(text=["8,213 steps, 0.8万步, 8k steps, 9k steps."])))
    assert marks(response) == {"8,213": True, "0.8万": True, "8k": True, "9k": False}


def test_an_answer_without_results_supports_nothing(ask: Ask, script: Script) -> None:
    response = ask(input=script(Step(text=["Perhaps 5.4 mmol/L."])))
    assert marks(response) == {"5.4": False}
    assert ask(input=script(Step(text=["Hello."])))["grounding"] == {"numbers": 0, "supported": 0, "figures": []}


def test_a_failed_call_supports_nothing(api: httpx.Client, script: Script) -> None:
    nothing = Call("query_health_data", {"limit": 100000})
    response = create(api, input=script(Step(calls=[nothing]), Step(text=["At most 200."])))
    assert response["tool_steps"][0]["status"] == "failed"
    assert not any(marks(response).values())


def test_a_callers_own_output_and_what_was_found_before_the_handoff_support(api: httpx.Client, script: Script) -> None:
    write_glucose(api)
    answer = Step(text=["Your 6.13 mmol/L costs 120 today, or 37.5, or 11."])
    handoff = create(api, input=script(Step(calls=[GLUCOSE, PHONE]), answer), tools=[LOOKUP])
    response = resume(api, handoff, '{"price": 120, "note": "or 37.5 later"}')
    assert marks(response) == {"6.13": True, "120": True, "37.5": True, "11": False}
    found, price = (figure["supported_by"] for figure in response["grounding"]["figures"][:2])
    # Their records are named where they were looked up; there alone they can be forgotten.
    assert found == [{"call_id": handoff["tool_steps"][0]["call_id"], "records": []}]
    assert price == [{"call_id": calls_of(handoff)[0]["call_id"], "records": []}]


def resume(api: httpx.Client, handoff: dict[str, Any], output: str) -> dict[str, Any]:
    outputs = [output_for(call, output) for call in calls_of(handoff)]
    return create_stream(api, previous_response_id=handoff["id"], input=outputs).response


def test_an_earlier_turns_results_do_not_support(api: httpx.Client, script: Script) -> None:
    write_glucose(api)
    first = create(api, input=script(Step(calls=[GLUCOSE]), Step(text=["Fine."])))
    again = create(api, input=script(Step(text=["It was 6.13."])), previous_response_id=first["id"])
    assert marks(again) == {"6.13": False}


def test_a_failed_turn_is_grounded_as_far_as_it_spoke(api: httpx.Client, script: Script) -> None:
    write_glucose(api)
    mark = script(Step(text=["First 6.1"], calls=[GLUCOSE]), Step(status=400))
    response = create_stream(api, input=mark).response
    assert response["status"] == "failed"
    assert marks(response) == {"6.1": True}


def test_a_deep_output_breaks_nothing(api: httpx.Client, script: Script) -> None:
    handoff = create(api, input=script(Step(calls=[PHONE]), Step(text=["5 it is."])), tools=[LOOKUP])
    assert resume(api, handoff, "[" * 50_000 + "5" + "]" * 50_000)["status"] == "completed"


def test_a_deleted_records_id_goes_from_the_grounding(api: httpx.Client, script: Script) -> None:
    write_glucose(api)
    write_record(api, "weight", "70 kg")
    weight = Call("query_health_data", {"indicators": ["weight"]})
    mark = script(Step(calls=[GLUCOSE, weight]), Step(text=["6.13 mmol/L, and 70 kg."]))
    response = create(api, input=mark)
    (gone, kept) = (figure["supported_by"][0]["records"][0] for figure in response["grounding"]["figures"])
    api.delete("/v1/data", params={"id": gone})
    for _ in range(2):
        shown = retrieve(api, response["id"])
        assert gone not in str(shown)
        assert kept in str(shown["grounding"])
        assert (shown["grounding"]["numbers"], shown["grounding"]["supported"]) == (2, 2)
        assert shown["grounding"]["figures"][0]["supported_by"][0]["records"] == []
        sweep_expired()
    assert gone not in Response.objects.get(pk=response["id"]).body


def test_a_revoked_share_takes_the_ids_it_showed(api: httpx.Client, script: Script) -> None:
    write_record(api, "ferritin", "51.5 ng/mL", user="marvin")
    api.post("/v1/shares", json={"user": "marvin", "with": "ann", "scope": "all"})
    theirs = Call("query_health_data", {"indicators": ["ferritin"], "member": "marvin"})
    response = create(api, input=script(Step(calls=[theirs]), Step(text=["It is 51.5 ng/mL."])), user="ann")
    (record,) = response["grounding"]["figures"][0]["supported_by"][0]["records"]
    api.delete("/v1/shares", params={"user": "marvin", "with": "ann"})
    assert record not in str(retrieve(api, response["id"]))
    sweep_expired()
    assert record not in Response.objects.get(pk=response["id"]).body
