"""What asking a model provider costs: this server's client against others, over loopback, answers of 50 deltas.

Run: python bench/provider_client.py. Prints for each client the CPU milliseconds of one call, from the conversation (or
the request's body) to the events, and how many reads brought the answer; once with a provider that writes as fast as it
can and once with one that writes a delta every millisecond. All read the chunks by responses_app/llm/chunks.py.
"""

import json
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from sys import path
from threading import Thread
from time import process_time, sleep

import httpx2
import openai
import urllib3

path.insert(0, str(Path(__file__).resolve().parent.parent))

from responses_app.engine.conversation import Message
from responses_app.engine.ports import ModelCall
from responses_app.llm.chunks import Answer, SseDecoder
from responses_app.llm.provider import ChatCompletionsProvider

DELTAS = 50
CALLS = {0.0: 1000, 0.001: 200}
SYSTEM = "x" * 2000
REQUEST = {
    "model": "m",
    "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Hi"}],
    "stream": True,
    "stream_options": {"include_usage": True},
}
HEADERS = {"Authorization": "Bearer k", "Content-Type": "application/json"}
HEAD = (
    b"HTTP/1.1 200 OK\r\nDate: Mon, 30 Nov 2026 16:49:00 GMT\r\nServer: provider\r\nX-Request-Id: req_1\r\n"
    b"Content-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\nCache-Control: no-cache\r\n\r\n"
)

Ask = Callable[[str], int]
"""One call to a base URL; gives the number of reads, or of batches where those are all that is seen."""


def http_chunks() -> list[bytes]:
    """The answer as a provider writes it, an HTTP chunk for every delta."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas = [{"delta": {"content": f" word{n}"}, "finish_reason": None} for n in range(DELTAS)]
    choices = [*deltas, {"delta": {}, "finish_reason": "stop"}]
    frames = [json.dumps(head | {"choices": [{"index": 0, "logprobs": None, **choice}]}) for choice in choices]
    datas = [b"data: " + frame.encode() + b"\n\n" for frame in [*frames, "[DONE]"]]
    return [b"%x\r\n%s\r\n" % (len(data), data) for data in datas]


def serve(listener: socket.socket, pause: float) -> None:
    """Answers for ever, in a process of its own."""
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Thread(target=serve_connection, args=(connection, pause), daemon=True).start()


def serve_connection(connection: socket.socket, pause: float) -> None:
    chunks = http_chunks()
    with suppress(OSError), connection.makefile("rb") as requests:
        while request := requests.readline():
            length = 0
            while request.strip():
                request = requests.readline()
                if request.lower().startswith(b"content-length:"):
                    length = int(request[15:])
            requests.read(length)
            connection.sendall(HEAD)
            for chunk in chunks:
                connection.sendall(chunk)
                sleep(pause) if pause else None
            connection.sendall(b"0\r\n\r\n")


def read(received: Iterable[bytes]) -> int:
    """Reads an answer to its end."""
    decoder, answer = SseDecoder(), Answer()
    reads = events = 0
    for data in received:
        events += len(answer.read(decoder.feed(data)))
        reads += 1
    assert events == DELTAS
    return reads


def ask_openai() -> Ask:
    clients: dict[str, openai.OpenAI] = {}

    def ask(url: str) -> int:
        if url not in clients:
            clients[url] = openai.OpenAI(base_url=url, api_key="k", max_retries=0)
        with clients[url].chat.completions.with_streaming_response.create(**REQUEST) as response:
            return read(response.iter_bytes())

    return ask


def ask_httpx2() -> Ask:
    client = httpx2.Client()

    def ask(url: str) -> int:
        body = json.dumps(REQUEST).encode()
        with client.stream("POST", f"{url}/chat/completions", content=body, headers=HEADERS) as response:
            return read(response.iter_bytes())

    return ask


def ask_urllib3() -> Ask:
    client = urllib3.PoolManager(retries=False)

    def ask(url: str) -> int:
        body = json.dumps(REQUEST).encode()
        response = client.urlopen("POST", f"{url}/chat/completions", body=body, headers=HEADERS, preload_content=False)
        reads = read(response.stream(65_536))
        response.release_conn()
        return reads

    return ask


def ask_provider() -> Ask:
    providers: dict[str, ChatCompletionsProvider] = {}
    call = ModelCall("flash", SYSTEM, [Message("user", "Hi")], [], "auto", timeout=60.0, today="2026-11-30")

    def ask(url: str) -> int:
        if url not in providers:
            providers[url] = ChatCompletionsProvider(base_url=url, api_key="k", models={"flash": "m"}, timeout=60.0)
        return sum(1 for _ in providers[url].stream(call))

    return ask


CLIENTS = {"openai": ask_openai, "httpx2": ask_httpx2, "urllib3": ask_urllib3, "this server": ask_provider}


def measured(ask: Ask, url: str, calls: int) -> tuple[float, float]:
    """CPU milliseconds and reads of one call."""
    for _ in range(20):
        ask(url)
    start = process_time()
    reads = sum(ask(url) for _ in range(calls))
    return (process_time() - start) / calls * 1e3, reads / calls


def providers() -> Iterator[tuple[float, str]]:
    """For each pause the base URL of a running provider."""
    for pause in CALLS:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            process = get_context("fork").Process(target=serve, args=(listener, pause), daemon=True)
            process.start()
            yield pause, f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
            process.kill()
            process.join()


if __name__ == "__main__":
    for pause, url in providers():
        print(f"a delta every {pause * 1e3:.0f} ms" if pause else "as fast as it can")
        for name, make in CLIENTS.items():
            cpu, reads = measured(make(), url, CALLS[pause])
            print(f"  {name:12} {cpu:.2f} ms CPU, {reads:.0f} reads")
