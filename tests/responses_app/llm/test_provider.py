"""The chat-completions provider against a real HTTP server that answers as public providers do, well and badly."""

import json
import logging
import socket
import threading
import traceback
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_app.engine.conversation import Message
from responses_app.engine.ports import (
    CallMade,
    ModelCall,
    ModelEvent,
    NamedTool,
    ReasoningDelta,
    Stopped,
    TextDelta,
    ToolDefinition,
    UsageReported,
)
from responses_app.llm import faults
from responses_app.llm.chunks import Answer, SseDecoder
from responses_app.llm.faults import ProviderError
from responses_app.llm.patience import Patience
from responses_app.llm.provider import ChatCompletionsProvider
from tests.support.upstream import SECRET, Call, Cut, Gate, Hang, Raw, Step, Upstream, Usage, body_of

TOOL = ToolDefinition("look", "Looks.", {"type": "object", "properties": {}}, server=True)
USAGE = UsageReported(input_tokens=1000, output_tokens=50, cached_tokens=0, reasoning_tokens=0)


def backend(url: str, timeout: float = 10.0) -> ChatCompletionsProvider:
    models = {"mirobody-flash": "small", "mirobody-expert": "large"}
    return ChatCompletionsProvider(base_url=url, api_key="key-1", models=models, timeout=timeout)


def ask(text: str, timeout: float = 10.0, **changes: Any) -> ModelCall:
    fields: dict[str, Any] = {"model": "mirobody-flash", "system": "Be kind.", "tools": [TOOL], "tool_choice": "auto"}
    return ModelCall(**fields | changes, entries=[Message("user", text)], timeout=timeout, today="2026-03-01")


def events_of(upstream: Upstream, name: str, *steps: Step) -> list[ModelEvent]:
    mark = upstream.script(name, *steps)
    return [event for batch in backend(upstream.url).stream(ask(mark)) for event in batch]


def joined(events: list[ModelEvent], kind: type[TextDelta] | type[ReasoningDelta] = TextDelta) -> str:
    return "".join(event.text for event in events if isinstance(event, kind))


def calls_in(events: list[ModelEvent]) -> list[tuple[str, str, str]]:
    return [(event.call_id, event.name, event.arguments) for event in events if isinstance(event, CallMade)]


def fault_of(upstream: Upstream, name: str, step: Step, timeout: float = 10.0, read: float = 10.0) -> ProviderError:
    mark = upstream.script(name, step)
    with pytest.raises(ProviderError) as caught:
        list(backend(upstream.url, timeout=read).stream(ask(mark, timeout=timeout)))
    return caught.value


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, not really waited for."""
    pauses: list[float] = []
    monkeypatch.setattr(Patience, "sleep", lambda _, seconds: pauses.append(seconds))
    return pauses


class TestRequest:
    def test_is_what_the_protocol_asks_for(self, upstream: Upstream) -> None:
        list(backend(upstream.url).stream(ask("the request itself", model="mirobody-expert")))
        (request,) = upstream.requests("the request itself")
        assert request.headers["authorization"] == "Bearer key-1"
        assert request.body == {
            "model": "large",
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": "the request itself"},
            ],
            "stream": True,
            "stream_options": {"include_usage": True},
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "look",
                        "description": "Looks.",
                        "parameters": {"type": "object", "properties": {}},
                    },
                }
            ],
            "tool_choice": "auto",
        }

    def test_names_the_tool_to_call(self, upstream: Upstream) -> None:
        list(backend(upstream.url).stream(ask("a named tool", tool_choice=NamedTool("look"))))
        (request,) = upstream.requests("a named tool")
        assert request.body["tool_choice"] == {"type": "function", "function": {"name": "look"}}

    def test_has_no_tools_key_without_tools(self, upstream: Upstream) -> None:
        list(backend(upstream.url).stream(ask("no tools at all", tools=[])))
        (request,) = upstream.requests("no tools at all")
        assert not {"tools", "tool_choice"} & request.body.keys()

    def test_works_without_a_key(self, upstream: Upstream) -> None:
        keyless = ChatCompletionsProvider(
            base_url=upstream.url, api_key="", models={"mirobody-flash": "small"}, timeout=10.0
        )
        assert joined([event for batch in keyless.stream(ask("hello")) for event in batch])


class TestAnswer:
    def test_text_then_usage_then_stop(self, upstream: Upstream) -> None:
        events = events_of(upstream, "text", Step(text=["Hel", "lo"], usage=Usage(7, 3, 2, 1)))
        assert events == [TextDelta("Hel"), TextDelta("lo"), UsageReported(7, 3, 2, 1), Stopped("stop")]

    @pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
    def test_reasoning_under_either_name(self, upstream: Upstream, name: str) -> None:
        events = events_of(upstream, name, Step(reasoning=["hm", "m"], reasoning_field=name, text=["so"]))
        assert joined(events, ReasoningDelta) == "hmm"
        assert joined(events) == "so"

    def test_an_empty_answer_is_only_a_stop(self, upstream: Upstream) -> None:
        assert events_of(upstream, "empty", Step(usage=None)) == [Stopped("stop")]

    @pytest.mark.parametrize("with_finish", [False, True])
    def test_usage_in_its_own_chunk_or_the_last(self, upstream: Upstream, with_finish: bool) -> None:
        step = Step(text=["a"], usage_with_finish=with_finish)
        assert events_of(upstream, f"usage-{with_finish}", step)[-2:] == [USAGE, Stopped("stop")]

    @pytest.mark.parametrize("reason", ["length", "content_filter"])
    def test_says_what_cut_it_short(self, upstream: Upstream, reason: str) -> None:
        assert events_of(upstream, f"cut-{reason}", Step(text=["a"], finish=reason))[-1].reason == reason

    def test_a_refusal_is_text(self, upstream: Upstream) -> None:
        raw = Raw(b'data: {"choices":[{"delta":{"content":null,"refusal":"I will not."}}]}\n\n')
        assert joined(events_of(upstream, "refusal", Step(text=[raw]))) == "I will not."

    def test_without_finish_reason_the_done_mark_is_enough(self, upstream: Upstream) -> None:
        assert events_of(upstream, "only-done", Step(text=["a"], finish=None))[-1] == Stopped("stop")

    def test_without_done_mark_the_finish_reason_is_enough(self, upstream: Upstream) -> None:
        assert events_of(upstream, "only-finish", Step(text=["a"], done=False))[-1] == Stopped("stop")

    def test_a_finished_answer_survives_a_bad_end_of_the_connection(self, upstream: Upstream) -> None:
        finish = Raw(b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n')
        assert events_of(upstream, "late-cut", Step(text=["a", finish, Cut()])) == [TextDelta("a"), Stopped("stop")]

    def test_tokens_arrive_while_the_provider_still_sends(self, upstream: Upstream) -> None:
        gate = Gate()
        mark = upstream.script("gated", Step(text=["first", gate, "second"]))
        batches = backend(upstream.url).stream(ask(mark))
        assert next(batches) == [TextDelta("first")]
        gate.set()
        assert joined([event for batch in batches for event in batch]) == "second"

    def test_what_arrives_together_is_one_batch(self, upstream: Upstream) -> None:
        body = body_of(Step(text=["a", "b"]))
        mark = upstream.script("one-read", Step(text=[Raw(body)], finish=None, usage=None, done=False))
        batches = list(backend(upstream.url).stream(ask(mark)))
        assert batches == [[TextDelta("a"), TextDelta("b"), USAGE, Stopped("stop")]]

    def test_many_at_once_do_not_mix(self, upstream: Upstream) -> None:
        shared, gate = backend(upstream.url), Gate()
        marks = [upstream.script(f"many-{n}", Step(text=[gate, str(n)])) for n in range(64)]
        answers: dict[int, str] = {}

        def run(number: int) -> None:
            batches = shared.stream(ask(marks[number]))
            answers[number] = joined([event for batch in batches for event in batch])

        threads = [threading.Thread(target=run, args=(number,)) for number in range(64)]
        for thread in threads:
            thread.start()
        gate.set()
        for thread in threads:
            thread.join()
        assert answers == {number: str(number) for number in range(64)}


class TestToolCalls:
    def test_whole(self, upstream: Upstream) -> None:
        events = events_of(upstream, "whole", Step(text=["Let me look."], calls=[Call("look", {"at": 1}, id="c1")]))
        assert events == [TextDelta("Let me look."), CallMade("c1", "look", '{"at": 1}'), USAGE, Stopped("tool_calls")]

    @pytest.mark.parametrize("repeat_name", [False, True])
    def test_in_fragments(self, upstream: Upstream, repeat_name: bool) -> None:
        call = Call("look", {"city": "北京", "n": 12}, id="c1", fragments=9, repeat_name=repeat_name)
        events = events_of(upstream, f"fragments-{repeat_name}", Step(calls=[call]))
        assert calls_in(events) == [("c1", "look", '{"city": "北京", "n": 12}')]

    def test_several_interleaved_by_index(self, upstream: Upstream) -> None:
        calls = [Call(f"t{n}", {"key": str(n) * 20}, id=f"c{n}", fragments=7) for n in range(3)]
        events = events_of(upstream, "interleaved", Step(calls=calls, interleaved=True))
        assert calls_in(events) == [(f"c{n}", f"t{n}", json.dumps({"key": str(n) * 20})) for n in range(3)]

    def test_several_without_index(self, upstream: Upstream) -> None:
        calls = [Call("look", {"at": n}, id=f"c{n}", with_index=False, fragments=3) for n in range(2)]
        events = events_of(upstream, "no-index", Step(calls=calls))
        assert calls_in(events) == [("c0", "look", '{"at": 0}'), ("c1", "look", '{"at": 1}')]

    def test_several_without_index_and_id(self, upstream: Upstream) -> None:
        calls = [Call("look", {"at": n}, id="", with_index=False) for n in range(2)]
        events = events_of(upstream, "no-index-no-id", Step(calls=calls))
        assert calls_in(events) == [("", "look", '{"at": 0}'), ("", "look", '{"at": 1}')]

    def test_several_that_all_claim_index_0(self, upstream: Upstream) -> None:
        calls = [Call("look", {"at": n}, id=f"c{n}", index=0, fragments=2) for n in range(2)]
        events = events_of(upstream, "index-0", Step(calls=calls))
        assert calls_in(events) == [("c0", "look", '{"at": 0}'), ("c1", "look", '{"at": 1}')]

    @pytest.mark.parametrize("ids", [("x", "x"), ("", ""), ("i" * 120, "j" * 120)], ids=["equal", "empty", "long"])
    def test_ids_are_kept_as_they_come(self, upstream: Upstream, ids: tuple[str, str]) -> None:
        name = f"ids-{len(ids[0])}-{ids[0][:1]}"
        events = events_of(upstream, name, Step(calls=[Call("a", id=ids[0]), Call("b", id=ids[1])]))
        assert calls_in(events) == [(ids[0], "a", "{}"), (ids[1], "b", "{}")]

    @pytest.mark.parametrize("arguments", ["", "null", "[]", '{"a": ', "x" * 2_000_000])
    def test_arguments_are_kept_as_they_come(self, upstream: Upstream, arguments: str) -> None:
        name = f"arguments-{len(arguments)}"
        events = events_of(upstream, name, Step(calls=[Call("look", arguments, id="c", fragments=50)]))
        assert calls_in(events) == [("c", "look", arguments)]

    def test_stop_of_a_provider_that_does_not_say_tool_calls(self, upstream: Upstream) -> None:
        assert events_of(upstream, "says-stop", Step(calls=[Call("look")], finish="stop"))[-1] == Stopped("tool_calls")


class TestBytes:
    STEP = Step(
        reasoning=["想"], text=["检查结果：血糖5.4 👍🏽", "\u2028é"], calls=[Call("look", {"城市": "北京"}, id="c1")]
    )

    @pytest.fixture
    def whole(self, upstream: Upstream) -> list[ModelEvent]:
        return events_of(upstream, "unsplit", self.STEP)

    def test_one_byte_at_a_time(self, upstream: Upstream, whole: list[ModelEvent]) -> None:
        step = Step(reasoning=self.STEP.reasoning, text=self.STEP.text, calls=self.STEP.calls, write_size=1)
        assert events_of(upstream, "bytewise", step) == whole
        assert joined(whole) == "检查结果：血糖5.4 👍🏽\u2028é"

    def test_split_inside_a_character_and_inside_a_line(self, upstream: Upstream, whole: list[ModelEvent]) -> None:
        position = body_of(self.STEP).index("检".encode()) + 1
        splits = [position, position + 3, position + 30]
        step = Step(reasoning=self.STEP.reasoning, text=self.STEP.text, calls=self.STEP.calls, splits=splits)
        assert events_of(upstream, "splits", step) == whole

    @pytest.mark.parametrize(
        "form", [{"line_end": b"\r\n"}, {"comments": True}, {"space": False}], ids=["crlf", "comments", "no space"]
    )
    def test_other_ways_to_write_frames(
        self, upstream: Upstream, whole: list[ModelEvent], form: dict[str, Any], request: pytest.FixtureRequest
    ) -> None:
        step = Step(reasoning=self.STEP.reasoning, text=self.STEP.text, calls=self.STEP.calls, **form)
        assert events_of(upstream, f"form-{len(str(form))}", step) == whole

    @given(st.data(), st.sampled_from([b"\n", b"\r\n"]))
    def test_cuts_anywhere_change_nothing(self, data: st.DataObject, line_end: bytes) -> None:
        step = Step(
            reasoning=["想"], text=["👍🏽 血糖", "é"], calls=[Call("look", {"城": "北"}, id="c")], line_end=line_end
        )
        body = body_of(step)
        cuts = data.draw(st.sets(st.integers(0, len(body))))
        positions = [0, *sorted(cuts), len(body)]
        assert read_in_pieces(body[a:b] for a, b in pairwise(positions)) == read_in_pieces([body])

    def test_cut_at_every_byte_changes_nothing(self) -> None:
        body = body_of(self.STEP)
        whole = read_in_pieces([body])
        assert all(read_in_pieces([body[:n], body[n:]]) == whole for n in range(len(body)))

    def test_a_last_frame_without_line_end_counts(self) -> None:
        assert read_in_pieces([b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]']) == [
            TextDelta("a"),
            Stopped("stop"),
        ]


def read_in_pieces(pieces: Iterator[bytes] | list[bytes]) -> list[ModelEvent]:
    decoder, answer = SseDecoder(), Answer()
    events = [event for piece in pieces for event in answer.read(decoder.feed(piece))]
    return [*events, *answer.read(decoder.end()), *answer.ending()]


class TestFaults:
    @pytest.mark.parametrize(
        ("status", "words", "attempts"),
        [
            (400, "refused the request", 1),
            (401, "refused this server's credentials", 1),
            (403, "refused this server's credentials", 1),
            (404, "refused the request", 1),
            (429, "is rate limited", 3),
            (500, "had an error", 3),
            (503, "had an error", 3),
        ],
    )
    def test_status(self, upstream: Upstream, status: int, words: str, attempts: int) -> None:
        error = fault_of(upstream, f"status-{status}", Step(status=status))
        assert words in error.message
        assert (error.status, error.code, error.type) == (502, "upstream_error", "upstream_error")
        assert error.provider_status == status
        assert len(upstream.requests(f"[[status-{status}]]")) == attempts

    def test_nothing_of_the_providers_text_leaks(self, upstream: Upstream, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        error = fault_of(upstream, "leak", Step(status=500))
        assert SECRET not in "".join(traceback.format_exception(error)) + caplog.text
        assert error.__cause__ is None
        assert error.__context__ is None
        assert "had an error. status 500" in caplog.text

    def test_the_conversation_is_not_logged(self, upstream: Upstream, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        list(backend(upstream.url).stream(ask("my secret diagnosis")))
        assert "diagnosis" not in caplog.text

    def test_a_500_that_heals(self, upstream: Upstream, waits: list[float]) -> None:
        step = Step(text=["well again"], status=500, heals_after=1)
        assert joined(events_of(upstream, "heals", step)) == "well again"
        assert len(waits) == 1

    def test_pauses_grow(self, upstream: Upstream, waits: list[float]) -> None:
        fault_of(upstream, "pauses", Step(status=503))
        assert 0.3 < waits[0] <= 0.5 < waits[1] <= 1.0

    def test_retry_after_is_honoured(self, upstream: Upstream, waits: list[float]) -> None:
        step = Step(text=["ok"], status=429, headers={"Retry-After": "3"}, heals_after=1)
        assert joined(events_of(upstream, "retry-after", step)) == "ok"
        assert waits == [3.0]

    def test_retry_after_beyond_the_turn_is_not_waited_for(self, upstream: Upstream, waits: list[float]) -> None:
        error = fault_of(upstream, "retry-late", Step(status=429, headers={"Retry-After": "60"}))
        assert error.provider_status == 429
        assert waits == []

    def test_nobody_listens(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
            with pytest.raises(ProviderError, match="could not be reached"):
                list(backend(url).stream(ask("hello")))

    def test_reset_before_the_first_byte_is_tried_again(self, upstream: Upstream) -> None:
        error = fault_of(upstream, "reset", Step(text=[Cut()]))
        assert error.message == faults.UNREACHABLE
        assert len(upstream.requests("[[reset]]")) == 3

    def test_hang_before_the_first_byte(self, upstream: Upstream) -> None:
        error = fault_of(upstream, "hang-first", Step(text=[Hang()]), read=0.2)
        assert error.message == faults.TIMED_OUT
        (request,) = upstream.requests("[[hang-first]]")
        assert request.gone.wait(5)

    def test_hang_in_mid_stream(self, upstream: Upstream) -> None:
        error = fault_of(upstream, "hang-mid", Step(text=["a", Hang()]), read=0.2)
        assert error.message == faults.TIMED_OUT

    def test_the_turns_own_time_bounds_a_read(self, upstream: Upstream) -> None:
        assert fault_of(upstream, "turn-over", Step(text=[Hang()]), timeout=0.2).message == faults.TIMED_OUT

    def test_no_request_when_no_time_is_left(self, upstream: Upstream) -> None:
        assert fault_of(upstream, "no-time", Step(text=["a"]), timeout=0.0).message == faults.TIMED_OUT
        assert upstream.requests("[[no-time]]") == []

    @pytest.mark.parametrize("when", ["text", "call"])
    def test_cut_in_mid_stream(self, upstream: Upstream, when: str) -> None:
        step = Step(text=["a", Cut()]) if when == "text" else Step(calls=[Call("look", id="c"), Cut()])
        error = fault_of(upstream, f"cut-in-{when}", step)
        assert error.message == faults.BROKE_OFF
        assert len(upstream.requests(f"[[cut-in-{when}]]")) == 1

    def test_end_without_finish_and_done(self, upstream: Upstream) -> None:
        error = fault_of(upstream, "unfinished", Step(text=["a"], finish=None, done=False))
        assert error.message == faults.BROKE_OFF

    @pytest.mark.parametrize(
        "frame",
        [
            b"{oops",
            b"[]",
            b'{"choices": [5]}',
            b'{"choices": [{"delta": "a"}]}',
            b'{"choices": [{"delta": {"content": 5}}]}',
            b'{"choices": [{"delta": {"tool_calls": ["a"]}}]}',
            b"\xff",
        ],
    )
    def test_unreadable_chunk(self, upstream: Upstream, frame: bytes) -> None:
        error = fault_of(upstream, f"unreadable-{frame.hex()}", Step(text=["a", Raw(b"data: " + frame + b"\n\n")]))
        assert error.message == faults.UNREADABLE

    def test_error_reported_in_the_stream(self, upstream: Upstream) -> None:
        frame = json.dumps({"error": {"message": SECRET, "code": 429}}).encode()
        error = fault_of(upstream, "reported", Step(text=["a", Raw(b"data: " + frame + b"\n\n")]))
        assert (error.message, error.provider_status) == (faults.REPORTED, 429)


def test_closing_the_iterator_closes_the_connection(upstream: Upstream) -> None:
    mark = upstream.script("closing", Step(text=["a", Hang()]))
    batches = backend(upstream.url).stream(ask(mark))
    next(batches)
    batches.close()
    (request,) = upstream.requests(mark)
    assert request.gone.wait(5)
