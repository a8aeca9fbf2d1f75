"""Server-sent events as bytes: how an event is written, where a frame ends. Not here: which events there are."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"

_FRAME_END = b"\n\n"
_LAST_EVENT = re.compile(rb"^event: response\.(completed|incomplete|failed)$", re.MULTILINE)
_SURROGATE = re.compile("[\ud800-\udfff]")


def encode_event(event: Mapping[str, Any]) -> bytes:
    """The frame of ``event``, a JSON object with its name under ``type``: UTF-8, LF line ends, the JSON on one line.

    U+0085, U+2028 and U+2029 are escaped because some clients take them for line ends. A lone surrogate, which UTF-8
    cannot hold, becomes U+FFFD; a number that JSON cannot hold becomes ``null``. Raises ``TypeError`` for a value that
    is no JSON.
    """
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), _line(event))


def encode_data(value: Mapping[str, Any]) -> bytes:
    """The frame of a JSON object without a name, written as ``encode_event`` writes it."""
    return b"data: %b\n\n" % _line(value)


def tells_the_end(frames: bytes) -> bool:
    """Whether a response's last event is among these frames."""
    return _LAST_EVENT.search(frames) is not None


def decode_events(frames: bytes) -> list[dict[str, Any]]:
    """The events of whole frames that ``encode_event`` made."""
    return [json.loads(frame.partition(b"\ndata: ")[2]) for frame in frames.split(_FRAME_END)[:-1]]


def translated(frames: bytes, told: Callable[[dict[str, Any]], Iterable[Mapping[str, Any]]]) -> bytes:
    """Whole frames with each event as the nameless ones that ``told`` makes of it; comments and ``DONE`` stay."""
    return b"".join(_translated(frame, told) for frame in frames.split(_FRAME_END)[:-1])


def _translated(frame: bytes, told: Callable[[dict[str, Any]], Iterable[Mapping[str, Any]]]) -> bytes:
    name, separator, data = frame.partition(b"\ndata: ")
    return b"".join(map(encode_data, told(json.loads(data)))) if separator else name + _FRAME_END


def skip_frames(frames: bytes, count: int) -> bytes:
    """``frames`` (whole frames, joined) without the first ``count`` of them; empty when there are no more."""
    position = 0
    for _ in range(count):
        end = frames.find(_FRAME_END, position)
        if end < 0:
            return b""
        position = end + len(_FRAME_END)
    return frames[position:]


def _line(event: Mapping[str, Any]) -> bytes:
    data = _json(event)
    if data.isascii():
        return data
    data = data.replace(b"\xc2\x85", b"\\u0085")
    return data.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")


def _json(event: Mapping[str, Any]) -> bytes:
    try:
        # A frame is written for every token: for a delta event to_json is three to ten times as fast as json.dumps.
        return to_json(event, inf_nan_mode="null")
    except PydanticSerializationError:
        text = json.dumps(event, ensure_ascii=False)
        return to_json(json.loads(_SURROGATE.sub("\ufffd", text)), inf_nan_mode="null")
