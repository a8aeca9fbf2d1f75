"""Many turns at once on the embedded default: none fails, none sees another's answer."""

from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.responses_app.api.conftest import LOOKUP, Json, Script, calls_of, create, create_stream, output_for, retrieve
from tests.support.server import Account
from tests.support.upstream import Call, Request, Step

TURNS = 20
READ = Call("query_health_data", {"indicators": ["fasting glucose"], "operation": "readings"})


def tools_seen(request: Request) -> list[str]:
    return [f"{len(request.tool_outputs)} outputs for {request.user_text.split()[0]}"]


def test_twenty_turns_at_once(account: Account, script: Script) -> None:
    mark = script(Step(text=["Let me look."], calls=[READ, READ]), Step(calls=[READ]), Step(text=tools_seen))

    def turn(number: int) -> Json:
        user = f"user-{number}"
        with account.client() as api:
            write(api, user, number)
            body = {"input": f"{user} {mark}", "user": user}
            response = create_stream(api, **body).response if number % 2 else create(api, **body)
            write(api, user, number + 100)
            assert retrieve(api, response["id"]) == response
            return response

    with ThreadPoolExecutor(TURNS) as pool:
        responses = list(pool.map(turn, range(TURNS)))
    for number, response in enumerate(responses):
        assert response["status"] == "completed"
        assert response["output_text"].endswith(f"3 outputs for user-{number}")
        assert [step["status"] for step in response["tool_steps"]] == ["completed"] * 3
        readings = response["tool_steps"][0]["result"]["results"][0]["readings"]
        assert [reading["value"] for reading in readings] == [float(number)]


def test_twenty_handoffs_resumed_at_once(account: Account, script: Script) -> None:
    mark = script(Step(calls=[Call("phone_lookup", {"name": "x"})]), Step(text=lambda request: request.tool_outputs))

    def turn(number: int) -> str:
        with account.client() as api:
            paused = create(api, input=f"Call {mark}", tools=[LOOKUP])
            answered = [output_for(calls_of(paused)[0], f"output {number}")]
            text: str = create(api, input=answered, previous_response_id=paused["id"])["output_text"]
            assert api.delete(f"/v1/responses/{paused['id']}").status_code == 200
            return text

    with ThreadPoolExecutor(TURNS) as pool:
        assert list(pool.map(turn, range(TURNS))) == [f"output {number}" for number in range(TURNS)]


def write(api: httpx.Client, user: str, value: int) -> None:
    records = [
        {"indicator": "Fasting glucose", "value": str(value), "unit": "mmol/L", "time": f"2026-01-{value % 100 + 1:02}"}
    ]
    answer = api.post("/v1/data", json={"user": user, "retention": "permanent", "records": records})
    assert answer.status_code == 200, answer.text
