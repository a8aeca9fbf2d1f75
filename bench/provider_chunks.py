"""What one chunk of a streamed answer costs: this server's reader of SSE bytes against the client's chunk objects.

Run: python bench/provider_chunks.py. Prints microseconds of CPU for each chunk, the best of several rounds.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from sys import path
from time import process_time

import httpx2
import openai

path.insert(0, str(Path(__file__).resolve().parent.parent))

from responses_app.llm.chunks import Answer, SseDecoder

CHUNKS = 5_000
ROUNDS = 5


def frames() -> list[bytes]:
    """The frames of an answer of ``CHUNKS`` text pieces, as a provider writes them."""
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "system_fingerprint": "f",
    }
    deltas = [{"delta": {"content": f" word{n}"}, "finish_reason": None} for n in range(CHUNKS)]
    choices = [*deltas, {"delta": {}, "finish_reason": "stop"}]
    chunks = [head | {"choices": [{"index": 0, "logprobs": None, **choice}]} for choice in choices]
    return [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks] + [b"data: [DONE]\n\n"]


FRAMES = frames()


class Body(httpx2.SyncByteStream):
    """One read for every frame, as they come from a model that writes token by token."""

    def __iter__(self) -> Iterator[bytes]:
        return iter(FRAMES)


def respond(_: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())


CLIENT = openai.OpenAI(
    base_url="http://provider.invalid/v1",
    api_key="none",
    http_client=httpx2.Client(transport=httpx2.MockTransport(respond)),
)
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}


def chunk_objects() -> int:
    """Characters of text read through the client's chunk objects."""
    chunks = CLIENT.chat.completions.create(**REQUEST)
    return sum(len(chunk.choices[0].delta.content or "") for chunk in chunks)


def raw_bytes() -> int:
    """Characters of text read the way the provider back end does."""
    decoder, answer = SseDecoder(), Answer()
    with CLIENT.chat.completions.with_streaming_response.create(**REQUEST) as response:
        batches = (answer.read(decoder.feed(data)) for data in response.iter_bytes())
        return sum(len(event.text) for batch in batches for event in batch)


def microseconds_a_chunk(read: Callable[[], int]) -> float:
    """The best of ``ROUNDS``."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = process_time()
        read()
        best = min(best, process_time() - start)
    return best / CHUNKS * 1e6


if __name__ == "__main__":
    assert chunk_objects() == raw_bytes()
    objects, raw = microseconds_a_chunk(chunk_objects), microseconds_a_chunk(raw_bytes)
    print(f"chunk objects: {objects:.1f} µs a chunk")
    print(f"raw SSE bytes: {raw:.1f} µs a chunk ({objects / raw:.1f} times less)")
