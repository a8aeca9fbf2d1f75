"""An MCP server as a caller names it in ``tools``. Its tools, and how it is asked for them, live in mcp/.

Source: the wire contract, section 8.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError
from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

from responses_app.protocol.items import TOOL_NAME_PATTERN
from responses_app.protocol.wire import WireModel

MAX_SERVERS = 8
MAX_HEADERS = 32
MAX_VALUE_LENGTH = 8192

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_VISIBLE = re.compile(r"[\x20-\x7e]*")
# How a message is framed, for whom it is, and what the protocol itself says in headers is never a caller's to set.
_RESERVED_HEADERS = frozenset(
    {
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer"),
        *("trailers", "expect", "proxy-authenticate", "proxy-authorization", "proxy-connection"),
        *("accept", "accept-encoding", "content-type", "content-encoding", "last-event-id"),
    }
)


def _invalid(message: str) -> PydanticCustomError:
    return PydanticCustomError("invalid_value", "{message}", {"message": message})


def _address(text: str) -> str:
    if not re.fullmatch(r"[\x21-\x7e]+", text):
        raise _invalid("A server's address may hold visible ASCII characters alone")
    try:
        url = parse_url(text)
    except LocationParseError:
        raise _invalid("That is no valid address") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise _invalid("A server's address starts with http:// or https://")
    if url.auth is not None:
        raise _invalid("An address with credentials in it is not used; send 'authorization' or 'headers'")
    return text


def _token(text: str) -> str:
    if not text.strip() or not _VISIBLE.fullmatch(text):
        raise _invalid("A token is visible ASCII characters, and not blank")
    return text.strip()


def _header_pairs(headers: dict[str, str]) -> dict[str, str]:
    if len({name.lower() for name in headers}) < len(headers):
        raise _invalid("A header is given twice")
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise _invalid("That is no name of a header")
        if name.lower() in _RESERVED_HEADERS or name.lower().startswith("mcp-"):
            raise _invalid(f"The header '{name}' cannot be set")
        if not _VISIBLE.fullmatch(value) or len(value) > MAX_VALUE_LENGTH:
            raise _invalid(f"The value of a header is at most {MAX_VALUE_LENGTH} visible ASCII characters")
    return {name: value.strip() for name, value in headers.items()}


def _tool_names(value: Any) -> Any:
    """OpenAI's two forms, read into one."""
    if isinstance(value, dict):
        unknown = [name for name, given in value.items() if name != "tool_names" and given is not None]
        if unknown or "tool_names" not in value:
            raise PydanticCustomError(
                "unsupported_parameter", "Only a list of names, or an object with 'tool_names' alone, is supported"
            )
        return value["tool_names"]
    return value


def _never(value: Any) -> Any:
    if value != "never":
        raise PydanticCustomError("unsupported_parameter", "require_approval is not supported other than as 'never'")
    return value


def _no_connector(value: Any) -> Any:
    raise PydanticCustomError("unsupported_parameter", "Connectors are not supported; name a server by 'server_url'")


class McpEntry(WireModel):
    """One MCP server. Its credentials, ``authorization`` and ``headers``, go to it alone, and are kept nowhere."""

    type: Literal["mcp"]
    server_label: str = Field(pattern=TOOL_NAME_PATTERN)
    connector_id: Annotated[None, BeforeValidator(_no_connector)] = Field(default=None, exclude=True)
    server_url: Annotated[str, Field(max_length=2048), AfterValidator(_address)]
    authorization: Annotated[str, Field(max_length=MAX_VALUE_LENGTH), AfterValidator(_token)] | None = Field(
        default=None, exclude=True, repr=False
    )
    headers: Annotated[dict[str, str], AfterValidator(_header_pairs)] = Field(
        default={}, max_length=MAX_HEADERS, exclude=True, repr=False
    )
    allowed_tools: Annotated[list[str], Field(max_length=1024), BeforeValidator(_tool_names)] | None = None
    require_approval: Annotated[Literal["never"], BeforeValidator(_never)] = "never"

    @model_validator(mode="after")
    def _credentials_once(self) -> "McpEntry":
        if self.authorization is not None and any(name.lower() == "authorization" for name in self.headers):
            raise _invalid("Credentials are given twice, as 'authorization' and in 'headers'")
        return self

    def echo(self) -> dict[str, Any]:
        """The form that responses carry: every key present, no credentials."""
        return self.model_dump()

    def sent_headers(self) -> dict[str, str]:
        """What goes to the server with every message. A bare token is a bearer's."""
        if self.authorization is None:
            return dict(self.headers)
        credentials = self.authorization if " " in self.authorization else f"Bearer {self.authorization}"
        return {**self.headers, "Authorization": credentials}
