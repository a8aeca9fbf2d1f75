"""Callers whose connection is lost before they have their answer, and whether the server has noticed."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from responses_app.streaming.backends import request_twins
from responses_app.streaming.twins import InProcessTwins
from tests.support.waiting import wait_until


@contextmanager
def caller(api: httpx.Client, body: Any, path: str = "/v1/responses", **headers: str) -> Iterator[socket.socket]:
    """A request that was sent and is not answered yet. It is reset when left, and the server knows it then."""
    request = api.build_request("POST", path, json=body, headers=headers)
    lost_before = len(lost_requests())
    with socket.create_connection((request.url.host, request.url.port)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        connection.sendall(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + request.content)
        yield connection
    wait_until(lambda: len(lost_requests()) > lost_before)


def lost_requests() -> list[str]:
    """The ids of the responses whose callers were lost and have not come again."""
    twins = request_twins()
    if isinstance(twins, InProcessTwins):
        return [one for entries, _ in twins._twins._values.values() for one in entries.lost]
    client: Any = twins._redis  # type: ignore[attr-defined]
    return [one.decode() for key in client.keys("mirobody:twins:*:lost") for one in client.lrange(key, 0, -1)]


def forget_lost_requests() -> None:
    """As a minute later: other tests leave callers who were lost and do not come again."""
    twins = request_twins()
    if isinstance(twins, InProcessTwins):
        twins._twins._values.clear()
        return
    client: Any = twins._redis  # type: ignore[attr-defined]
    for key in client.keys("mirobody:twins:*"):
        client.delete(key)


def followed_requests() -> list[str]:
    """The ids of the responses that more than one caller waits for."""
    twins = request_twins()
    if isinstance(twins, InProcessTwins):
        attending = [entries.attending for entries, _ in twins._twins._values.values()]
        return [one for counts in attending for one, count in counts.items() if count > 1]
    client: Any = twins._redis  # type: ignore[attr-defined]
    hashes = [client.hgetall(key) for key in client.keys("mirobody:twins:*:attending")]
    return [one.decode() for counts in hashes for one, count in counts.items() if int(count) > 1]
