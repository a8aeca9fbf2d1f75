"""The provider's connections: kept and used again, replaced when they went stale, bounded in what they bring."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from responses_app.engine.ports import Stopped
from responses_app.llm import chunks, connections, faults, reply
from responses_app.llm.connections import Lookups
from responses_app.llm.faults import ProviderError
from responses_app.llm.patience import Patience
from tests.responses_app.llm.asking import Asking, answer, backend, call, said
from tests.support.raw_provider import (
    ANSWER,
    DONE,
    FINISH,
    HEAD,
    LAST_CHUNK,
    PATIENCE_SECONDS,
    Peer,
    chunk,
    delta,
    make_certificate,
    raw_provider,
)

CHUNKS = ANSWER.removeprefix(HEAD)


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, not really waited for."""
    pauses: list[float] = []
    monkeypatch.setattr(Patience, "sleep", lambda _, seconds: pauses.append(seconds))
    return pauses


def serve_well(peer: Peer) -> None:
    while True:
        peer.request()
        peer.send(ANSWER)


class TestReuse:
    def test_answers_in_a_row_take_one_connection(self) -> None:
        with raw_provider(serve_well) as provider:
            shared = backend(provider.url)
            assert [answer(shared) for _ in range(5)] == ["Fine."] * 5
            assert (provider.connections, len(provider.heads)) == (1, 5)

    def test_as_many_connections_as_answers_at_once_then_no_more(self) -> None:
        together = threading.Barrier(8)

        def serve(peer: Peer) -> None:
            while True:
                peer.request()
                together.wait(PATIENCE_SECONDS)
                peer.send(ANSWER)

        with raw_provider(serve) as provider:
            shared = backend(provider.url)
            for _ in range(3):
                asking = [Asking(shared, call()) for _ in range(8)]
                assert [one.outcome() for one in asking] == ["Fine."] * 8
            assert provider.connections == 8

    def test_the_end_of_the_body_may_come_after_the_last_word(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reply, "REST_SECONDS", PATIENCE_SECONDS)

        def serve(peer: Peer) -> None:
            while True:
                peer.request()
                peer.send(ANSWER.removesuffix(LAST_CHUNK))
                assert told.wait(PATIENCE_SECONDS)
                peer.send(LAST_CHUNK)

        told = threading.Event()
        with raw_provider(serve) as provider:
            shared = backend(provider.url)
            for _ in range(3):
                told.clear()
                for batch in shared.stream(call()):
                    if batch[-1] == Stopped("stop"):
                        told.set()
            assert provider.connections == 1

    def test_a_body_that_stays_open_holds_nobody_up(self) -> None:
        def serve(peer: Peer) -> None:
            peer.request()
            peer.send(ANSWER.removesuffix(LAST_CHUNK))
            peer.is_left()

        with raw_provider(serve) as provider:
            shared = backend(provider.url)
            assert [answer(shared) for _ in range(2)] == ["Fine."] * 2
            assert provider.left.acquire(timeout=PATIENCE_SECONDS)
            assert provider.connections == 2

    def test_a_body_that_goes_on_after_the_last_word_is_not_read_for_ever(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reply, "REST_SECONDS", PATIENCE_SECONDS)

        def serve(peer: Peer) -> None:
            peer.request()
            peer.send(ANSWER.removesuffix(LAST_CHUNK))
            while True:
                peer.send(chunk(b":" * 10_000))

        with raw_provider(serve) as provider:
            assert Asking(backend(provider.url), call()).outcome() == "Fine."

    def test_an_answer_that_nobody_reads_on_ends_its_connection(self) -> None:
        def serve(peer: Peer) -> None:
            peer.request()
            peer.send(HEAD + chunk(delta("a")))
            peer.is_left()

        with raw_provider(serve) as provider:
            batches = backend(provider.url).stream(call())
            next(batches)
            batches.close()
            assert provider.left.acquire(timeout=PATIENCE_SECONDS)

    @pytest.mark.parametrize(
        ("ending", "expected"),
        [
            (b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS, 2),
            (b"HTTP/1.0 200 OK\r\n\r\n" + delta("Fine.") + FINISH + DONE, 2),
            (ANSWER + b"HTTP/1.1 200 OK\r\n\r\n", 2),
            (b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + ANSWER, 2),
            (b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(delta("Fine.") + DONE) + delta("Fine.") + DONE, 1),
        ],
        ids=["said to close", "HTTP/1.0", "more than asked for", "an interim answer", "a known length"],
    )
    def test_only_a_connection_with_nothing_left_on_it(self, ending: bytes, expected: int) -> None:
        def serve(peer: Peer) -> None:
            while True:
                peer.request()
                peer.send(ending)
                if expected > 1:
                    return

        with raw_provider(serve) as provider:
            shared = backend(provider.url)
            assert [answer(shared) for _ in range(2)] == ["Fine."] * 2
            assert provider.connections == expected

    def test_a_refusal_leaves_the_connection_usable(self) -> None:
        def serve(peer: Peer) -> None:
            peer.request()
            peer.send(b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy")
            serve_well(peer)

        with raw_provider(serve) as provider:
            assert answer(backend(provider.url)) == "Fine."
            assert (provider.connections, len(provider.heads)) == (1, 2)

    def test_one_that_idled_too_long_is_closed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def serve(peer: Peer) -> None:
            peer.request()
            peer.send(ANSWER)
            peer.is_left()

        with raw_provider(serve) as provider:
            shared = backend(provider.url)
            answer(shared)
            monkeypatch.setattr(connections, "IDLE_SECONDS", -1.0)
            answer(shared)
            assert provider.left.acquire(timeout=PATIENCE_SECONDS)
            assert provider.connections == 2

    def test_a_forked_process_opens_its_own(self) -> None:
        script = """
import os, sys
from tests.responses_app.llm.asking import answer, backend
shared = backend(sys.argv[1])
assert answer(shared) == "Fine."
child = os.fork()
if not child:
    os._exit(answer(shared) != "Fine.")
assert os.waitpid(child, 0)[1] == 0
assert answer(shared) == "Fine."
"""
        with raw_provider(serve_well) as provider:
            subprocess.run([sys.executable, "-c", script, provider.url], check=True, timeout=60)
            assert (provider.connections, len(provider.heads)) == (2, 3)


class TestStale:
    def test_one_that_the_provider_closed_is_replaced(self, waits: list[float]) -> None:
        closed = threading.Semaphore(0)

        def serve(peer: Peer) -> None:
            peer.request()
            peer.send(ANSWER)
            peer.socket.close()
            closed.release()

        with raw_provider(serve) as provider:
            shared = backend(provider.url)
            answer(shared)
            assert closed.acquire(timeout=PATIENCE_SECONDS)
            assert answer(shared) == "Fine."
            assert len(provider.heads) == 2
        assert waits == []

    def test_one_that_is_closed_just_when_it_is_used_is_replaced_once(self, waits: list[float]) -> None:
        def serve(peer: Peer) -> None:
            peer.request()
            peer.send(ANSWER)
            peer.request()

        with raw_provider(serve) as provider:
            shared = backend(provider.url)
            assert [answer(shared) for _ in range(3)] == ["Fine."] * 3
            assert provider.connections == 3
            assert len(provider.heads) == 5
        assert waits == []

    def test_a_fresh_one_that_dies_is_a_failure(self, waits: list[float]) -> None:
        with raw_provider(lambda peer: peer.request() and None) as provider:
            with pytest.raises(ProviderError, match="could not be reached"):
                answer(backend(provider.url))
            assert len(provider.heads) == 3
        assert len(waits) == 2

    def test_an_answer_that_began_is_never_asked_for_again(self) -> None:
        def serve(peer: Peer) -> None:
            peer.request()
            peer.send(ANSWER)
            peer.request()
            peer.send(HEAD)

        with raw_provider(serve) as provider:
            shared = backend(provider.url)
            answer(shared)
            with pytest.raises(ProviderError, match="broke off"):
                answer(shared)
            assert len(provider.heads) == 2


class TestBounds:
    @pytest.mark.parametrize(
        ("head", "again"),
        [
            (HEAD, chunk(b"x" * 100_000)),
            (HEAD, chunk(b"data: x\n" * 10_000)),
            (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x" * 100_000),
            (b"HTTP/1.1 200 OK\r\n", b"X-Many: x\r\n" * 1000),
        ],
        ids=["a line", "a frame", "a header", "headers"],
    )
    def test_what_has_no_end_is_not_read_for_ever(
        self, monkeypatch: pytest.MonkeyPatch, head: bytes, again: bytes
    ) -> None:
        monkeypatch.setattr(chunks, "MAX_FRAME_BYTES", 1_000_000)

        def serve(peer: Peer) -> None:
            peer.request()
            peer.send(head)
            while True:
                peer.send(again)

        with raw_provider(serve) as provider:
            error = Asking(backend(provider.url), call()).outcome()
            assert isinstance(error, ProviderError)
            assert error.message == faults.UNREADABLE
            assert len(provider.heads) == 1

    def test_an_answer_is_bounded_as_a_whole(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reply, "MAX_ANSWER_BYTES", 1_000_000)

        def serve(peer: Peer) -> None:
            peer.request()
            peer.send(HEAD)
            while True:
                peer.send(chunk(delta("and so on")))

        with raw_provider(serve) as provider:
            assert Asking(backend(provider.url), call()).outcome().message == faults.UNREADABLE

    @pytest.mark.parametrize(
        ("sent", "words"),
        [
            (b"220 mail.example ESMTP\r\n", "could not be read"),
            (HEAD + b"no length\r\n", "could not be read"),
            (b"HTTP/1.1 307 Elsewhere\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", "refused the request"),
            (b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"choices": []}', "broke off"),
            (b"HTTP/1.1 204 No Content\r\n\r\n", "broke off"),
            (b"HTTP/1.1 101 Upgraded\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "could not be read"),
        ],
        ids=["another protocol", "no chunks", "a redirect", "no stream", "nothing", "an upgrade"],
    )
    def test_what_is_no_answer_is_asked_for_once(self, sent: bytes, words: str) -> None:
        def serve(peer: Peer) -> None:
            peer.request()
            peer.send(sent)
            peer.is_left()

        with raw_provider(serve) as provider:
            with pytest.raises(ProviderError, match=words):
                answer(backend(provider.url))
            assert len(provider.heads) == 1

    def test_what_came_before_a_mistake_is_told(self) -> None:
        def serve(peer: Peer) -> None:
            peer.request()
            peer.send(HEAD + chunk(delta("So far")) + b"no length\r\n")
            peer.is_left()

        with raw_provider(serve) as provider:
            batches = backend(provider.url).stream(call())
            assert len(next(batches)) == 1
            with pytest.raises(ProviderError, match="could not be read"):
                next(batches)

    def test_a_long_request_refused_half_way_says_why(self) -> None:
        def serve(peer: Peer) -> None:
            peer.socket.recv(1000)
            peer.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
            peer.is_left()

        with raw_provider(serve) as provider, pytest.raises(ProviderError) as caught:
            answer(backend(provider.url), call("x" * 5_000_000))
        assert caught.value.provider_status == 413


def test_many_chunks_that_came_together_are_one_batch() -> None:
    def serve(peer: Peer) -> None:
        peer.request()
        peer.send(HEAD + b"".join(chunk(delta(str(n))) for n in range(50)) + chunk(FINISH + DONE) + LAST_CHUNK)
        peer.is_left()

    with raw_provider(serve) as provider:
        (batch,) = backend(provider.url).stream(call())
    assert len(batch) == 51


def test_a_stream_takes_no_thread_but_its_own() -> None:
    answers: list[str] = []
    begun = threading.Semaphore(0)
    with one_thread_provider() as (url, going_on):
        shared = backend(url)

        def run() -> None:
            batches = shared.stream(call())
            first = next(batches)
            begun.release()
            answers.append(said([event for batch in [first, *batches] for event in batch]))

        threads = [threading.Thread(target=run, daemon=True) for _ in range(200)]
        before = threading.active_count()
        for thread in threads:
            thread.start()
        assert all(begun.acquire(timeout=PATIENCE_SECONDS) for _ in threads)
        assert threading.active_count() <= before + len(threads)
        going_on()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
    assert answers == ["Fine."] * len(threads)


@contextmanager
def one_thread_provider() -> Iterator[tuple[str, Callable[[], object]]]:
    """Serves any number of answers on one thread; they stop half-way until the function that it gives is called."""
    loop, gate = asyncio.new_event_loop(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.partition(b"Content-Length: ")[2]))
        writer.write(HEAD + chunk(delta("Fi")))
        await gate.wait()
        writer.write(chunk(delta("ne.") + FINISH + DONE) + LAST_CHUNK)

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    starting = asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
    server = asyncio.run_coroutine_threadsafe(starting, loop).result(PATIENCE_SECONDS)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", lambda: loop.call_soon_threadsafe(gate.set)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


class TestLookups:
    def test_many_who_ask_at_once_share_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked, gate = threading.Semaphore(0), threading.Event()
        count: list[str] = []

        def slow(host: str, *_: object, **__: object) -> list[object]:
            count.append(host)
            asked.release()
            gate.wait(PATIENCE_SECONDS)
            return []

        monkeypatch.setattr(connections.socket, "getaddrinfo", slow)
        lookups, found = Lookups(), []

        def run() -> None:
            found.append(lookups.addresses("provider.invalid", 80, Patience(600.0, lambda: False), 600.0))

        threads = [threading.Thread(target=run, daemon=True) for _ in range(20)]
        before = threading.active_count()
        for thread in threads:
            thread.start()
        assert asked.acquire(timeout=PATIENCE_SECONDS)
        assert threading.active_count() <= before + 20 + 1
        gate.set()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
        assert found == [[]] * 20

    def test_a_name_that_does_not_exist(self) -> None:
        with pytest.raises(ProviderError, match="could not be reached"):
            answer(backend("http://provider.invalid/v1"))

    def test_a_name_with_addresses_that_refuse_is_reached_at_the_next(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with raw_provider(serve_well) as provider:
            addresses = [("127.0.0.1", 1), ("127.0.0.1", provider.port)]
            found = [(connections.socket.AF_INET, 1, 6, "", address) for address in addresses]
            monkeypatch.setattr(connections.socket, "getaddrinfo", lambda *_, **__: found)
            assert answer(backend("http://provider.invalid/v1")) == "Fine."


class TestTls:
    @pytest.fixture(autouse=True)
    def fresh_trust(self) -> Iterator[None]:
        connections._tls.cache_clear()
        yield
        connections._tls.cache_clear()

    def test_a_provider_that_proves_who_it_is(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        context, certificate = make_certificate(tmp_path)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

        def serve(peer: Peer) -> None:
            peer.secure(context)
            while True:
                peer.request()
                for number in range(10):
                    peer.send((b"" if number else HEAD) + chunk(delta(str(number))))
                peer.send(chunk(FINISH + DONE) + LAST_CHUNK)

        with raw_provider(serve) as provider:
            shared = backend(provider.secure_url)
            assert [answer(shared) for _ in range(3)] == ["0123456789"] * 3
            assert provider.connections == 1
            assert answer(shared, call("x" * 5_000_000)) == "0123456789"

    @pytest.mark.parametrize("trusted", [True, False])
    def test_one_that_does_not_is_not_told_anything(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
    ) -> None:
        context, certificate = make_certificate(tmp_path, "127.0.0.2" if trusted else "127.0.0.1")
        if trusted:
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

        def serve(peer: Peer) -> None:
            peer.secure(context)
            peer.request()

        with raw_provider(serve) as provider:
            with pytest.raises(ProviderError, match="could not be reached"):
                answer(backend(provider.secure_url))
            assert provider.heads == []

    def test_through_a_proxys_tunnel(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        context, certificate = make_certificate(tmp_path, "127.0.0.9")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

        def serve(peer: Peer) -> None:
            peer.request()
            peer.send(b"HTTP/1.1 200 Connected\r\n\r\n")
            peer.secure(context)
            serve_well(peer)

        with raw_provider(serve) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:se%40cret@127.0.0.1:{proxy.port}")
            shared = backend("https://127.0.0.9/v1")
            assert [answer(shared) for _ in range(2)] == ["Fine."] * 2
            tunnel, first, second = proxy.heads
        assert tunnel.split("\r\n") == [
            "CONNECT 127.0.0.9:443 HTTP/1.1",
            "Host: 127.0.0.9:443",
            "Proxy-Authorization: Basic bWU6c2VAY3JldA==",
        ]
        assert "Proxy-Authorization" not in first + second
        assert first.startswith("POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.9\r\n")


class TestProxies:
    def test_a_plain_request_names_the_whole_address(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with raw_provider(serve_well) as proxy:
            monkeypatch.setenv("HTTP_PROXY", f"127.0.0.1:{proxy.port}")
            monkeypatch.delenv("NO_PROXY", raising=False)
            assert answer(backend("http://provider.invalid/v1?version=2")) == "Fine."
            assert proxy.heads[0].startswith(
                "POST http://provider.invalid/v1/chat/completions?version=2 HTTP/1.1\r\nHost: provider.invalid\r\n"
            )

    def test_not_for_hosts_that_are_to_be_reached_directly(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        with raw_provider(serve_well) as provider:
            assert answer(backend(provider.url)) == "Fine."

    def test_a_refused_tunnel(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def serve(peer: Peer) -> None:
            peer.request()
            peer.send(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")

        with raw_provider(serve) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
            with pytest.raises(ProviderError, match="could not be reached"):
                answer(backend("https://provider.invalid/v1"))

    @pytest.mark.parametrize("url", ["", "provider.example/v1", "ftp://provider.example/v1", "http:///v1"])
    def test_a_base_url_that_is_none(self, url: str) -> None:
        with pytest.raises(ValueError, match="LLM_BASE_URL"):
            backend(url)

    def test_a_proxy_of_another_kind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:1080")
        with pytest.raises(ValueError, match="proxy"):
            backend("https://provider.invalid/v1")
