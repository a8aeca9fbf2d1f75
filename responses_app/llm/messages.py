"""A conversation and its tools in the words of the chat-completions protocol.

Providers refuse a conversation in which a call is not followed directly by its output, so the pairing is repaired here.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from responses_app.engine.conversation import Call, CallOutput, Entry, Message, Part, Thought
from responses_app.engine.ports import ModelCall, NamedTool, OutputFormat, ToolChoice, ToolDefinition
from responses_app.llm.transcripts import transcript

ChatMessage = dict[str, Any]

_WITHOUT_THINKING: dict[str, Any] = {
    "thinking": {"type": "disabled"},
    "enable_thinking": False,
    "chat_template_kwargs": {"enable_thinking": False},
}
"""The switches there are; each provider knows one of them."""

NO_OUTPUT = "No output was recorded for this call."


def to_request(call: ModelCall, model: str) -> dict[str, Any]:
    """The body of a streaming chat-completions request to the provider's ``model``. Raises as ``to_messages`` does."""
    request: dict[str, Any] = {
        "model": model,
        "messages": _to_be_summarized(call) if call.summarizes else to_messages(call.system, call.entries),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if call.tools:
        request["tools"] = [_tool(tool) for tool in call.tools]
        request["tool_choice"] = _tool_choice(call.tool_choice)
        if not call.sampling.parallel_calls:
            request["parallel_tool_calls"] = False
    if call.format is not None:
        request["response_format"] = _response_format(call.format)
    if not call.thinking:
        request |= _WITHOUT_THINKING
    return request | _sampling(call)


def _to_be_summarized(call: ModelCall) -> list[ChatMessage]:
    """One message: providers refuse calls of tools that are not declared."""
    return [{"role": "system", "content": call.system}, {"role": "user", "content": transcript(call.entries)}]


def _response_format(asked: OutputFormat) -> dict[str, Any]:
    if asked.schema is None:
        return {"type": "json_object"}
    described = {"description": asked.description} if asked.description else {}
    schema = {"name": asked.name, **described, "schema": asked.schema, "strict": asked.strict}
    return {"type": "json_schema", "json_schema": schema}


def _sampling(call: ModelCall) -> dict[str, Any]:
    asked = call.sampling
    fields = {
        "temperature": asked.temperature,
        "top_p": asked.top_p,
        "max_tokens": asked.max_output_tokens,
        "reasoning_effort": asked.effort if call.thinking else None,
    }
    if asked.top_logprobs is not None:
        # None but the tokens' own is asked for by leaving the number out.
        fields |= {"logprobs": True, "top_logprobs": asked.top_logprobs or None}
    return {name: value for name, value in fields.items() if value is not None}


def to_messages(system: str, entries: Sequence[Entry]) -> list[ChatMessage]:
    """The chat messages of a conversation, ``system`` first.

    Every assistant message with calls is followed directly by one tool message per call, in the order of the calls.
    Outputs are found by ``call_id``, wherever they stand; of equal ids the first call has the first output. Reasoning
    is given back only where it led to a call after the last user message. Raises ``ValueError`` for an output without
    a call.
    """
    outputs = _outputs_by_call(entries)
    last_user = max((i for i, e in enumerate(entries) if isinstance(e, Message) and e.role == "user"), default=-1)
    messages: list[ChatMessage] = [{"role": "system", "content": system}] if system else []
    for group in _groups(entries):
        messages.extend(_group_messages(group, outputs, current=group.start > last_user))
    if any(outputs.values()):
        raise ValueError("an output without a call in the conversation")
    return messages


@dataclass(slots=True)
class _Group:
    """What becomes one message: a message, or what the assistant thought, said and called in one step."""

    start: int
    thoughts: list[str] = field(default_factory=list)
    message: Message | None = None
    calls: list[Call] = field(default_factory=list)

    def takes(self, entry: Message | Thought | Call) -> bool:
        if isinstance(entry, Call):
            return self.message is None or self.message.role == "assistant"
        if isinstance(entry, Message) and entry.role != "assistant":
            return False
        return self.message is None and not self.calls

    def add(self, entry: Message | Thought | Call) -> None:
        match entry:
            case Thought():
                self.thoughts.append(entry.text)
            case Call():
                self.calls.append(entry)
            case Message():
                self.message = entry


def _groups(entries: Iterable[Entry]) -> Iterator[_Group]:
    group: _Group | None = None
    for index, entry in enumerate(entries):
        ends = isinstance(entry, CallOutput) or (group is not None and not group.takes(entry))
        if group is not None and ends:
            yield group
            group = None
        if not isinstance(entry, CallOutput):
            group = group or _Group(start=index)
            group.add(entry)
    if group is not None:
        yield group


def _outputs_by_call(entries: Iterable[Entry]) -> dict[str, deque[str]]:
    outputs: dict[str, deque[str]] = defaultdict(deque)
    for entry in entries:
        if isinstance(entry, CallOutput):
            outputs[entry.call_id].append(entry.output)
    return outputs


def _group_messages(group: _Group, outputs: dict[str, deque[str]], *, current: bool) -> list[ChatMessage]:
    content = _content(group.message.content) if group.message else None
    if not group.calls:
        return [{"role": _role(group.message), "content": content}] if group.message else []
    message = {"role": "assistant", "content": content, "tool_calls": [_tool_call(call) for call in group.calls]}
    if group.thoughts and current:
        message["reasoning_content"] = "\n\n".join(group.thoughts)
    return [message, *(_tool_message(call, outputs.get(call.call_id)) for call in group.calls)]


def _role(message: Message) -> str:
    return "system" if message.role == "developer" else message.role


def _tool_call(call: Call) -> ChatMessage:
    function = {"name": call.name, "arguments": _safe_arguments(call.arguments)}
    return {"id": call.call_id, "type": "function", "function": function}


def _safe_arguments(arguments: str) -> str:
    """The arguments, or ``{}`` for what is no JSON object: providers that parse them refuse the whole conversation."""
    try:
        return arguments if isinstance(from_json(arguments), dict) else "{}"
    except ValueError:
        return "{}"


def _tool_message(call: Call, outputs: deque[str] | None) -> ChatMessage:
    output = outputs.popleft() if outputs else NO_OUTPUT
    return {"role": "tool", "tool_call_id": call.call_id, "content": output}


def _content(content: str | list[Part]) -> str | list[dict[str, Any]]:
    return content if isinstance(content, str) else [_part(part) for part in content]


def _part(part: Part) -> dict[str, Any]:
    match part["type"]:
        case "text":
            return {"type": "text", "text": part["text"]}
        case "image":
            detail = {"detail": part["detail"]} if part.get("detail") else {}
            return {"type": "image_url", "image_url": {"url": part["url"], **detail}}
        case "file":
            filename = {"filename": part["filename"]} if part.get("filename") else {}
            return {"type": "file", "file": {**filename, "file_data": part["data"]}}
        case unknown:
            raise ValueError(f"unknown part type {unknown!r}")


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _tool_choice(choice: ToolChoice) -> str | dict[str, Any]:
    return {"type": "function", "function": {"name": choice.name}} if isinstance(choice, NamedTool) else choice
