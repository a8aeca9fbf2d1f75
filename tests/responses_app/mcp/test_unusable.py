"""MCP servers that cannot be used: a 400 before the turn begins, in words that hold nothing of what the server said."""

import json
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from pytest_django import Settings

from responses_app.mcp import guarded_http
from tests.responses_app.api.conftest import Json, create, wait_until
from tests.responses_app.mcp.conftest import entry
from tests.support.envelope import assert_error
from tests.support.mcp_servers import Says, scripted_server, tool
from tests.tools_app.foreign_hosts import PRIVATE, PUBLIC, Answer, Asked, drips, host, redirects, replies
from tests.tools_app.test_egress import PRIVATE_SPELLINGS, certified
from tools_app import egress

__all__ = ["certified"]

NOT_PUBLIC = "mcp server host resolves to a non-public address"
OTHER_PUBLIC = "127.0.0.3"
SECRET = "a-token-of-the-caller"


def refusal(api: httpx.Client, url: str, **fields: Any) -> Json:
    """The error that a request with this server gets. It is told of nobody's secrets."""
    body = {"input": "Hello", "tools": [entry(url, authorization=SECRET, **fields)]}
    answer = api.post("/v1/responses", json=body)
    assert answer.status_code == 400, answer.text
    assert SECRET not in answer.text
    error: Json = answer.json()["error"]
    assert error["code"] == "invalid_value"
    return error


def assert_not_public(error: Json) -> None:
    assert (error["message"], error["param"]) == (NOT_PUBLIC, "tools[0].server_url")


@pytest.mark.parametrize("spelling", PRIVATE_SPELLINGS)
def test_no_spelling_reaches_this_machine(api: httpx.Client, spelling: str) -> None:
    with host(PRIVATE, replies("200 OK")) as here:
        refusal(api, spelling.replace("PORT", str(here.port)))
        assert here.asked == []


@pytest.mark.parametrize("url", ["http://169.254.169.254/latest/", "https://10.0.0.5/", f"https://{PRIVATE}:9/mcp"])
def test_private_networks(api: httpx.Client, url: str) -> None:
    assert_not_public(refusal(api, url))


@pytest.mark.parametrize("status", ["302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
def test_a_redirect_to_this_machine(api: httpx.Client, status: str) -> None:
    with host(PRIVATE, replies("200 OK")) as here, host(PUBLIC, replies("200 OK")) as server:
        server.answer = redirects(f"http://{PRIVATE}:{here.port}/mcp", status)
        assert_not_public(refusal(api, f"http://{PUBLIC}:{server.port}/mcp"))
        assert here.asked == []


def test_a_redirect_to_another_host_is_not_followed(api: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress, "is_public", lambda address: address in (PUBLIC, OTHER_PUBLIC))
    with host(OTHER_PUBLIC, replies("200 OK")) as other, host(PUBLIC, replies("200 OK")) as server:
        server.answer = redirects(f"http://{OTHER_PUBLIC}:{other.port}/mcp", "307 Temporary Redirect")
        message = refusal(api, f"http://{PUBLIC}:{server.port}/mcp")["message"]
        assert message == "mcp server 'lab' unusable: it redirects to another host"
        assert other.asked == []


def test_a_redirect_within_the_host_is_followed(api: httpx.Client) -> None:
    with scripted_server({}) as server:
        straight = server.host.answer

        def moved(connection: socket.socket, asked: Asked) -> None:
            there = asked.line.split()[1].endswith("/moved")
            (straight if there else redirects("/moved", "307 Temporary Redirect"))(connection, asked)

        server.host.answer = moved
        assert create(api, input="Hello", tools=[entry(server.url)])["status"] == "completed"


def test_redirects_without_an_end(api: httpx.Client) -> None:
    with host(PUBLIC, redirects("/again", "307 Temporary Redirect")) as server:
        assert "unusable" in refusal(api, f"http://{PUBLIC}:{server.port}/mcp")["message"]
        assert len(server.asked) < 20


@pytest.mark.parametrize("answers", [[PRIVATE, PUBLIC], [PUBLIC, PRIVATE], ["::ffff:127.0.0.1"]], ids=str)
def test_a_name_with_any_private_address(
    api: httpx.Client, monkeypatch: pytest.MonkeyPatch, answers: list[str]
) -> None:
    resolves(monkeypatch, lambda: answers)
    with host(PRIVATE, replies("200 OK")) as here, host(PUBLIC, replies("200 OK"), here.port) as server:
        assert_not_public(refusal(api, f"http://mcp.example:{here.port}/mcp"))
        assert (here.asked, server.asked) == ([], [])


def test_the_name_stays_the_hosts(api: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    resolves(monkeypatch, lambda: [PUBLIC])
    # The provider's is on 127.0.0.1.
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.4:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with scripted_server({}) as server:
        create(api, input="Hello", tools=[entry(f"http://mcp.example:{server.host.port}/mcp")])
        assert {asked.headers["host"] for asked in server.host.asked} == {f"mcp.example:{server.host.port}"}


def test_a_certificate_is_checked_against_the_name(
    api: httpx.Client, monkeypatch: pytest.MonkeyPatch, certified: ssl.SSLContext
) -> None:
    monkeypatch.setattr(guarded_http, "tls_context", egress.tls_context)
    resolves(monkeypatch, lambda: [PUBLIC], "good.example", "other.example")
    with scripted_server({}, tls=certified) as server:
        good, other = (f"https://{name}.example:{server.host.port}/mcp" for name in ("good", "other"))
        assert create(api, input="Hello", tools=[entry(good)])["status"] == "completed"
        assert "could not be reached" in refusal(api, other)["message"]


def resolves(monkeypatch: pytest.MonkeyPatch, answers: Callable[[], list[str]], *names: str) -> None:
    """Has these names, or ``mcp.example``, resolve to the answers."""
    real = socket.getaddrinfo

    def found(name: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        if name not in (names or ("mcp.example",)):
            return real(name, port, *args, **kwargs)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in answers()]

    monkeypatch.setattr(socket, "getaddrinfo", found)


def hangs(connection: socket.socket, asked: Asked) -> None:
    """Says nothing until the caller leaves."""
    while connection.recv(1):
        pass


def cuts(connection: socket.socket, asked: Asked) -> None:
    connection.close()


def reflects(connection: socket.socket, asked: Asked) -> None:
    """Fails, and shows what it was sent."""
    replies("500 Internal Server Error", json.dumps(asked.headers).encode(), Content_Type="application/json")(
        connection, asked
    )


def reflects_in_json_rpc(connection: socket.socket, asked: Asked) -> None:
    error = {"code": -32000, "message": json.dumps(asked.headers)}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode()
    replies("400 Bad Request", body, Content_Type="application/json")(connection, asked)


SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
JSON_BODY = {"Content_Type": "application/json"}
ANSWERS: dict[str, tuple[Answer, str]] = {
    "never": (hangs, "it did not answer in time"),
    "cut": (cuts, "it could not be reached"),
    "dripping headers": (drips(b"HTTP/1.1 200 OK\r\nA: b"), "it did not answer in time"),
    "dripping events": (drips(SSE, b": x\n\n"), "it did not answer in time"),
    "dripping one event": (drips(SSE + b"data: "), "it did not answer in time"),
    "dripping JSON": (
        drips(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[", b" "),
        "it did not answer in time",
    ),
    "no HTTP": (lambda connection, asked: connection.sendall(b"hello\r\n\r\n"), "it could not be reached"),
    "HTML": (replies("200 OK", b"<p>Hello", Content_Type="text/html"), "it does not answer as"),
    "no JSON": (replies("200 OK", b"{", **JSON_BODY), "it does not answer as"),
    "other JSON": (replies("200 OK", b'{"a": 1}', **JSON_BODY), "it does not answer as"),
    "large": (replies("200 OK", b"[" + b" " * 50_000_000, **JSON_BODY), "larger than 4 MB"),
    "compressed": (replies("200 OK", b"x", Content_Encoding="gzip", **JSON_BODY), "in an encoding"),
    "401": (replies("401 Unauthorized"), "it refused the credentials with status 401"),
    "404": (replies("404 Not Found"), "it answered with status 404"),
    "500": (reflects, "it answered with status 500"),
    "JSON-RPC error": (reflects_in_json_rpc, "it answered with status 400"),
    "accepted": (replies("202 Accepted"), "it does not answer as"),
}


@pytest.mark.parametrize(("answer", "why"), ANSWERS.values(), ids=ANSWERS.keys())
def test_servers_that_speak_no_mcp(api: httpx.Client, settings: Settings, answer: Answer, why: str) -> None:
    if "in time" in why:
        settings.MCP_LIST_SECONDS = 1.0
    with host(PUBLIC, answer) as server:
        error = refusal(api, f"http://{PUBLIC}:{server.port}/mcp")
    assert error["message"].startswith("mcp server 'lab' unusable: ")
    assert why in error["message"]
    assert error["param"] == "tools[0]"


def test_no_server_at_all(api: httpx.Client) -> None:
    with socket.create_server((PUBLIC, 0)) as taken:
        port = taken.getsockname()[1]
    assert "could not be reached" in refusal(api, f"http://{PUBLIC}:{port}/mcp")["message"]


def pages() -> Says:
    """A list of tools that goes on for ever."""
    return lambda params: {"tools": [], "nextCursor": f"{params.get('cursor', '')}x"}


def large_pages() -> Says:
    """A list whose every page is large."""
    page = [tool(f"t{number}", description="x" * 30_000) for number in range(100)]
    return lambda params: {"tools": page, "nextCursor": f"{params.get('cursor', '')}x"}


LISTINGS: dict[str, tuple[Says, str]] = {
    "endless": (pages(), "its list of tools does not end"),
    "very many": ({"tools": [tool(f"t{number}") for number in range(129)]}, "more than 128 tools"),
    "very large": (large_pages(), "too large together"),
    "no list": ({"tools": "many"}, "it does not answer as"),
    "an error": ({"code": -32601, "message": f"{SECRET} is unknown"}, "it does not answer as"),
    "50 MB": ({"tools": [tool("look", description="x" * 50_000_000)]}, "larger than 4 MB"),
}


@pytest.mark.parametrize(("listing", "why"), LISTINGS.values(), ids=LISTINGS.keys())
def test_servers_that_cannot_list_their_tools(api: httpx.Client, listing: Says, why: str) -> None:
    with scripted_server({"tools/list": listing}) as server:
        assert why in refusal(api, server.url)["message"]


def test_several_servers_are_asked_side_by_side(api: httpx.Client) -> None:
    """Each waits until all have been asked."""
    together = threading.Barrier(3)

    def listed(params: Json) -> Json:
        together.wait(10)
        return {"tools": [tool("look")]}

    with (
        scripted_server({"tools/list": listed}) as one,
        scripted_server({"tools/list": listed}) as two,
        scripted_server({"tools/list": listed}) as three,
    ):
        tools = [entry(server.url, f"s{number}") for number, server in enumerate((one, two, three))]
        assert create(api, input="Hello", tools=tools)["status"] == "completed"


def test_the_first_one_at_fault_is_named(api: httpx.Client) -> None:
    with scripted_server({}) as good, host(PUBLIC, replies("500 Oh")) as bad:
        tools = [entry(good.url, "good"), entry(f"http://{PUBLIC}:{bad.port}/", "bad")]
        answer = api.post("/v1/responses", json={"input": "Hello", "tools": tools})
    assert_error(answer, 400, "invalid_value", "tools[1]")
    assert answer.json()["error"]["message"] == "mcp server 'bad' unusable: it answered with status 500"


def test_nothing_is_left_of_a_refused_request(api: httpx.Client) -> None:
    body = {"input": "Hello", "session_id": "s", "tools": [entry(f"https://{PRIVATE}/")], "stream": True}
    assert_error(api.post("/v1/responses", json=body), 400, "invalid_value", "tools[0].server_url")
    assert api.get("/v1/sessions/s").status_code == 404


def test_slow_servers_hold_nobody_else_up(api: httpx.Client) -> None:
    """Many callers wait for one that does not answer, more than there are threads; another is answered meanwhile."""
    released = threading.Event()
    with host(PUBLIC, lambda connection, asked: cuts(connection, asked) if released.wait(30) else None) as server:
        body = {"input": "Hello", "tools": [entry(f"http://{PUBLIC}:{server.port}/")]}
        waiting = [threading.Thread(target=api.post, args=("/v1/responses",), kwargs={"json": body}) for _ in range(40)]
        for thread in waiting:
            thread.start()
        wait_until(lambda: len(server.asked) == len(waiting))
        assert create(api, input="Hello")["status"] == "completed"
        assert all(thread.is_alive() for thread in waiting)
        released.set()
        for thread in waiting:
            thread.join()
