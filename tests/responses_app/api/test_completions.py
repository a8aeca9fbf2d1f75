"""The Answers API (wire contract, section 10): the same turn told as a chat completion, with nothing kept of it."""

import json
import socket
import threading
from typing import Any

import httpx
import pytest

from responses_app.protocol.completion_shapes import ChatCompletion, StreamChunk
from tests.responses_app.api.conftest import Json, Script, message, wait_until, write_record
from tests.responses_app.api.test_store_false import rows_with
from tests.support.envelope import assert_error
from tests.support.server import Account
from tests.support.upstream import Call, Cut, Hang, Raw, Step, Upstream, Usage

PATH = "/v1/chat/completions"
QUERY = Call("query_health_data", {"operation": "readings", "indicators": ["weight"]})
DONE = b"data: [DONE]\n\n"


def ask(api: httpx.Client, text: str, **body: Any) -> Json:
    """The completion of one user message. Fails unless it is a 200."""
    answer = api.post(PATH, json={"messages": [message(text)], **body})
    assert answer.status_code == 200, answer.text
    ChatCompletion.model_validate_json(answer.content)
    completion: Json = answer.json()
    return completion


def stream(api: httpx.Client, text: str, headers: dict[str, str] | None = None, **body: Any) -> list[Json]:
    """The chunks of a streamed completion. Fails unless it is a well-formed stream of nameless frames."""
    answer = api.post(PATH, json={"messages": [message(text)], "stream": True, **body}, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/event-stream"
    return chunks_of(answer.content)


def chunks_of(raw: bytes) -> list[Json]:
    assert raw.endswith(DONE)
    frames = raw.removesuffix(DONE).split(b"\n\n")[:-1]
    assert all(frame.startswith(b"data: ") for frame in frames if not frame.startswith(b":"))
    told = [frame.removeprefix(b"data: ") for frame in frames if not frame.startswith(b":")]
    for data in told:
        StreamChunk.model_validate_json(data)
    return [json.loads(data) for data in told]


def joined(chunks: list[Json], name: str) -> str:
    deltas = (choice["delta"] for chunk in chunks for choice in chunk.get("choices", []))
    return "".join(delta.get(name, "") for delta in deltas)


def test_an_answer_has_every_part(api: httpx.Client, script: Script) -> None:
    write_record(api, "weight", "81.5 kg", user="alice")
    mark = script(
        Step(reasoning=["Let me ", "look."], calls=[QUERY], usage=Usage(900, 20, cached=100, reasoning=4)),
        Step(text=["You weigh ", "81.5 kg."], usage=Usage(1000, 30)),
    )
    said = ask(api, f"How heavy am I? {mark}", user="alice")
    assert said["id"].startswith("chatcmpl-")
    assert (said["object"], said["model"]) == ("chat.completion", "mirobody-flash")
    [choice] = said["choices"]
    assert choice["finish_reason"] == "stop"
    assert choice["message"]["role"] == "assistant"
    assert choice["message"]["content"] == "You weigh 81.5 kg."
    assert choice["message"]["reasoning_content"] == "Let me look."
    [step] = choice["message"]["tool_steps"]
    assert (step["id"], step["name"], step["status"]) == ("mtc_0", "query_health_data", "completed")
    assert said["health_records"] == [{"tool": "query_health_data", "data": step["result"]}]
    assert said["citations"] == []
    assert said["grounding"]["figures"][0]["supported_by"][0]["call_id"] == step["call_id"]
    usage = said["usage"]
    assert usage["completion_tokens"] == 50
    assert usage["prompt_tokens"] + usage["prompt_tokens_details"]["system_tokens"] == 1900
    assert usage["total_tokens"] == usage["prompt_tokens"] + 50
    assert usage["prompt_tokens_details"]["cached_tokens"] == 100
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 4
    assert usage["billed_tokens"] == {"input": 1900, "output": 50, "total": 1950}


@pytest.mark.usefixtures("event_logs")
def test_a_stream_says_the_same_in_chunks(api: httpx.Client, script: Script) -> None:
    write_record(api, "weight", "81.5 kg")
    mark = script(Step(reasoning=["Hm", "m."], calls=[QUERY]), Step(text=["You weigh ", "81.5", " kg."]))
    chunks = stream(api, f"How heavy am I? {mark}", stream_options={"include_usage": True})
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert joined(chunks, "content") == "You weigh 81.5 kg."
    assert joined(chunks, "reasoning_content") == "Hmm."
    steps = [step for c in chunks for choice in c["choices"] for step in choice["delta"].get("tool_steps", [])]
    assert [set(step) for step in steps] == [
        {"index", "id", "call_id", "name", "arguments"},
        {"index", "result", "truncated"},
    ]
    assert (steps[0]["name"], json.loads(steps[0]["arguments"])) == ("query_health_data", QUERY.arguments)
    *_, last, usage = chunks
    assert last["choices"] == [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}]
    assert last["health_records"][0]["data"] == json.loads(steps[1]["result"])
    assert (last["citations"], last["grounding"]["supported"]) == ([], 1)
    assert [chunk["usage"] for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 100


def test_a_stream_without_usage_says_nothing_of_it(api: httpx.Client) -> None:
    assert all("usage" not in chunk for chunk in stream(api, "Hi"))


@pytest.mark.parametrize(
    ("headers", "body"),
    [({"X-Mirobody-Events": "standard"}, {}), ({}, {"stream_options": {"mirobody_events": False}})],
)
def test_tool_activity_can_be_switched_off(api: httpx.Client, script: Script, headers: Any, body: Any) -> None:
    mark = script(Step(calls=[QUERY]), Step(text=["Fine."]))
    chunks = stream(api, f"How? {mark}", headers, **body)
    assert not any("tool_steps" in choice["delta"] for chunk in chunks for choice in chunk["choices"])
    assert joined(chunks, "content") == "Fine."


def test_text_goes_out_as_it_comes(api: httpx.Client, script: Script) -> None:
    gate = threading.Event()
    body = {"messages": [message(f"Go {script(Step(text=['First', gate, ' second.']))}")], "stream": True}
    with api.stream("POST", PATH, json=body) as answer:
        received, raw = answer.iter_raw(), b""
        while b"First" not in raw:
            raw += next(received)
        gate.set()
        raw += b"".join(received)
    assert joined(chunks_of(raw), "content") == "First second."


def test_the_model_is_given_every_message(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark = script(Step(text=["Yes."]))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}}
    messages = [
        message("Be brief.", "system"),
        message("Be kind.", "developer"),
        message("First?"),
        message("Before.", "assistant"),
        {"role": "assistant", "content": None, "refusal": "I will not."},
        {"role": "user", "content": [{"type": "text", "text": f"And this? {mark}"}, image]},
    ]
    answer = api.post(PATH, json={"messages": messages})
    assert answer.status_code == 200, answer.text
    [request] = upstream.requests(mark)
    told = request.messages[1:]
    assert [said["role"] for said in told] == ["system", "system", "user", "assistant", "assistant", "user"]
    assert [said["content"] for said in told[:5]] == ["Be brief.", "Be kind.", "First?", "Before.", "I will not."]
    assert told[5]["content"] == [{"type": "text", "text": f"And this? {mark}"}, image]


def test_an_answer_can_be_sent_back_as_it_came(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    mark = script(Step(calls=[QUERY]), Step(text=["Fine."]))
    first = ask(api, f"How am I? {mark}")["choices"][0]["message"]
    second = script(Step(text=["Still fine."]))
    answer = api.post(PATH, json={"messages": [message("How am I?"), first, message(f"And now? {second}")]})
    assert answer.json()["choices"][0]["message"]["content"] == "Still fine."
    assert [said["content"] for said in upstream.requests(second)[0].messages[2:]] == [
        "Fine.",
        f"And now? {second}",
    ]


CLOSED: dict[str, Any] = {
    "tools": [{"type": "function", "function": {"name": "f"}}],
    "functions": [{"name": "f"}],
    "tool_choice": "auto",
    "function_call": "none",
    "response_format": {"type": "json_object"},
    "n": 2,
    "previous_response_id": "resp_1",
    "session_id": "s",
    "conversation": "c",
    "store": True,
}


@pytest.mark.parametrize("name", CLOSED)
def test_what_it_does_not_have_is_refused(api: httpx.Client, name: str) -> None:
    answer = api.post(PATH, json={"messages": [message("Hi")], name: CLOSED[name]})
    assert_error(answer, 400, "unsupported_parameter", name)


BAD: list[tuple[Json, str, str]] = [
    ({}, "missing_required_parameter", "messages"),
    ({"messages": None}, "missing_required_parameter", "messages"),
    ({"messages": []}, "missing_required_parameter", "messages"),
    ({"messages": [message("  ")]}, "missing_required_parameter", "messages"),
    ({"messages": "Hi"}, "invalid_type", "messages"),
    ({"messages": ["Hi"]}, "invalid_type", "messages[0]"),
    ({"messages": [{"content": "Hi"}]}, "missing_required_parameter", "messages[0].role"),
    ({"messages": [message("Hi", "owner")]}, "invalid_value", "messages[0].role"),
    ({"messages": [{"role": "user"}]}, "missing_required_parameter", "messages[0].content"),
    ({"messages": [{"role": "user", "content": 5}]}, "invalid_type", "messages[0].content"),
    (
        {"messages": [message("Hi"), {"role": "tool", "tool_call_id": "c", "content": "x"}]},
        "unsupported_parameter",
        "messages[1].role",
    ),
    (
        {"messages": [message("Hi"), {"role": "assistant", "content": "x", "tool_calls": [{"id": "c"}]}]},
        "unsupported_parameter",
        "messages[1].tool_calls",
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]},
        "invalid_value",
        "messages[0].content[0]",
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
        "missing_required_parameter",
        "messages[0].content[0].image_url.url",
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_data": "", "file_id": "f"}}]}]},
        "unsupported_parameter",
        "messages[0].content[0].file.file_id",
    ),
    ({"messages": [message("Hi")], "model": "gpt-5"}, "model_not_found", "model"),
    ({"messages": [message("Hi")], "temperature": 3}, "invalid_value", "temperature"),
    ({"messages": [message("Hi")], "n": "1"}, "invalid_type", "n"),
    ({"messages": [message("Hi")], "user": 5}, "invalid_type", "user"),
    ({"messages": [message("Hi")], "strict": True, "topk": 5}, "unsupported_parameter", "topk"),
]


@pytest.mark.parametrize(("body", "code", "param"), BAD)
def test_a_bad_request_names_its_fault(api: httpx.Client, body: Json, code: str, param: str) -> None:
    assert_error(api.post(PATH, json=body), 400, code, param)


def test_it_answers_about_the_named_user_alone(api: httpx.Client, script: Script) -> None:
    write_record(api, "weight", "81.5 kg", user="alice")
    mark = script(Step(calls=[QUERY]), Step(text=["So."]))
    assert ask(api, f"How? {mark}", user="alice")["health_records"]
    assert ask(api, f"How? {mark}", user="bob")["health_records"] == []
    assert ask(api, f"How? {mark}")["health_records"] == []
    asked = {"messages": [message(f"How? {mark}")]}
    by_header = api.post(PATH, json=asked, headers={"X-Mirobody-User": "alice"})
    assert by_header.json()["health_records"]
    both = api.post(PATH, json=asked | {"user": "bob"}, headers={"X-Mirobody-User": "alice"})
    assert_error(both, 400, "invalid_value", "user")


def test_it_needs_a_key(anonymous: httpx.Client) -> None:
    assert_error(anonymous.post(PATH, json={"messages": [message("Hi")]}), 401, "missing_api_key")


def test_it_only_takes_posts(api: httpx.Client) -> None:
    assert_error(api.get(PATH), 405, "method_not_allowed")


@pytest.mark.usefixtures("event_logs")
@pytest.mark.parametrize("streamed", [False, True])
def test_nothing_is_kept(api: httpx.Client, script: Script, streamed: bool) -> None:
    mark = script(Step(reasoning=["marker-thought"], text=["marker-spoken"]))
    body = {"messages": [message(f"marker-asked {mark}")], "user": "marker-user", "stream": streamed}
    answer = api.post(PATH, json=body)
    assert "marker-spoken" in answer.text
    for marker in ("marker-asked", "marker-thought", "marker-spoken", "marker-user"):
        assert rows_with(marker) == []


def test_a_limit_of_the_provider_is_told(api: httpx.Client, script: Script) -> None:
    cut, filtered = script(Step(text=["Half"], finish="length")), script(Step(text=["No"], finish="content_filter"))
    assert ask(api, f"Tell {cut}")["choices"][0]["finish_reason"] == "length"
    assert ask(api, f"Tell {filtered}")["choices"][0]["finish_reason"] == "content_filter"
    assert stream(api, f"Tell {cut}")[-1]["choices"][0]["finish_reason"] == "length"


def test_a_failed_turn_is_an_http_error(api: httpx.Client, script: Script) -> None:
    mark = script(Step(text=["Half", Cut()]))
    assert_error(api.post(PATH, json={"messages": [message(f"Go {mark}")]}), 502, "upstream_error")


def test_a_failure_in_mid_stream_is_told_once_in_the_stream(api: httpx.Client, script: Script) -> None:
    chunks = stream(api, f"Go {script(Step(text=['Half', Cut()]))}")
    assert joined(chunks, "content") == "Half"
    [error] = [chunk["error"] for chunk in chunks if "error" in chunk]
    assert (error["type"], error["code"], error["param"]) == ("upstream_error", "upstream_error", None)
    assert chunks[-1] == {"error": error}


@pytest.mark.usefixtures("event_logs")
@pytest.mark.parametrize("streamed", [False, True])
def test_a_caller_who_leaves_ends_the_turn(
    account: Account, script: Script, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, streamed: bool
) -> None:
    monkeypatch.setattr("responses_app.services.following._ABANDONED_SECONDS", 0)
    mark = script(Step(text=["Half", Hang()]))
    body = json.dumps({"messages": [message(f"Go {mark}")], "stream": streamed}).encode()
    url = httpx.URL(account.base_url)
    with socket.create_connection((url.host, url.port or 80)) as connection:
        head = f"POST {PATH} HTTP/1.1\r\nHost: {url.host}\r\nAuthorization: Bearer {account.key}\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        wait_until(lambda: upstream.requests(mark))
    wait_until(upstream.requests(mark)[0].gone.is_set)


def test_line_ends_in_text_do_not_break_frames(api: httpx.Client, script: Script) -> None:
    text = "a\nb\u2028c\x85d\r\n\n"
    assert joined(stream(api, f"Go {script(Step(text=[text]))}"), "content") == text


def test_keep_alive_comments_of_the_provider_are_not_passed_on(api: httpx.Client, script: Script) -> None:
    mark = script(Step(text=[Raw(b": ping\n\n"), "Fine."]))
    assert joined(stream(api, f"Go {mark}"), "content") == "Fine."
