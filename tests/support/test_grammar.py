"""The checker itself: it passes streams that keep the contract and names the breach of those that do not."""

import copy
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.support.grammar import GrammarError, check_response, check_stream
from tests.support.sse import LiveStream

Json = dict[str, Any]
Change = Callable[[list[Json]], object]

HEX = "0123456789abcdef" * 2
REASONING = {
    "type": "reasoning",
    "id": f"rs_{HEX}",
    "status": "completed",
    "summary": [{"type": "summary_text", "text": "Look it up."}],
}
MESSAGE = {
    "type": "message",
    "id": f"msg_{HEX}",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "你好。 Fine.", "annotations": [], "logprobs": []}],
}
CALL = {
    "type": "function_call",
    "id": f"fc_{HEX}_0",
    "call_id": "call_1",
    "name": "book",
    "arguments": '{"day": 1}',
    "status": "completed",
}
STEP = {
    "id": "mtc_0",
    "call_id": "call_0",
    "name": "query_health_data",
    "arguments": {"indicators": ["HbA1c"]},
    "result": {"results": []},
    "status": "completed",
}
USAGE = {
    "input_tokens": 9,
    "output_tokens": 41,
    "total_tokens": 50,
    "input_tokens_details": {"system_tokens": 91, "cached_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 4},
    "billed_tokens": {"input": 100, "output": 41, "total": 141},
}


def response_object(**changes: Any) -> Json:
    """A completed response as the contract's example shows it."""
    response: Json = {
        "id": f"resp_{HEX}",
        "object": "response",
        "created_at": 1783741077,
        "completed_at": 1783741079,
        "status": "completed",
        "model": "mirobody-flash",
        "output": [REASONING, MESSAGE, CALL],
        "output_text": "你好。 Fine.",
        "usage": USAGE,
        "tool_steps": [STEP],
        "health_records": [{"tool": "query_health_data", "data": {}}],
        "citations": [],
        "grounding": {"numbers": 0, "supported": 0, "figures": []},
        "previous_response_id": None,
        "session_id": None,
        "store": True,
        "tools": [{"type": "function", "name": "book", "description": None, "parameters": {}, "strict": None}],
        "tool_choice": "auto",
        "instructions": None,
        "error": None,
        "incomplete_details": None,
        "metadata": {},
        "background": False,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "top_p": 1.0,
        "presence_penalty": 0,
        "frequency_penalty": 0,
        "top_logprobs": 0,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "truncation": "disabled",
        "service_tier": "default",
        "safety_identifier": None,
        "prompt_cache_key": None,
        "text": {"format": {"type": "text"}},
        "reasoning": None,
        "user": "alice",
    }
    return copy.deepcopy(response | changes)


def snapshot(final: Json) -> Json:
    """The response as it was when the turn began."""
    empty: Json = {"output": [], "tool_steps": [], "health_records": [], "output_text": "", "error": None}
    return (
        final
        | empty
        | {"status": "in_progress", "completed_at": None, "usage": None, "incomplete_details": None, "grounding": None}
    )


def item_events(index: int, item: Json) -> list[Json]:
    """The events of one item, its text in two deltas."""
    place = {"item_id": item["id"], "output_index": index}
    if item["type"] == "function_call":
        name = "response.function_call_arguments"
        empty, texts = {"arguments": ""}, item["arguments"]
        inner = [{"type": f"{name}.delta", **place, "delta": half} for half in (texts[:4], texts[4:])]
        inner.append({"type": f"{name}.done", **place, "name": item["name"], "arguments": texts})
    else:
        empty = {"content": []} if item["type"] == "message" else {"summary": []}
        inner = part_events(item, place)
    return [
        {
            "type": "response.output_item.added",
            "output_index": index,
            "item": {**item, **empty, "status": "in_progress"},
        },
        *inner,
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def part_events(item: Json, place: Json) -> list[Json]:
    """The events of an item's only part."""
    message = item["type"] == "message"
    part, place = (
        item["content" if message else "summary"][0],
        place | {"content_index" if message else "summary_index": 0},
    )
    prefix = "response.content_part" if message else "response.reasoning_summary_part"
    name = "response.output_text" if message else "response.reasoning_summary_text"
    logprobs: Json = {"logprobs": []} if message else {}
    text = part["text"]
    return [
        {"type": f"{prefix}.added", **place, "part": {**part, "text": ""}},
        {"type": f"{name}.delta", **place, "delta": text[:3], **logprobs},
        {"type": f"{name}.delta", **place, "delta": text[3:], **logprobs},
        {"type": f"{name}.done", **place, "text": text, **logprobs},
        {"type": f"{prefix}.done", **place, "part": part},
    ]


def tool_events(step: Json) -> list[Json]:
    """A server tool's call and result on the side channel."""
    head = {key: step[key] for key in ("id", "call_id", "name")}
    result = {"result": json.dumps(step["result"]), "truncated": False}
    return [
        {"type": "response.mirobody_tool_call", "tool_step": {**head, "arguments": json.dumps(step["arguments"])}},
        {"type": "response.mirobody_tool_result", "tool_step": {**head, **result}},
    ]


def stream_events(final: Json) -> list[Json]:
    """A whole stream that ends with this response, without its tool events."""
    items = [event for index, item in enumerate(final["output"]) for event in item_events(index, item)]
    kind = "incomplete" if final["status"] == "cancelled" else final["status"]
    return numbered(
        [
            {"type": "response.created", "response": snapshot(final)},
            {"type": "response.in_progress", "response": snapshot(final)},
            *items,
            *([error_event(final["error"])] if final["error"] else []),
            {"type": f"response.{kind}", "response": final},
        ]
    )


def error_event(error: Json) -> Json:
    """The flat and nested error of a failed response."""
    flat = {"code": error["code"], "message": error["message"], "param": None}
    return {"type": "error", **flat, "error": {**flat, "type": error["type"]}}


def numbered(events: list[Json]) -> list[Json]:
    """Deep copies with gapless numbers."""
    return [copy.deepcopy(event | {"sequence_number": number}) for number, event in enumerate(events)]


def good_events() -> list[Json]:
    """Reasoning, a message that stays open over a server tool, and a function call."""
    events = stream_events(response_object())
    middle = index_of(events, "response.output_text.delta") + 1
    return numbered([*events[:middle], *tool_events(STEP), *events[middle:]])


def failed_response() -> Json:
    """A response that failed in the middle of its text."""
    error = {"type": "upstream_error", "code": "upstream_error", "message": "The model provider had an error."}
    return response_object(output=[MESSAGE | {"status": "incomplete"}], tool_steps=[], status="failed", error=error)


def cut_response(status: str) -> Json:
    """A response that ended before it was complete."""
    details = {"reason": "max_output_tokens"} if status == "incomplete" else None
    output = [REASONING, MESSAGE | {"status": "incomplete"}]
    return response_object(output=output, tool_steps=[], status=status, incomplete_details=details)


def wire(events: list[Json]) -> bytes:
    """The frames of these events and ``[DONE]``."""
    frames = [f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events]
    return "".join(frames).encode() + b"data: [DONE]\n\n"


def index_of(events: list[Json], kind: str) -> int:
    return [event["type"] for event in events].index(kind)


def find(events: list[Json], kind: str) -> Json:
    return events[index_of(events, kind)]


class TestGoodStreams:
    def test_is_given_back_as_events(self) -> None:
        stream = check_stream(wire(good_events()))
        assert (stream.text, stream.reasoning) == ("你好。 Fine.", "Look it up.")
        assert stream.response == response_object()
        assert stream.function_calls == [CALL]
        assert [step["id"] for step in stream.tool_steps] == ["mtc_0", "mtc_0"]
        assert stream.error is None
        assert stream.types[:3] == ["response.created", "response.in_progress", "response.output_item.added"]

    def test_failed(self) -> None:
        stream = check_stream(wire(stream_events(failed_response())))
        assert stream.error is not None
        assert stream.error["code"] == "upstream_error"

    @pytest.mark.parametrize("status", ["incomplete", "cancelled"])
    def test_cut_short(self, status: str) -> None:
        assert check_stream(wire(stream_events(cut_response(status)))).response["status"] == status

    def test_comments_may_stand_between_frames(self) -> None:
        raw = wire(good_events()).replace(b"\n\n", b"\n\n: keep-alive\n\n", 3)
        assert check_stream(raw).text == "你好。 Fine."

    def test_a_long_result_is_truncated(self) -> None:
        step = STEP | {"result": {"text": "a" * 5000}}
        events = stream_events(response_object(tool_steps=[step]))
        tools = tool_events(step)
        tools[1]["tool_step"] |= {"result": json.dumps(step["result"])[:4096], "truncated": True}
        assert check_stream(wire(numbered([*events[:2], *tools, *events[2:]]))).text

    def test_what_deviates_on_purpose_passes(self) -> None:
        mcp = {"type": "mcp", "server_label": "a", "server_url": "https://example.com"}
        schema = {"type": "json_schema", "name": "a", "description": None, "schema": {}, "strict": True}
        check_response(response_object(tools=[mcp], text={"format": schema}))


def drop(kind: str) -> Change:
    return lambda events: events.pop(index_of(events, kind))


def double(kind: str) -> Change:
    return lambda events: events.insert(index_of(events, kind), find(events, kind))


def change(kind: str, **values: Any) -> Change:
    return lambda events: find(events, kind).update(values)


def change_item(kind: str, **values: Any) -> Change:
    return lambda events: find(events, kind)["item"].update(values)


def change_final(**values: Any) -> Change:
    return lambda events: events[-1]["response"].update(values)


def change_step(kind: str, **values: Any) -> Change:
    return lambda events: find(events, f"response.mirobody_tool_{kind}")["tool_step"].update(values)


def swap(first: str, second: str) -> Change:
    def exchange(events: list[Json]) -> None:
        a, b = index_of(events, first), index_of(events, second)
        events[a], events[b] = events[b], events[a]

    return exchange


def move_to_end(kind: str) -> Change:
    return lambda events: events.append(events.pop(index_of(events, kind)))


BREACHES: dict[str, tuple[Change, str]] = {
    "no created": (drop("response.created"), "starts with"),
    "no in_progress": (drop("response.in_progress"), "starts with"),
    "in_progress again": (double("response.in_progress"), "lifecycle"),
    "no terminal event": (lambda events: events.pop(), "ends with"),
    "two terminal events": (lambda events: events.append(events[-1]), "lifecycle"),
    "event after the terminal one": (move_to_end("response.output_text.delta"), "ends with"),
    "terminal event of another status": (lambda events: events[-1].update(type="response.incomplete"), "has status"),
    "first snapshot not in progress": (
        lambda events: events[0]["response"].update(status="completed", completed_at=1783741079),
        "first snapshot|usage|without output",
    ),
    "first snapshot lacks a key": (lambda events: events[0]["response"].pop("citations"), "lacks"),
    "another response id": (change_final(id=f"resp_{'0' * 32}"), r"differs.*\['id'\]"),
    "echo changed": (change_final(metadata={"a": "b"}), r"differs.*\['metadata'\]"),
    "unknown event": (change("response.content_part.done", type="response.part.over"), "unknown event"),
    "no added": (drop("response.output_item.added"), "where response.output_item.added has to be"),
    "no part added": (drop("response.content_part.added"), "content_part.added|where|not what its parts"),
    "no deltas": (
        lambda events: [events.remove(e) for e in list(events) if e["type"] == "response.output_text.delta"],
        "not its deltas joined",
    ),
    "a delta lost": (drop("response.output_text.delta"), "not its deltas joined"),
    "a delta twice": (double("response.output_text.delta"), "not its deltas joined"),
    "a reasoning delta lost": (drop("response.reasoning_summary_text.delta"), "not its deltas joined"),
    "an arguments delta lost": (drop("response.function_call_arguments.delta"), "not their deltas joined"),
    "an empty delta": (
        lambda events: events.insert(
            index_of(events, "response.output_text.delta"), find(events, "response.output_text.delta") | {"delta": ""}
        ),
        "empty",
    ),
    "no text done": (drop("response.output_text.done"), "where response.output_text.done has to be"),
    "no part done": (drop("response.content_part.done"), "where response.content_part.done has to be"),
    "no item done": (drop("response.output_item.done"), "where response.output_item.done has to be"),
    "no arguments done": (drop("response.function_call_arguments.done"), "where"),
    "done before delta": (swap("response.output_text.delta", "response.output_text.done"), "where|joined"),
    "items mixed": (swap("response.reasoning_summary_part.done", "response.content_part.added"), "where|output_index"),
    "text done differs": (change("response.output_text.done", text="Other."), "not its deltas joined"),
    "arguments done differ": (change("response.function_call_arguments.done", arguments="{}"), "not their deltas"),
    "output_index jumps": (change("response.content_part.added", output_index=2), "has output_index 2"),
    "content_index from 1": (change("response.output_text.delta", content_index=1), "has content_index 1"),
    "summary_index from 1": (change("response.reasoning_summary_part.done", summary_index=1), "has summary_index 1"),
    "another item_id": (change("response.output_text.done", item_id="msg_2"), "another item_id"),
    "call_id as item_id": (change("response.function_call_arguments.delta", item_id="call_1"), "another item_id"),
    "another id when done": (change_item("response.output_item.done", id="rs_2"), "item's id"),
    "added with content": (change_item("response.output_item.added", summary=REASONING["summary"]), "with content"),
    "added as completed": (change_item("response.output_item.added", status="completed"), "another status"),
    "done in progress": (change_item("response.output_item.done", status="in_progress"), "done and in progress"),
    "null in an item": (change_item("response.output_item.done", encrypted_content=None), "null"),
    "unknown key in an item": (change_item("response.output_item.done", server=True), "unknown keys"),
    "unknown item type": (change_item("response.output_item.added", type="mirobody_tool_call"), "Open Responses"),
    "no logprobs": (lambda events: find(events, "response.output_text.delta").pop("logprobs"), "lacks"),
    "unknown key in an event": (change("response.output_text.done", server=True), "unknown keys"),
    "item left out of the final output": (
        lambda events: events[-1]["response"]["output"].pop(),
        "not the output of the final response",
    ),
    "item changed in the final output": (
        lambda events: events[-1]["response"]["output"][2].update(arguments="{}"),
        "not the output of the final response",
    ),
    "error in a completed stream": (
        lambda events: events.insert(-1, error_event({"type": "a", "code": "b", "message": "c"})),
        "error events",
    ),
    "tool event before created": (
        lambda events: events.insert(0, events.pop(index_of(events, "response.mirobody_tool_call"))),
        "starts with",
    ),
    "tool event with an error key": (change("response.mirobody_tool_result", error=None), "unknown keys"),
    "tool event with an item_id": (change("response.mirobody_tool_call", item_id="a"), "unknown keys"),
    "tool event with an output_index": (change("response.mirobody_tool_call", output_index=0), "unknown keys"),
    "tool step with another key": (change_step("call", status="completed"), "unknown keys"),
    "tool step without truncated": (
        lambda events: find(events, "response.mirobody_tool_result")["tool_step"].pop("truncated"),
        "lacks",
    ),
    "tool result before its call": (
        swap("response.mirobody_tool_call", "response.mirobody_tool_result"),
        "result before its call",
    ),
    "tool result twice": (double("response.mirobody_tool_result"), "twice"),
    "tool result lost": (drop("response.mirobody_tool_result"), "without a result"),
    "tool result of another call": (change_step("result", call_id="call_9"), "another call"),
    "tool arguments as a value": (change_step("call", arguments={"indicators": ["HbA1c"]}), "arguments are not"),
    "tool result differs": (change_step("result", result="{}"), "result is not"),
    "tool result cut too early": (change_step("result", truncated=True), "not cut at its limit"),
    "tool step not in the final response": (change_final(tool_steps=[]), "tool_steps are not the calls"),
}


@pytest.mark.parametrize("name", BREACHES)
def test_a_breach_of_the_order_or_shape_is_named(name: str) -> None:
    breach, words = BREACHES[name]
    events = good_events()
    breach(events)
    with pytest.raises(GrammarError, match=words):
        check_stream(wire(numbered(events)))


FAILED_BREACHES: dict[str, tuple[Change, str]] = {
    "no error event": (drop("error"), "0 error events"),
    "error twice": (double("error"), "2 error events"),
    "error not right before": (
        lambda events: events.insert(2, events.pop(index_of(events, "error"))),
        "does not follow its error",
    ),
    "flat differs from nested": (change("error", message="Other."), "differ"),
    "no flat form": (lambda events: find(events, "error").pop("message"), "lacks"),
    "no nested form": (lambda events: find(events, "error").pop("error"), "lacks"),
    "code is null": (
        lambda events: (find(events, "error").update(code=None), find(events, "error")["error"].update(code=None)),
        "no code",
    ),
    "failed with another error": (
        lambda events: events[-1]["response"]["error"].update(message="Other."),
        "not the error event's",
    ),
    "failed without error": (change_final(error=None), "error does not go"),
}


@pytest.mark.parametrize("name", FAILED_BREACHES)
def test_a_breach_of_how_a_stream_fails_is_named(name: str) -> None:
    breach, words = FAILED_BREACHES[name]
    events = stream_events(failed_response())
    breach(events)
    with pytest.raises(GrammarError, match=words):
        check_stream(wire(numbered(events)))


def renumbered(change_number: Callable[[int], int]) -> bytes:
    return wire([event | {"sequence_number": change_number(event["sequence_number"])} for event in good_events()])


RAW_BREACHES: dict[str, tuple[bytes, str]] = {
    "no done": (wire(good_events()).removesuffix(b"data: [DONE]\n\n"), "end with"),
    "done twice": (wire(good_events()) + b"data: [DONE]\n\n", "one event line"),
    "something after done": (wire(good_events()) + b": late\n\n", "end with"),
    "crlf": (wire(good_events()).replace(b"\n", b"\r\n"), "end with|carriage return"),
    "one carriage return": (wire(good_events()).replace(b"\n", b"\r\n", 1), "carriage return"),
    "no event line": (wire(good_events()).replace(b"event: response.created\n", b""), "one event line"),
    "event line of another type": (wire(good_events()).replace(b"event: response.created", b"event: a"), "event line"),
    "an id line": (wire(good_events()).replace(b"event:", b"id: 1\nevent:", 1), "one event line"),
    "json on several lines": (wire(good_events()).replace(b'{"type"', b'{\ndata: "type"', 1), "one event line"),
    "no json": (wire(good_events()).replace(b'{"type"', b'{type"', 1), "no JSON"),
    "NaN": (wire(good_events()).replace(b'"temperature": 1.0', b'"temperature": NaN', 1), "no JSON"),
    "no utf-8": (wire(good_events()).replace("好".encode(), "好".encode()[:2], 1), "UTF-8"),
    "a bare line separator": (wire(good_events()).replace(b"Fine", "\u2028".encode()), "U\\+2028"),
    "numbers from 1": (renumbered(lambda number: number + 1), "sequence_number 1"),
    "a gap in the numbers": (renumbered(lambda number: number + (number > 4)), "sequence_number 6"),
    "a number twice": (renumbered(lambda number: number - (number > 4)), "sequence_number 4"),
    "empty": (b"data: [DONE]\n\n", "starts with"),
}


@pytest.mark.parametrize("name", RAW_BREACHES)
def test_a_breach_of_the_bytes_is_named(name: str) -> None:
    raw, words = RAW_BREACHES[name]
    with pytest.raises(GrammarError, match=words):
        check_stream(raw)


class TestResponses:
    def test_the_contracts_example_passes(self) -> None:
        check_response(response_object())

    def test_an_estimated_usage_passes(self) -> None:
        billed = {"input": 100, "output": 41, "total": 141, "estimated": True}
        check_response(response_object(usage=USAGE | {"billed_tokens": billed}))

    @pytest.mark.parametrize("key", response_object())
    def test_every_key_is_always_there(self, key: str) -> None:
        response = response_object()
        del response[key]
        with pytest.raises(GrammarError, match=f"lacks.*'{key}'"):
            check_response(response)

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"sub_turns": []}, "unknown keys"),
            ({"usage": None}, "null in"),
            ({"completed_at": None}, "null in"),
            ({"output_text": None}, "null in"),
            ({"metadata": None}, "null in"),
            ({"completed_at": 5}, "completed before"),
            ({"id": "resp_1"}, "32 hex"),
            ({"created_at": 1.5}, "Open Responses"),
            ({"store": "true"}, "Open Responses"),
            ({"status": "done"}, "unknown response status"),
            ({"tools": [{"type": "function", "name": "a"}]}, "Open Responses"),
            ({"output": []}, "output_text|without output"),
            ({"output": [], "output_text": ""}, "without output"),
            ({"output": [MESSAGE, REASONING, CALL]}, "in the order"),
            ({"output": [MESSAGE, MESSAGE]}, "several messages"),
            ({"output": [REASONING, REASONING, MESSAGE]}, "several reasoning"),
            ({"output": [MESSAGE, CALL, CALL]}, "same id twice"),
            ({"output": [MESSAGE, CALL, CALL | {"id": "fc_2"}]}, "same call_id twice"),
            ({"output": [MESSAGE | {"status": "incomplete"}, CALL]}, "before the last"),
            ({"output": [MESSAGE | {"status": "incomplete"}]}, "incomplete item"),
            ({"output": [MESSAGE, CALL | {"id": "call_1"}]}, "call_id as id"),
            ({"output": [MESSAGE | {"phase": None}]}, "null"),
            ({"output_text": "Other."}, "output_text"),
            ({"error": {"type": "a", "code": "b", "message": "c"}}, "error does not go"),
            ({"status": "failed", "error": {"type": "a", "code": "b", "message": "c"}}, "last item is completed"),
            ({"status": "failed", "error": {"code": "b", "message": "c"}}, "lacks"),
            ({"incomplete_details": {"reason": "a"}}, "do not go with"),
            ({"status": "incomplete"}, "without incomplete_details"),
            ({"tool_steps": [STEP, STEP]}, "same id twice"),
            ({"tool_steps": [STEP | {"status": "in_progress"}]}, "tool_steps of a completed"),
            ({"tool_steps": [{"id": "mtc_0"}]}, "lacks"),
            ({"health_records": [{"tool": "a"}]}, "lacks"),
        ],
    )
    def test_a_breach_is_named(self, changes: Json, words: str) -> None:
        with pytest.raises(GrammarError, match=words):
            check_response(response_object(**changes))

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"input_tokens": 10}, "not billed_tokens.input"),
            ({"output_tokens": 42}, "not billed_tokens.output"),
            ({"total_tokens": 141}, "total_tokens is not the sum"),
            ({"billed_tokens": {"input": 100, "output": 41, "total": 50}}, "billed_tokens.total"),
            ({"billed_tokens": {"input": 100, "output": 41, "total": 141, "estimated": False}}, "not true"),
            ({"input_tokens_details": {"cached_tokens": 0}}, "lacks"),
            ({"input_tokens": -1}, "no count"),
        ],
    )
    def test_a_wrong_bill_is_named(self, changes: Json, words: str) -> None:
        with pytest.raises(GrammarError, match=words):
            check_response(response_object(usage=USAGE | changes))


class TestLiveStream:
    @pytest.mark.parametrize("size", [1, 7, 100_000])
    def test_gives_events_as_they_come_however_the_bytes_are_cut(self, size: int) -> None:
        raw = wire(good_events())
        pieces = (raw[start : start + size] for start in range(0, len(raw), size))
        live = LiveStream(httpx.Response(200, content=pieces))
        assert live.next()["type"] == "response.created"
        assert live.until("response.output_text.delta")[-1]["delta"] == "你好。"
        assert [event["type"] for event in live][-1] == "response.completed"
        assert live.check().events == good_events()

    def test_reads_no_further_than_asked(self) -> None:
        frames = iter([*(frame + b"\n\n" for frame in wire(good_events()).split(b"\n\n")[:-1])])
        LiveStream(httpx.Response(200, content=frames)).until("response.in_progress")
        assert len(list(frames)) == len(good_events()) - 1

    def test_says_what_did_not_come(self) -> None:
        with pytest.raises(AssertionError, match=r"without response\.failed"):
            LiveStream(httpx.Response(200, content=iter([wire(good_events())]))).until("response.failed")
