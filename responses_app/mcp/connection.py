"""Talks with one MCP server: opens a session, lists its tools, calls one. Which servers and for whom is not here.

Source: the Model Context Protocol, revisions 2025-03-26 to 2026-07-28, streamable HTTP.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from mcp import ClientSession, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import CallOptions
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    HEADER_MISMATCH,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    DiscoverResult,
    Implementation,
    PaginatedRequestParams,
    ServerCapabilities,
    TextContent,
    Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from responses_app.engine.ports import ToolOutcome
from responses_app.mcp.guarded_http import MOST_BYTES, guarded_client
from responses_app.mcp.results import outcome_of_result, tidy_listing, tidy_result
from responses_app.mcp.servers import McpServer, Secrets

MOST_PAGES = 32

_CLIENT = Implementation(name="mirobody", version="1")


class EndlessListing(Exception):
    """A server lists more tools, or more pages of them, than are read."""


@asynccontextmanager
async def connected(server: McpServer, seconds: float) -> AsyncGenerator[ClientSession, None]:
    """A session with the server, for as long as the block runs. Raises what the MCP client does."""
    try:
        async with (
            guarded_client(dict(server.headers), seconds) as http,
            streamable_http_client(server.url, http_client=http, max_sse_event_size=MOST_BYTES) as (read, write),
            ClientSession(dispatcher=_TidyDispatcher(read, write), client_info=_CLIENT) as session,
        ):
            await _negotiate(session, server.protocol)
            yield session
    except ExceptionGroup as group:
        raise _first_of(group) from None


def protocol_of(session: ClientSession) -> str:
    """How the server of an open session speaks, as ``McpServer.protocol``."""
    version = session.protocol_version
    return version if version in MODERN_PROTOCOL_VERSIONS else "legacy"


async def list_tools(session: ClientSession, most: int, allowed: Sequence[str] | None = None) -> list[Tool]:
    """The server's tools, or those of them that are allowed, each name once. Raises EndlessListing."""
    tools: dict[str, Tool] = {}
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        for tool in page.tools:
            if allowed is None or tool.name in allowed:
                tools.setdefault(tool.name, tool)
        if len(tools) > most:
            raise EndlessListing(f"it offers more than {most} tools; choose some with 'allowed_tools'")
        cursor = page.next_cursor
        if cursor is None:
            return list(tools.values())
    raise EndlessListing("its list of tools does not end")


async def call_tool(session: ClientSession, name: str, arguments: Mapping[str, Any], secrets: Secrets) -> ToolOutcome:
    """What the tool gave, without the ``secrets``. Raises what the MCP client does."""
    try:
        result = await _called(session, name, arguments)
    except MCPError as error:
        if error.code != HEADER_MISMATCH:
            raise
        # The server wants arguments repeated in headers, which the client knows of once it has seen the listing.
        await list_tools(session, MOST_PAGES * MOST_PAGES)
        result = await _called(session, name, arguments)
    text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
    # Before anything is cut, which might leave a part of them.
    structured = secrets.hidden_in(result.structured_content)
    return outcome_of_result(secrets.hidden_in(text), structured, result.is_error)


def _first_of(error: Exception) -> Exception:
    """The fault itself, out of the groups that the client's tasks wrap it in."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


async def _called(session: ClientSession, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
    # Not by ``session.call_tool``: it would check the result by the server's own schema, whose patterns may never end.
    params = CallToolRequestParams(name=name, arguments=dict(arguments))
    return await session.send_request(CallToolRequest(params=params), CallToolResult)


async def _negotiate(session: ClientSession, protocol: str) -> None:
    if protocol == "legacy":
        await session.initialize()
        return
    if protocol != "auto":
        session.adopt(DiscoverResult(supported_versions=[protocol], capabilities=ServerCapabilities()))
        return
    try:
        await session.discover()
    except (MCPError, RuntimeError, ValidationError):
        # Servers of before 2026 know no other way.
        await session.initialize()


class _TidyDispatcher(JSONRPCDispatcher[TransportContext]):
    """Makes results fit before they are checked against the protocol: one odd content is no reason to lose the rest."""

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None, **related: Any
    ) -> dict[str, Any]:
        result = await super().send_raw_request(method, params, opts, **related)
        match method:
            case "tools/list":
                return tidy_listing(result)
            case "tools/call":
                return tidy_result(result)
        return result
