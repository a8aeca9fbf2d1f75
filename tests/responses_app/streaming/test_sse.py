"""How events become bytes."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_app.streaming.sse import encode_event, skip_frames
from tests.responses_app.streaming.scenarios import make_frames

LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(LINE_ENDS))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def test_frame_is_written_as_the_wire_has_it() -> None:
    frame = encode_event({"type": "response.output_text.delta", "sequence_number": 4, "delta": "血糖 👍🏽"})
    assert frame.decode() == (
        "event: response.output_text.delta\n"
        'data: {"type":"response.output_text.delta","sequence_number":4,"delta":"血糖 👍🏽"}\n\n'
    )


def test_unicode_line_ends_are_escaped_in_keys_and_values() -> None:
    frame = encode_event({"type": "t", "a\u2028": "b\x85c\u2029"})
    assert frame == rb"event: t" + b"\n" + rb'data: {"type":"t","a\u2028":"b\u0085c\u2029"}' + b"\n\n"


@given(json_values)
def test_any_json_stands_on_one_line_for_every_client_and_reads_back(value: object) -> None:
    frame = encode_event({"type": "t", "value": value}).decode()
    name, data, empty = frame.splitlines()
    assert (name, empty, frame[-2:]) == ("event: t", "", "\n\n")
    assert json.loads(data.removeprefix("data: ")) == {"type": "t", "value": value}


def test_half_a_character_is_replaced_and_the_rest_kept() -> None:
    frame = encode_event({"type": "t", "delta": "血\ud83d糖", "list": [{"\udc00": 1.5}]})
    assert json.loads(frame.split(b"data: ")[1]) == {"type": "t", "delta": "血\ufffd糖", "list": [{"\ufffd": 1.5}]}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_number_that_json_does_not_have_is_null(number: float) -> None:
    assert encode_event({"type": "t", "value": number}).endswith(b'"value":null}\n\n')


def test_value_that_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError):
        encode_event({"type": "t", "value": SimpleNamespace()})


@pytest.mark.parametrize("count", [-3, 0, 1, 2, 3, 4])
def test_frames_are_skipped_whole(count: int) -> None:
    frames = make_frames(3)
    assert skip_frames(b"".join(frames), count) == b"".join(frames[max(0, count) :])
