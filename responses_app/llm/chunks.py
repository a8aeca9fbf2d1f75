"""The bytes of a streamed chat completion as model events: frames, deltas, tool calls put together, usage, the stop.

Nothing here talks to a provider. Bytes may be cut anywhere, inside a character or a line included.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from pydantic_core import from_json, to_json

from responses_app.engine.ports import CallMade, ModelEvent, ReasoningDelta, Stopped, TextDelta, UsageReported
from responses_app.llm import faults
from responses_app.llm.faults import ProviderError
from responses_app.llm.logprobs import logprobs_of
from responses_app.llm.refusals import read_refusal

StopReason = Literal["stop", "tool_calls", "length", "content_filter"]

_STOP_REASONS: MappingProxyType[str, StopReason] = MappingProxyType(
    {
        "stop": "stop",
        "tool_calls": "tool_calls",
        "function_call": "tool_calls",
        "length": "length",
        "max_tokens": "length",
        "content_filter": "content_filter",
    }
)

_ERROR_STATUSES = range(400, 600)

MAX_FRAME_BYTES = 8 * 1024 * 1024
"""Far above what a whole tool call or answer in one chunk takes; more is no chunk, and would be held until it ends."""


class SseDecoder:
    """Bytes in, the ``data`` of whole frames out. Line ends LF or CRLF; comments and other fields are passed over."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._rest_bytes = 0
        self._data: list[bytes] = []
        self._data_bytes = 0

    def feed(self, received: bytes) -> list[bytes]:
        """The frames that ``received`` completes. Raises ``ProviderError`` for a frame above ``MAX_FRAME_BYTES``."""
        frames: list[bytes] = []
        if b"\n" in received:
            *lines, received = b"".join([*self._rest, received]).split(b"\n")
            self._rest, self._rest_bytes = [], 0
            frames = self._frames(lines)
        self._rest.append(received)
        self._rest_bytes += len(received)
        if self._rest_bytes + self._data_bytes > MAX_FRAME_BYTES:
            raise ProviderError(faults.UNREADABLE)
        return frames

    def end(self) -> list[bytes]:
        """The frame that the end of the stream completes, if any."""
        return self._frames([b"".join(self._rest), b""])

    def _frames(self, lines: Iterable[bytes]) -> list[bytes]:
        return [frame for line in lines if (frame := self._line(line)) is not None]

    def _line(self, line: bytes) -> bytes | None:
        line = line.rstrip(b"\r")
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            self._data_bytes += len(line)
        if line or not self._data:
            return None
        frame = b"\n".join(self._data)
        self._data.clear()
        self._data_bytes = 0
        return frame


@dataclass(slots=True)
class _PartialCall:
    call_id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class Answer:
    """One streamed answer as it comes in. ``complete`` once the provider has said that it is over."""

    def __init__(self) -> None:
        self._calls: list[_PartialCall] = []
        self._by_index: dict[int, _PartialCall] = {}
        self._usage: UsageReported | None = None
        self._finish_reason: str | None = None
        self.done = False

    @property
    def complete(self) -> bool:
        return self.done or self._finish_reason is not None

    def read(self, frames: Iterable[bytes]) -> list[ModelEvent]:
        """The events that these frames bring at once. Raises ``ProviderError`` for what is no chunk, or an error."""
        events: list[ModelEvent] = []
        for frame in frames:
            self.done = self.done or frame.strip() == b"[DONE]"
            if self.done:
                break
            events.extend(self._chunk(_parsed(frame)))
        return events

    def ending(self) -> list[ModelEvent]:
        """The calls, the usage and the stop. Raises ``ProviderError`` when the provider had not finished."""
        if not self.complete:
            raise ProviderError(faults.BROKE_OFF)
        calls: list[ModelEvent] = [CallMade(call.call_id, call.name, call.arguments) for call in self._calls]
        usage: list[ModelEvent] = [self._usage] if self._usage else []
        return [*calls, *usage, Stopped(self._stop_reason())]

    def _stop_reason(self) -> StopReason:
        reason = _STOP_REASONS.get(self._finish_reason or "stop", "stop")
        if reason in {"stop", "tool_calls"}:
            return "tool_calls" if self._calls else "stop"
        return reason

    def _chunk(self, chunk: dict[str, Any]) -> Iterator[ModelEvent]:
        if chunk.get("error"):
            raise _reported(chunk["error"])
        if isinstance(usage := chunk.get("usage"), dict):
            self._usage = _usage(usage) or self._usage
        for choice in chunk.get("choices") or ():
            yield from self._choice(_object(choice))

    def _choice(self, choice: dict[str, Any]) -> Iterator[ModelEvent]:
        if choice.get("index"):
            return
        if reason := choice.get("finish_reason"):
            self._finish_reason = _text(reason)
        delta = _object(choice.get("delta") or {})
        if reasoning := delta.get("reasoning_content") or delta.get("reasoning"):
            yield ReasoningDelta(_text(reasoning))
        if text := delta.get("content") or delta.get("refusal"):
            yield TextDelta(_text(text), logprobs_of(choice.get("logprobs")))
        for fragment in delta.get("tool_calls") or ():
            self._call_fragment(_object(fragment))

    def _call_fragment(self, fragment: dict[str, Any]) -> None:
        function = _object(fragment.get("function") or {})
        call_id = _text(fragment.get("id") or "")
        name = _text(function.get("name") or "")
        call = self._call_for(fragment.get("index"), call_id, name)
        call.call_id = call.call_id or call_id
        # Some providers repeat the whole name with every fragment; pieces of a name do not occur twice in a row.
        call.name += "" if name == call.name else name
        call.pieces.append(_arguments(function.get("arguments")))

    def _call_for(self, index: object, call_id: str, name: str) -> _PartialCall:
        """The call a fragment belongs to: by its index, else by its id, else the last one."""
        known = self._by_index.get(index) if isinstance(index, int) else self._without_index(call_id, name)
        # Providers exist that give every parallel call the index 0: another id with a name starts another call.
        starts_another = known is not None and name and call_id and known.call_id and call_id != known.call_id
        if known is not None and not starts_another:
            return known
        call = _PartialCall()
        self._calls.append(call)
        if isinstance(index, int):
            self._by_index[index] = call
        return call

    def _without_index(self, call_id: str, name: str) -> _PartialCall | None:
        same_id = [call for call in self._calls if call_id and call.call_id == call_id]
        candidates = same_id or self._calls
        last = candidates[-1] if candidates else None
        if last is None or not name:
            return last
        return last if name == last.name and not _is_json(last.arguments) else None


def _parsed(frame: bytes) -> dict[str, Any]:
    try:
        chunk = from_json(frame)
    except ValueError:
        chunk = None
    return _object(chunk)


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ProviderError(faults.UNREADABLE)
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ProviderError(faults.UNREADABLE)
    return value


def _arguments(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return to_json(value).decode()


def _is_json(text: str) -> bool:
    try:
        from_json(text)
    except ValueError:
        return False
    return True


def _reported(error: object) -> ProviderError:
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and code in _ERROR_STATUSES else None
    for_caller = faults.refusal(status, read_refusal(to_json({"error": error}))).for_caller if status else None
    return ProviderError(faults.REPORTED, status, for_caller=for_caller)


def _usage(usage: dict[str, Any]) -> UsageReported | None:
    if not (_count(usage, "prompt_tokens") or _count(usage, "completion_tokens")):
        return None
    return UsageReported(
        input_tokens=_count(usage, "prompt_tokens"),
        output_tokens=_count(usage, "completion_tokens"),
        cached_tokens=_count(usage.get("prompt_tokens_details"), "cached_tokens"),
        reasoning_tokens=_count(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _count(figures: object, name: str) -> int:
    value = figures.get(name) if isinstance(figures, dict) else None
    return value if isinstance(value, int) and value > 0 else 0
