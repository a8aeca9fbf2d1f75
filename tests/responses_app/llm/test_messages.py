"""Conversations as providers are given them: always well paired, whatever order the entries are in."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_app.engine.conversation import Call, CallOutput, Entry, Message, Thought
from responses_app.llm.messages import NO_OUTPUT, to_messages

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}


def call(call_id: str = "c1", arguments: str = '{"at": 1}') -> Call:
    return Call(call_id, "look", arguments)


def roles(messages: list[dict[str, Any]]) -> list[str]:
    return [message["role"] for message in messages]


def contents(messages: list[dict[str, Any]]) -> list[Any]:
    return [message["content"] for message in messages]


class TestMessages:
    def test_system_comes_first(self) -> None:
        assert to_messages("Be kind.", [Message("user", "Hi")]) == [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hi"},
        ]

    def test_an_empty_system_text_is_left_out(self) -> None:
        assert roles(to_messages("", [Message("user", "Hi")])) == ["user"]

    def test_developer_is_system(self) -> None:
        assert roles(to_messages("", [Message("developer", "Short."), Message("user", "Hi")])) == ["system", "user"]

    def test_images_and_files(self) -> None:
        parts = [
            {"type": "text", "text": "What is this?"},
            {"type": "image", "url": "data:image/png;base64,AA==", "detail": "low"},
            {"type": "image", "url": "https://example.com/a.png", "detail": None},
            {"type": "file", "filename": "a.pdf", "data": "data:application/pdf;base64,AA=="},
        ]
        (message,) = to_messages("", [Message("user", parts)])
        assert message["content"] == [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="}},
        ]


class TestCalls:
    def test_text_and_calls_of_one_step_are_one_message(self) -> None:
        entries = [Message("assistant", "Let me look."), call("c1"), call("c2"), CallOutput("c1", "1")]
        first, *rest = to_messages("", [*entries, CallOutput("c2", "2")])
        assert first["content"] == "Let me look."
        assert [made["id"] for made in first["tool_calls"]] == ["c1", "c2"]
        assert rest == [
            {"role": "tool", "tool_call_id": "c1", "content": "1"},
            {"role": "tool", "tool_call_id": "c2", "content": "2"},
        ]

    def test_a_call_alone_has_no_content(self) -> None:
        first, _ = to_messages("", [call(), CallOutput("c1", "1")])
        assert first == {"role": "assistant", "content": None, "tool_calls": [CALL]}

    def test_steps_stay_apart(self) -> None:
        entries = [call("c1"), CallOutput("c1", "1"), call("c2"), CallOutput("c2", "2"), Message("assistant", "Done.")]
        assert roles(to_messages("", entries)) == ["assistant", "tool", "assistant", "tool", "assistant"]

    def test_text_that_comes_after_a_call_stays_after_it(self) -> None:
        entries = [call(), Message("assistant", "Done."), CallOutput("c1", "1")]
        assert contents(to_messages("", entries)) == [None, "1", "Done."]

    def test_outputs_follow_the_order_of_the_calls(self) -> None:
        entries = [call("c1"), call("c2"), CallOutput("c2", "2"), CallOutput("c1", "1")]
        assert contents(to_messages("", entries)) == [None, "1", "2"]

    def test_an_output_behind_a_user_message_comes_to_its_call(self) -> None:
        messages = to_messages("", [call(), Message("user", "Well?"), CallOutput("c1", "1")])
        assert roles(messages) == ["assistant", "tool", "user"]

    def test_equal_ids_have_their_outputs_in_order(self) -> None:
        entries = [call("x"), CallOutput("x", "first"), call("x"), CallOutput("x", "second")]
        assert contents(to_messages("", entries)) == [None, "first", None, "second"]

    def test_a_call_without_output_is_told_so(self) -> None:
        assert contents(to_messages("", [call(), Message("user", "Go on.")])) == [None, NO_OUTPUT, "Go on."]

    @pytest.mark.parametrize(
        "entries", [[CallOutput("c1", "1")], [call(), CallOutput("c1", "1"), CallOutput("c1", "2")]]
    )
    def test_an_output_without_call_is_a_fault(self, entries: list[Entry]) -> None:
        with pytest.raises(ValueError, match="without a call"):
            to_messages("", entries)

    @pytest.mark.parametrize("arguments", ["", "null", "[]", '"a"', '{"a": ', '{"a": 1'])
    def test_arguments_that_are_no_object_are_given_back_as_an_empty_one(self, arguments: str) -> None:
        first, _ = to_messages("", [call(arguments=arguments), CallOutput("c1", "no JSON object")])
        assert first["tool_calls"][0]["function"]["arguments"] == "{}"


class TestReasoning:
    def test_what_led_to_a_call_of_this_turn_is_given_back(self) -> None:
        entries = [Message("user", "Hi"), Thought("Look it up."), Message("assistant", "A moment."), call()]
        _, message, _ = to_messages("", [*entries, CallOutput("c1", "1")])
        assert message == {
            "role": "assistant",
            "content": "A moment.",
            "tool_calls": [CALL],
            "reasoning_content": "Look it up.",
        }

    def test_what_led_to_a_call_of_an_earlier_turn_is_not(self) -> None:
        entries = [Message("user", "Hi"), Thought("Look."), call(), CallOutput("c1", "1"), Message("user", "And?")]
        assert "Look." not in json.dumps(to_messages("", entries))

    def test_what_led_to_plain_text_is_not(self) -> None:
        entries = [Message("user", "Hi"), Thought("Greet."), Message("assistant", "Hello.")]
        assert to_messages("", entries)[1:] == [{"role": "assistant", "content": "Hello."}]

    def test_each_step_has_its_own(self) -> None:
        steps = [Thought("one"), call("c1"), CallOutput("c1", "1"), Thought("two"), call("c2"), CallOutput("c2", "2")]
        messages = to_messages("", [Message("user", "Hi"), *steps])
        assert [m["reasoning_content"] for m in messages if m["role"] == "assistant"] == ["one", "two"]


IDS = st.sampled_from(["", "a", "b", "c"])
PLAIN = st.one_of(
    st.builds(Message, st.sampled_from(["user", "assistant", "system", "developer"]), st.text(max_size=3)),
    st.builds(Thought, st.text(max_size=3)),
    st.builds(Call, IDS, st.just("look"), st.sampled_from(["{}", '{"a": 1}', "", "[]"])),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Entry]:
    """Any entries in which no output lacks its call; some calls lack their output."""
    entries: list[Entry] = list(draw(st.lists(PLAIN, max_size=12)))
    calls = [entry for entry in entries if isinstance(entry, Call)]
    for number, made in enumerate(calls):
        if draw(st.booleans()):
            entries.insert(draw(st.integers(0, len(entries))), CallOutput(made.call_id, f"output {number}"))
    return entries


@given(conversations())
def test_any_conversation_is_well_paired_and_complete(entries: list[Entry]) -> None:
    messages = to_messages("system", entries)
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert waiting == []
            waiting = [made["id"] for made in message.get("tool_calls", [])]
            assert message["content"] is not None or waiting
    assert waiting == []
    said = [entry.content for entry in entries if isinstance(entry, Message)]
    assert [m["content"] for m in messages[1:] if m["role"] != "tool" and m["content"] is not None] == said
    outputs = sorted(entry.output for entry in entries if isinstance(entry, CallOutput))
    given_outputs = sorted(m["content"] for m in messages if m["role"] == "tool" and m["content"] != NO_OUTPUT)
    assert given_outputs == outputs
