"""What a turn is told of its MCP servers: how to ask them, and which tools they offered. Nothing is asked here.

It holds credentials: none of it is ever stored, logged or told.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from responses_app.protocol.mcp_entry import McpEntry


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server, what it is sent with every message, and how it speaks: a version of the protocol without a handshake,
    or ``"legacy"``, or ``"auto"`` while that is not known."""

    label: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    protocol: str = "auto"


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of a server. ``name`` is what the model calls it by, ``tool`` what the server does."""

    name: str
    label: str
    tool: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class McpOffer:
    """The servers of one turn and their tools."""

    servers: tuple[McpServer, ...] = ()
    tools: tuple[OfferedTool, ...] = ()

    def to_json(self) -> str:
        """For handing it over to the turn."""
        return json.dumps(asdict(self))


NOTHING_OFFERED = McpOffer()


def offer_from_json(text: str) -> McpOffer:
    """The offer that ``to_json`` wrote."""
    fields = json.loads(text)
    return McpOffer(
        tuple(McpServer(**server) for server in fields["servers"]),
        tuple(OfferedTool(**tool) for tool in fields["tools"]),
    )


def server_of(entry: McpEntry) -> McpServer:
    """The server that an entry of ``tools`` names."""
    return McpServer(entry.server_label, entry.server_url, entry.sent_headers())


class Secrets:
    """The credentials of a server, to be taken out of whatever it says: it may repeat them."""

    _SHORTEST = 8
    """A shorter value of a header is no secret, and may stand anywhere."""

    def __init__(self, headers: Iterable[tuple[str, str]]) -> None:
        words = {word for name, value in headers for word in _secret_words(name, value)}
        self._words = sorted((word for word in words if len(word) >= self._SHORTEST), key=len, reverse=True)

    def hidden_in(self, value: Any) -> Any:
        """The JSON value without them."""
        match value:
            case str():
                return self._hidden_in_text(value)
            case list():
                return [self.hidden_in(item) for item in value]
            case dict():
                return {self._hidden_in_text(key): self.hidden_in(item) for key, item in value.items()}
        return value

    def _hidden_in_text(self, text: str) -> str:
        for word in self._words:
            text = text.replace(word, "[credentials]")
        return text


def _secret_words(name: str, value: str) -> list[str]:
    """A header's value, and the token in it."""
    return [value, value.partition(" ")[2]] if name.lower() == "authorization" else [value]
