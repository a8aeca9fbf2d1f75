"""The MCP servers of one turn: a session each, opened by the first call and closed with the turn. Lists nothing."""

import asyncio
import logging
import time
from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any

from django.conf import settings
from mcp import ClientSession, MCPError
from pydantic import ValidationError

from responses_app.engine.ports import ToolOutcome
from responses_app.mcp.connection import call_tool, connected
from responses_app.mcp.guarded_http import Exchange, current_exchange
from responses_app.mcp.loop import started
from responses_app.mcp.results import failure
from responses_app.mcp.servers import McpOffer, McpServer, OfferedTool, Secrets
from responses_app.mcp.tool import McpTool

log = logging.getLogger(__name__)

_CLOSE_SECONDS = 5.0
_MOST_REASON = 1000


class TurnServers:
    """The servers of an offer, for its turn. Its calls come from any thread."""

    def __init__(self, offer: McpOffer) -> None:
        self._offer = offer
        self._servers = {server.label: _TurnServer(server) for server in offer.servers}

    def tools(self) -> dict[str, McpTool]:
        """The tools by the names that the model calls them by."""
        return {tool.name: self._tool(tool) for tool in self._offer.tools}

    def close(self) -> None:
        """Ends all sessions, whatever they do. Does not wait."""
        for server in self._servers.values():
            started(server.close())

    def _tool(self, tool: OfferedTool) -> McpTool:
        return McpTool(tool.name, tool.description, tool.parameters, partial(self._start, tool))

    def _start(self, tool: OfferedTool, arguments: Mapping[str, Any]) -> "Future[ToolOutcome]":
        return started(self._servers[tool.label].call(tool.tool, arguments))


class _TurnServer:
    """One server. Everything here runs on the loop of mcp/loop.py."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._secrets = Secrets(server.headers.items())
        self._held: _HeldSession | None = None
        self._closed = False

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        """The outcome of a call, within its time. Raises nothing but CancelledError."""
        exchange = Exchange()
        current_exchange.set(exchange)
        began = time.monotonic()
        try:
            async with asyncio.timeout(settings.MCP_CALL_SECONDS):
                outcome = await self._called(tool, arguments, exchange)
        except TimeoutError:
            outcome = failure("The server did not answer in time. It is not known whether it did what was asked.")
        except Exception as error:  # noqa: BLE001 - whatever a server brings about is its step's failure, and told there
            outcome = failure(_reason(exchange, error, self._secrets))
        milliseconds = round((time.monotonic() - began) * 1000)
        log.info("MCP tool took %d ms", milliseconds, extra={"duration_ms": milliseconds})
        return outcome

    async def close(self) -> None:
        """Ends the session, and every call in it."""
        self._closed = True
        if self._held:
            await self._held.end()

    async def _called(self, tool: str, arguments: Mapping[str, Any], exchange: Exchange) -> ToolOutcome:
        held = self._session()
        try:
            return await call_tool(await held.opened(), tool, arguments, self._secrets)
        except MCPError:
            if not exchange.session_gone:
                raise
        # The server forgot the session, so it did nothing: the call is made once more in a new one.
        exchange.session_gone = False
        if self._held is held:
            held.leave()
        return await call_tool(await self._session().opened(), tool, arguments, self._secrets)

    def _session(self) -> "_HeldSession":
        if self._closed:
            raise ConnectionError
        if self._held is None or self._held.ended():
            self._held = _HeldSession(self._server)
        return self._held


class _HeldSession:
    """A session that a task of its own holds open, since the client's blocks are left where they were entered."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._leaving = asyncio.Event()
        self._opened: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        # Otherwise a fault that nobody waited for would be logged with its text.
        self._opened.add_done_callback(lambda opened: opened.cancelled() or opened.exception())
        self._task = asyncio.create_task(self._hold())

    async def opened(self) -> ClientSession:
        """The session, once it is open. Raises what kept it from opening."""
        return await asyncio.shield(self._opened)

    def ended(self) -> bool:
        """Whether it can be used no more."""
        return self._leaving.is_set() or self._task.done()

    def leave(self) -> None:
        """Has it end soon."""
        self._leaving.set()

    async def end(self) -> None:
        """Ends it, by force if that takes long."""
        self.leave()
        if not self._opened.done():
            self._task.cancel()
        await asyncio.wait([self._task], timeout=_CLOSE_SECONDS)
        self._task.cancel()

    async def _hold(self) -> None:
        try:
            async with connected(self._server, settings.MCP_CALL_SECONDS) as session:
                self._opened.set_result(session)
                await self._leaving.wait()
        except asyncio.CancelledError:
            self._failed(ConnectionError())
        except Exception as error:  # noqa: BLE001 - told by every call that waits for the session
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        if not self._opened.done():
            self._opened.set_exception(error)


def _reason(exchange: Exchange, error: Exception, secrets: Secrets) -> str:
    """Why a call failed, in words for the model."""
    if why := exchange.why_it_failed():
        return f"The server failed: {why}."
    if isinstance(error, MCPError):
        return f"The call failed: {secrets.hidden_in(error.message)[:_MOST_REASON]}"
    if isinstance(error, ValidationError):
        return "The server failed: its answer is no result of a tool."
    return "The server failed: the connection was lost. It is not known whether it did what was asked."
