"""How ids are made. Item ids are derived from their response's id, so they are unique over the installation."""

import re
import secrets

RESPONSE_PREFIX = "resp_"
_SHARED_DIGITS = 16


def new_response_id() -> str:
    """``resp_`` and 32 hex digits."""
    return RESPONSE_PREFIX + secrets.token_hex(16)


def is_response_id(text: str) -> bool:
    """Whether ``new_response_id`` may have made it. What it cannot have made is not looked up."""
    return bool(re.fullmatch(RESPONSE_PREFIX + "[0-9a-f]{32}", text))


def new_call_id(response_id: str) -> str:
    """``call_`` and 32 hex digits: the server's own id for a tool call, whatever the model called it.

    It begins as its response's id does, so that a response is found by any call of it.
    """
    return "call_" + response_id.removeprefix(RESPONSE_PREFIX)[:_SHARED_DIGITS] + secrets.token_hex(8)


def start_of_response_id(call_id: str) -> str | None:
    """How the id of the response begins that made the call; ``None`` for what ``new_call_id`` cannot have made."""
    found = re.fullmatch(r"call_([0-9a-f]{32})", call_id)
    return RESPONSE_PREFIX + found[1][:_SHARED_DIGITS] if found else None


def completion_id(response_id: str) -> str:
    """The id of the chat completion that a response is told as."""
    return "chatcmpl-" + response_id.removeprefix(RESPONSE_PREFIX)


def reasoning_id(response_id: str) -> str:
    """The id of a response's only reasoning item."""
    return "rs_" + response_id.removeprefix(RESPONSE_PREFIX)


def message_id(response_id: str) -> str:
    """The id of a response's only message item."""
    return "msg_" + response_id.removeprefix(RESPONSE_PREFIX)


def function_call_id(response_id: str, index: int) -> str:
    """The id of a response's function call number ``index``."""
    return f"fc_{response_id.removeprefix(RESPONSE_PREFIX)}_{index}"


def compaction_id(response_id: str) -> str:
    """The id of the compaction item that a compaction ends with."""
    return "cmp_" + response_id.removeprefix(RESPONSE_PREFIX)


def input_item_id(response_id: str, prefix: str, index: int) -> str:
    """The id of a response's input item number ``index``."""
    return f"{prefix}_{response_id.removeprefix(RESPONSE_PREFIX)}_in{index}"


def response_id_of_item(item_id: str) -> str | None:
    """The response an item id was derived from; ``None`` for what is no such id."""
    found = re.fullmatch(r"(?:rs|msg|fc|fco|cmp)_([0-9a-f]{32})(?:_(?:in)?\d{1,4})?", item_id)
    return RESPONSE_PREFIX + found[1] if found else None


def tool_step_id(index: int) -> str:
    """The id of a response's server tool step number ``index``."""
    return f"mtc_{index}"
