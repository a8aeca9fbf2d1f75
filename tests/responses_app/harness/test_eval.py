"""The tool ``eval``: Python over what it asked for, and code that means harm, which ends within bounds."""

import threading
from typing import Any

import httpx
import pytest

from responses_app.harness import sandbox
from tests.responses_app.api.conftest import Ask, Json, Script, create, retrieve, write_record
from tests.responses_app.harness.conftest import Document, Uses, result, statuses
from tests.support.sse import open_stream
from tests.support.upstream import Call, Step, Upstream

GONE = {"gone": True, "records": 2}
READINGS = {
    "tool": "query_health_data",
    "arguments": {"indicators": ["body weight"], "operation": "readings"},
}
SUM = "sum(r['value'] for r in data[0]['results'][0]['readings'])"


def evaluate(code: str, **more: Any) -> Call:
    return Call("eval", {"code": code, **more})


def write_weights(api: httpx.Client, user: str | None = None) -> None:
    write_record(api, "Body weight", "70", user=user, unit="kg", time="2026-03-01")
    write_record(api, "Body weight", "72", user=user, unit="kg", time="2026-03-02")


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("1 + 1", 2),
        ("x = [1, 2.5, None, True]\n{'a': x, 'b': (1, 2)}", {"a": [1, 2.5, None, True], "b": [1, 2]}),
        ("import datetime\ndatetime.date(2026, 3, 1)", "2026-03-01"),
        ("{1}", [1]),
        ("def mean(v): return sum(v) / len(v)\nmean([1, 2])", 1.5),
        ("'\u2028\U0001f600'", "\u2028\U0001f600"),
    ],
)
def test_the_last_expression_is_the_value(uses: Uses, code: str, value: Any) -> None:
    assert result(uses(evaluate(code))) == {"value": value}


def test_what_is_printed(uses: Uses) -> None:
    assert result(uses(evaluate("print('a')\nprint('b')"))) == {"output": "a\nb\n", "value": None}


def test_it_computes_over_the_subjects_records(ask: Ask, api: httpx.Client, script: Script, upstream: Upstream) -> None:
    write_weights(api, "alice")
    mark = script(Step(calls=[evaluate(SUM, queries=[READINGS])]), Step(text=["142 kg."]))
    response = ask(input=f"Sum {mark}", user="alice")
    assert [step["name"] for step in response["tool_steps"]] == ["eval", "query_health_data"]
    assert result(response, 0) == {"value": 142}
    assert response["health_records"] == [{"tool": "query_health_data", "data": result(response, 1)}]
    assert upstream.requests(mark)[1].tool_outputs == ['{"value":142}']


def test_other_subjects_have_no_part_in_it(uses: Uses, api: httpx.Client) -> None:
    write_weights(api, "alice")
    foreign = READINGS | {"arguments": READINGS["arguments"] | {"member": "alice"}}
    response = uses(evaluate("data", queries=[READINGS]), evaluate("data", queries=[foreign]), user="bob")
    assert "Body weight" not in str([step["result"] for step in response["tool_steps"]])
    assert statuses(response) == ["completed", "completed", "failed", "failed"]


def test_files_are_given_by_path(uses: Uses, document: Document) -> None:
    path = f"/records/{document(None, 'Letter', 'Chest pain.')}.txt"
    write = Call("write_file", {"file_path": "/n", "content": "note"})
    response = uses(write, evaluate("files['/n'] + files[list(files)[1]]", files=["/n", path]))
    assert result(response) == {"value": "noteChest pain."}


@pytest.mark.parametrize("quote", [False, True])
def test_what_it_computed_goes_with_the_records(uses: Uses, api: httpx.Client, quote: bool) -> None:
    write_weights(api)
    code = "raise ValueError(str(data))" if quote else SUM
    response = uses(evaluate(code, queries=[READINGS]))
    assert statuses(response)[0] == ("failed" if quote else "completed")
    api.delete("/v1/data", params={"all": "true"})
    shown = retrieve(api, response["id"])
    assert [result(shown, 0), result(shown, 1)] == [GONE, GONE]
    assert shown["health_records"] == [{"tool": "query_health_data", "data": GONE}]


def test_a_query_that_fails(uses: Uses) -> None:
    response = uses(evaluate("data", queries=[READINGS | {"arguments": {"operation": "guess"}}]))
    assert statuses(response) == ["failed", "failed"]
    assert "operation" in result(response, 0)["error"]


def test_it_asks_for_the_tools_of_the_turn_only(uses: Uses) -> None:
    response = uses(evaluate("data", queries=[READINGS]), builtin_tools=["list_family_members"])
    assert statuses(response) == ["failed"]
    assert statuses(uses(evaluate("1", queries=[]), builtin_tools="none")) == ["failed"]


HARM = {
    "a long list": "[0] * 10**10",
    "doubling": "s = 'x'\nwhile True:\n    s = s + s",
    "a large power": "10 ** 10**9",
    "deep recursion": "def f(): return f()\nf()",
    "a deep value": "a = []\nfor _ in range(100000):\n    a = [a]\na",
    "a padded format": "'%0999999999d' % 1",
    "imports": "__import__('os').system('id')",
    "files": "open('/etc/passwd').read()",
    "other files": "from pathlib import Path\nPath('/etc/passwd').read_text()",
    "folders": "import os\nos.listdir('/')",
    "the environment": "import os\nos.environ['PATH']",
    "one variable": "import os\nos.getenv('PATH')",
    "network": "import socket",
    "processes": "import subprocess",
    "classes": "().__class__.__bases__[0].__subclasses__()",
    "a giant value": "'x' * 1000000",
    "a giant number": "10 ** 5000",
    "one list many times": "a = [1]\nfor _ in range(40): a = [a, a]\na",
    "one object many times": "a = {}\nfor _ in range(40): a = {'a': a, 'b': a}\na",
    "one text many times": "s = 'x' * 1000000\na = [s] * 1000\n[a] * 1000",
    "no number": "float('nan')",
    "no JSON": "b'bytes'",
    "no Python": "def (",
    "deep source": "(" * 5000,
    "a giant message": "raise ValueError('x' * 1000000)",
}


@pytest.mark.parametrize("code", HARM.values(), ids=HARM.keys())
def test_harm_is_told_to_the_model(ask: Ask, script: Script, code: str) -> None:
    response = ask(input=f"Work {script(Step(calls=[evaluate(code)]), Step(text=['No.']))}")
    assert statuses(response) == ["failed"]
    assert 0 < len(result(response)["error"]) <= 2000
    assert "root:" not in str(response)
    assert response["status"] == "completed"


ENDLESS = {
    "loop": "while True: pass",
    "caught": "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "numbers": "x = 9\nwhile True: x = x * x",
    "printing": "while True: print('x' * 1000)",
}


def test_endless_code_is_ended_and_holds_nobody_up(
    api: httpx.Client, uses: Uses, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sandbox._LIMITS, "max_feed_duration_secs", 0.5)
    mark = script(Step(calls=[evaluate(code) for code in ENDLESS.values()]), Step(text=["Ended."]))
    with open_stream(api, {"input": f"Work {mark}"}) as live:
        live.until("response.mirobody_tool_call")
        assert statuses(uses(Call("list_family_members"))) == ["completed"]
        response = live.check().response
    assert statuses(response) == ["failed"] * len(ENDLESS)
    assert len(str(response["tool_steps"])) < 20_000
    assert result(uses(evaluate("1 + 1"))) == {"value": 2}


def test_nothing_of_one_call_is_left_for_another(uses: Uses) -> None:
    response = uses(evaluate("secret = 1"), evaluate("secret"))
    assert statuses(response) == ["completed", "failed"]


def test_many_at_once(api: httpx.Client, script: Script) -> None:
    mark = script(Step(calls=[evaluate(f"{number} * 2") for number in range(40)]), Step(text=["Done."]))
    response = create(api, input=f"Work {mark}")
    assert [step["result"] for step in response["tool_steps"]] == [{"value": number * 2} for number in range(40)]


def test_a_cancelled_turn_does_not_wait_for_it(api: httpx.Client, script: Script) -> None:
    mark = script(Step(calls=[evaluate("while True: pass")]), Step(text=["Never."]))
    ended: list[Json] = []
    with open_stream(api, {"input": f"Work {mark}"}) as live:
        response_id = live.next()["response"]["id"]
        live.until("response.mirobody_tool_call")
        asking = threading.Thread(target=lambda: ended.append(api.post(f"/v1/responses/{response_id}/cancel").json()))
        asking.start()
        live.check()
        asking.join()
    assert ended[0]["status"] == "cancelled"
