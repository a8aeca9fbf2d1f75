"""A turn's events told as chunks of a chat completion. Decides nothing; how chunks become bytes is streaming/sse.py.

Source: OpenAI's chat completion chunks; ``delta.tool_steps`` follows the rules of ``delta.tool_calls``.
"""

from collections.abc import Iterable
from typing import Any

from responses_app.protocol.completions import completion_usage, evidence, finish_reason
from responses_app.protocol.events import Event
from responses_app.protocol.ids import completion_id
from responses_app.protocol.response import ResponseObject

Chunk = dict[str, Any]


class CompletionChunks:
    """The chunks of one turn. ``include_usage``: the last one holds the usage, the others say that they do not."""

    def __init__(self, include_usage: bool) -> None:
        self._include_usage = include_usage
        self._head: Chunk = {}
        self._steps: dict[str, int] = {}
        self._fault_told = False

    def told(self, event: Event) -> Iterable[Chunk]:
        """What an event says to a caller of chat completions: for most nothing, for the last one several chunks."""
        match event:
            case {"type": "response.created", "response": response}:
                return [self._begin(response)]
            case {"type": "response.reasoning_summary_text.delta", "delta": text}:
                return [self._said(reasoning_content=text)]
            case {"type": "response.output_text.delta", "delta": text}:
                return [self._said(content=text)]
            case {"type": "response.mirobody_tool_call" | "response.mirobody_tool_result", "tool_step": step}:
                return [self._said(tool_steps=[self._step(step)])]
            case {"type": "error", "error": fault}:
                self._fault_told = True
                return [{"error": fault}]
            case {"type": "response.completed" | "response.incomplete", "response": response}:
                return self._end(response)
            case {"type": "response.failed", "response": {"error": fault}} if not self._fault_told:
                return [{"error": {**fault, "param": None}}]
        return []

    def _begin(self, response: ResponseObject) -> Chunk:
        self._head = {
            "id": completion_id(response["id"]),
            "object": "chat.completion.chunk",
            "created": response["created_at"],
            "model": response["model"],
            "service_tier": response["service_tier"],
            "system_fingerprint": None,
        }
        return self._said(role="assistant", content="")

    def _step(self, step: dict[str, Any]) -> dict[str, Any]:
        """The step, whole when it is called, and later what its result adds: clients join the two by their index."""
        index = self._steps.get(step["id"])
        if index is None:
            index = self._steps[step["id"]] = len(self._steps)
            return {"index": index, **step}
        return {"index": index, "result": step["result"], "truncated": step["truncated"]}

    def _said(self, **delta: Any) -> Chunk:
        return self._chunk([_choice(delta, None)])

    def _end(self, response: ResponseObject) -> list[Chunk]:
        last = self._chunk([_choice({}, finish_reason(response))]) | evidence(response)
        if not self._include_usage:
            return [last]
        return [last, self._chunk([]) | {"usage": completion_usage(response["usage"])}]

    def _chunk(self, choices: list[dict[str, Any]]) -> Chunk:
        usage = {"usage": None} if self._include_usage else {}
        return {**self._head, "choices": choices, **usage}


def _choice(delta: dict[str, Any], finished: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finished}
