"""MCP servers for tests, on loopback: a real one of the package ``mcp``, and one that says whatever a test wants.

``127.0.0.2`` stands for a public address, as in tests/tools_app/foreign_hosts.py.
"""

import base64
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.tools_app.foreign_hosts import PUBLIC, Answer, Asked, Host, host, replies

Json = dict[str, Any]
Says = Json | Answer | Callable[[Json], "Says"]
"""What a scripted server says to a method: a result, raw bytes, or a function of the params that says one of these."""

SESSION = "session-of-the-server"


@dataclass
class Lab:
    """The real server. ``headers`` holds those of every request it got, ``methods`` the HTTP methods in order."""

    url: str
    headers: list[dict[str, str]] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)


def lab_tools() -> MCPServer:
    """A server with tools of every kind."""
    server = MCPServer("lab")

    @server.tool()
    def echo(text: str) -> str:
        """Gives the text back."""
        return text

    @server.tool()
    def add(first: int, second: int) -> dict[str, int]:
        """Adds."""
        return {"sum": first + second}

    @server.tool()
    def picture() -> Image:
        """Draws."""
        return Image(data=base64.b64decode("iVBORw0KGgo="), format="png")

    @server.tool()
    def refuse() -> str:
        """Fails."""
        raise RuntimeError

    return server


@contextmanager
def real_server(*, stateless: bool = False, json_response: bool = False) -> Iterator[Lab]:
    """The real server for as long as the block runs."""
    app = lab_tools().streamable_http_app(stateless_http=stateless, json_response=json_response, host="0.0.0.0")
    with socket.create_server((PUBLIC, 0)) as listener:
        lab = Lab(f"http://{PUBLIC}:{listener.getsockname()[1]}/mcp")
        config = uvicorn.Config(_recording(app, lab), log_config=None, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield lab
        server.should_exit = True
        thread.join()


def _recording(app: ASGIApp, lab: Lab) -> ASGIApp:
    async def recording(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            lab.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
            lab.methods.append(scope["method"])
        await app(scope, receive, send)

    return recording


@dataclass
class Scripted:
    """A server that says what it is told to. ``says`` may be changed at any time."""

    host: Host
    says: dict[str, Says]

    @property
    def url(self) -> str:
        return f"http://{PUBLIC}:{self.host.port}/mcp"

    def times(self, method: str) -> int:
        """How often a method was called."""
        return [called for called, _ in self.calls()].count(method)

    def calls(self) -> list[tuple[str, Json]]:
        """The methods that were called, with their params."""
        bodies = [json.loads(asked.body) for asked in self.host.asked if asked.body]
        return [(body["method"], body.get("params", {})) for body in bodies]


def tool(name: str, **fields: Any) -> Json:
    """A tool as a server lists it."""
    return {"name": name, "inputSchema": {"type": "object"}, **fields}


def text_result(text: str, **fields: Any) -> Json:
    """A tool's result as a server gives it."""
    return {"content": [{"type": "text", "text": text}], **fields}


@contextmanager
def scripted_server(
    says: Mapping[str, Says], *, session: str | None = None, tls: ssl.SSLContext | None = None
) -> Iterator[Scripted]:
    """A server of the protocol of 2025 that answers what it is told to, and everything else as it has to."""
    usual: dict[str, Says] = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "scripted", "version": "1"},
        },
        "tools/list": {"tools": [tool("look")]},
        "tools/call": text_result("seen"),
    }
    headers = {"Mcp_Session_Id": session} if session else {}
    with host(PUBLIC, replies("404 Not Found"), tls=tls) as running:
        scripted = Scripted(running, {**usual, **says})
        running.answer = lambda connection, asked: _answer(scripted, headers, connection, asked)
        yield scripted


def _answer(scripted: Scripted, headers: dict[str, str], connection: socket.socket, asked: Asked) -> None:
    message = json.loads(asked.body) if asked.body else {}
    said = scripted.says.get(
        message.get("method", ""), replies("202 Accepted" if "id" not in message else "404 Not Found")
    )
    while callable(said) and not _is_raw(said):
        said = said(message.get("params", {}))
    if callable(said):
        said(connection, asked)
        return
    result_to(message, said, headers)(connection, asked)


def _is_raw(said: Any) -> bool:
    return said.__code__.co_argcount == 2


def result_to(message: Json, result: Json, headers: dict[str, str]) -> Answer:
    """The answer that carries the result, or the JSON-RPC error in it."""
    key = "error" if "code" in result else "result"
    body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), key: result}).encode()
    return replies("200 OK", body, Content_Type="application/json", **headers)
