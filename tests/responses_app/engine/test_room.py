"""Cutting a conversation down to a model's context window, for every size of it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirobody_site.tenancy.errors import InvalidRequestError
from responses_app.engine.conversation import Call, CallOutput, Entry, Message
from responses_app.engine.ports import ModelCall
from responses_app.engine.room import LEFT_OUT, Room
from responses_app.engine.tokens import count_tokens
from responses_app.engine.transcript import entry_text
from responses_app.llm.messages import NO_OUTPUT, to_messages

_STEP = st.one_of(
    st.just([Message("user", "a question of the user")]),
    st.just([Message("assistant", "an answer in some words")]),
    st.just([Message("system", "a rule")]),
    st.permutations(["A", "B"]).map(
        lambda ids: [
            Call("A", "look", "{}"),
            Call("B", "look", "{}"),
            *(CallOutput(call_id, f"the result of {call_id}") for call_id in ids),
        ]
    ),
)


def call_of(entries: list[Entry]) -> ModelCall:
    return ModelCall("mirobody-flash", "Prompt.", entries, (), "auto", 1.0, "2026-01-01")


def size(call: ModelCall) -> int:
    return count_tokens(call.system) + sum(count_tokens(entry_text(entry)) for entry in call.entries)


@settings(max_examples=60, deadline=None)
@given(st.lists(_STEP, max_size=8), st.integers(0, 120))
def test_what_is_left_fits_and_parts_no_call_from_its_output(steps: list[list[Entry]], tokens: int) -> None:
    last = Message("user", "the newest question")
    entries = [*(entry for step in steps for entry in step), last]
    must_stay = [entry for entry in entries if isinstance(entry, Message) and entry.role == "system"] + [last]
    room = Room(tokens, truncates=True)
    if size(call_of(must_stay)) > tokens:
        with pytest.raises(InvalidRequestError):
            room.fitted(call_of(entries), len(entries))
        return
    fitted = room.fitted(call_of(entries), len(entries))
    assert size(fitted) <= tokens
    assert [entry for entry in fitted.entries if entry in must_stay] == must_stay
    assert NO_OUTPUT not in str(to_messages("", fitted.entries))
    if len(fitted.entries) < len(entries):
        said = [entry for entry in fitted.entries if not (isinstance(entry, Message) and entry.role == "system")]
        assert isinstance(said[0], Message)
        assert said[0].role == "user"


def test_results_of_the_turn_itself_go_before_anything_that_was_said() -> None:
    before: list[Entry] = [Message("user", "first"), Message("assistant", "answer"), Message("user", "second")]
    own: list[Entry] = [
        entry
        for call_id in ("A", "B")
        for entry in (Call(call_id, "look", "{}"), CallOutput(call_id, f"result {call_id} " * 200))
    ]
    call = call_of([*before, *own])
    fitted = Room(size(call) - 10, truncates=False).fitted(call, len(before))
    assert fitted.entries[:3] == before
    assert [entry.output for entry in fitted.entries if isinstance(entry, CallOutput)] == [LEFT_OUT, own[3].output]
