"""A stop and the deadline end an inference in whatever phase it is, and leave no connection behind."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import count

import pytest

from responses_app.llm import client, faults, patience
from responses_app.llm.faults import InferenceStopped, ProviderError
from tests.responses_app.llm.asking import Asking, backend, call
from tests.support.raw_provider import HEAD, PATIENCE_SECONDS, Peer, chunk, delta, raw_provider, unanswered_port

MORE_THAN_SOCKETS_HOLD = "x" * 32_000_000


@dataclass(frozen=True)
class Stuck:
    """An inference that will get no further. ``reached`` is set once it is in its phase, ``left`` when it let go."""

    url: str
    reached: threading.Event
    left: Callable[[], bool] = lambda: True
    text: str = "Hello"


@pytest.fixture(autouse=True)
def nothing_else_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CONNECT_SECONDS", 600.0)
    monkeypatch.setattr(patience, "LOOK_SECONDS", 0.02)


@contextmanager
def name_lookup(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stuck]:
    reached, over = threading.Event(), threading.Event()

    def never(*_: object, **__: object) -> list[object]:
        reached.set()
        over.wait(PATIENCE_SECONDS)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", never)
    yield Stuck("http://provider.invalid/v1", reached)
    over.set()


@contextmanager
def connecting(_: pytest.MonkeyPatch) -> Iterator[Stuck]:
    reached = threading.Event()
    reached.set()
    with unanswered_port() as port:
        yield Stuck(f"http://127.0.0.1:{port}/v1", reached)


@contextmanager
def served(serve: Callable[[Peer, threading.Event], None], secure: bool = False) -> Iterator[Stuck]:
    reached = threading.Event()
    with raw_provider(lambda peer: serve(peer, reached)) as provider:
        url = provider.secure_url if secure else provider.url
        yield Stuck(url, reached, lambda: provider.left.acquire(timeout=PATIENCE_SECONDS))


@contextmanager
def sending(_: pytest.MonkeyPatch) -> Iterator[Stuck]:
    reached, ended = threading.Event(), threading.Event()

    def read_nothing(peer: Peer) -> None:
        peer.socket.recv(1, socket.MSG_PEEK)
        reached.set()
        # Reading is what would let the inference go on, and what shows that it has let go.
        ended.wait(PATIENCE_SECONDS)
        peer.is_left()

    with raw_provider(read_nothing) as provider:

        def left() -> bool:
            ended.set()
            return provider.left.acquire(timeout=PATIENCE_SECONDS)

        yield Stuck(provider.url, reached, left, MORE_THAN_SOCKETS_HOLD)


def say_nothing(peer: Peer, reached: threading.Event) -> None:
    reached.set()
    peer.is_left()


def no_head(peer: Peer, reached: threading.Event) -> None:
    peer.request()
    say_nothing(peer, reached)


def drips(first: bytes, drop: Callable[[int], bytes]) -> Callable[[Peer, threading.Event], None]:
    """Sends ``first``, then a little again and again."""

    def serve(peer: Peer, reached: threading.Event) -> None:
        peer.request()
        peer.send(first)
        peer.socket.settimeout(0.01)
        for number in count():
            reached.set()
            peer.send(drop(number))
            try:
                gone = not peer.socket.recv(1)
            except TimeoutError:
                continue
            except ConnectionError:
                gone = True
            if gone:
                peer.provider.left.release()
                return

    return serve


def silent_body(peer: Peer, reached: threading.Event) -> None:
    peer.request()
    peer.send(HEAD + chunk(delta("So far")))
    say_nothing(peer, reached)


def no_tunnel(monkeypatch: pytest.MonkeyPatch) -> AbstractContextManager[Stuck]:
    @contextmanager
    def stuck() -> Iterator[Stuck]:
        with served(no_head) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy.url)
            yield Stuck("https://provider.invalid/v1", proxy.reached, proxy.left)

    return stuck()


PHASES: dict[str, Callable[[pytest.MonkeyPatch], AbstractContextManager[Stuck]]] = {
    "looking the name up": name_lookup,
    "connecting": connecting,
    "the proxy's tunnel": no_tunnel,
    "the TLS handshake": lambda _: served(say_nothing, secure=True),
    "sending": sending,
    "waiting for the head": lambda _: served(no_head),
    "a head that drips": lambda _: served(drips(b"HTTP/1.1 200 OK\r\nX-Slow: ", lambda _: b"x")),
    "a silent body": lambda _: served(silent_body),
    "a body that drips": lambda _: served(drips(HEAD, lambda _: chunk(b":"))),
    "a body of comments": lambda _: served(drips(HEAD, lambda _: chunk(b": wait\n\n"))),
    "a body that answers for ever": lambda _: served(drips(HEAD, lambda number: chunk(delta(str(number))))),
}


@pytest.fixture(params=PHASES.values(), ids=PHASES.keys())
def stuck(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stuck]:
    with ExitStack() as stack:
        yield stack.enter_context(request.param(monkeypatch))


def test_a_stop_ends_it(stuck: Stuck) -> None:
    stop = threading.Event()
    asking = Asking(backend(stuck.url), call(stuck.text, stop=stop))
    assert stuck.reached.wait(PATIENCE_SECONDS)
    stop.set()
    assert isinstance(asking.outcome(), InferenceStopped)
    assert stuck.left()


def test_the_deadline_ends_it(stuck: Stuck) -> None:
    error = Asking(backend(stuck.url), call(stuck.text, timeout=0.3)).outcome()
    assert isinstance(error, ProviderError)
    assert error.message == faults.TIMED_OUT
    assert not stuck.reached.is_set() or stuck.left()


def test_a_stop_ends_the_pause_before_a_retry() -> None:
    stop, refused = threading.Event(), threading.Event()

    def refuse(peer: Peer) -> None:
        peer.request()
        peer.send(b"HTTP/1.1 503 Busy\r\nRetry-After: 500\r\nContent-Length: 0\r\n\r\n")
        refused.set()
        peer.is_left()

    with raw_provider(refuse) as provider:
        asking = Asking(backend(provider.url), call(stop=stop))
        assert refused.wait(PATIENCE_SECONDS)
        stop.set()
        assert isinstance(asking.outcome(), InferenceStopped)
        assert len(provider.heads) == 1


def test_a_fault_of_asking_whether_to_stop_ends_nothing() -> None:
    asked = threading.Event()

    def cannot_tell() -> bool:
        asked.set()
        raise faults.ProviderError("the store of the stop is away")

    def serve(peer: Peer) -> None:
        peer.request()
        peer.send(HEAD)
        assert asked.wait(PATIENCE_SECONDS)
        peer.send(chunk(delta("Fine.")) + chunk(b"data: [DONE]\n\n"))
        peer.is_left()

    with raw_provider(serve) as provider:
        assert Asking(backend(provider.url), replace(call(), stop_requested=cannot_tell)).outcome() == "Fine."
