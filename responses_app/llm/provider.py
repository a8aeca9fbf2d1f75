"""The model back end over any OpenAI-compatible chat-completions endpoint. No Django: it is given plain values.

The body is read as raw SSE bytes: a client's object for every chunk costs many times what the chunk itself costs.
"""

import logging
import random
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from itertools import count
from typing import Any

from pydantic_core import to_json

from responses_app.engine.ports import ModelCall, ModelEvent
from responses_app.llm import faults
from responses_app.llm.chunks import Answer, SseDecoder
from responses_app.llm.client import Client
from responses_app.llm.endpoint import endpoint_of
from responses_app.llm.faults import ConnectionFault, InferenceStopped, ProviderError
from responses_app.llm.messages import to_request
from responses_app.llm.patience import Patience
from responses_app.llm.refusals import MAX_READ_BYTES, read_refusal
from responses_app.llm.reply import Reply

logger = logging.getLogger(__name__)

MAX_RETRIES = 2
FIRST_RETRY_SECONDS = 0.5


class ChatCompletionsProvider:
    """A ``ModelBackend`` that asks a provider.

    ``models`` maps a tier to the provider's model name; ``timeout`` is how long one read may wait, in seconds. Raises
    ``ValueError`` for a base URL or key that cannot be.
    """

    def __init__(self, *, base_url: str, api_key: str, models: Mapping[str, str], timeout: float) -> None:
        self._client = Client(endpoint_of(base_url), api_key, timeout)
        self._models = dict(models)
        self._api_key = api_key
        self._newer_limits: set[str] = set()

    def stream(self, call: ModelCall) -> Generator[list[ModelEvent], None, None]:
        """One inference, see ``ModelBackend.stream``. Raises ``ProviderError`` for every fault of the provider."""
        try:
            yield from self._batches(call)
        except InferenceStopped:
            raise
        except ProviderError as error:
            logger.warning("model provider failed: %s status %s", error.message, error.provider_status)
            raise

    def _batches(self, call: ModelCall) -> Generator[list[ModelEvent], None, None]:
        patience = Patience(call.timeout, call.stop_requested)
        reply = self._reply(call, patience)
        try:
            yield from _events(reply)
        except BaseException:
            self._client.abandon(reply)
            raise
        self._client.finish(reply)

    def _reply(self, call: ModelCall, patience: Patience) -> Reply:
        """A successful answer, its body still to come. Asks again where the token limit has another name."""
        model = self._models[call.model]
        request = to_request(call, model)
        if model not in self._newer_limits:
            try:
                return self._persistent(call, request, patience)
            except ProviderError as error:
                if "max_tokens" not in error.about or "max_tokens" not in request:
                    raise
            self._newer_limits.add(model)
        if "max_tokens" in request:
            request["max_completion_tokens"] = request.pop("max_tokens")
        return self._persistent(call, request, patience)

    def _persistent(self, call: ModelCall, request: dict[str, Any], patience: Patience) -> Reply:
        """A successful answer. Retries faults that may pass, as long as time is left."""
        body = to_json(request)
        for retry in count():
            try:
                return self._attempt(body, patience)
            except ProviderError as error:
                delay = _retry_delay(error, retry)
                if delay is None or delay >= patience.left or _is_told_at_once(error, call):
                    raise
            patience.sleep(delay)
        raise AssertionError("unreachable")

    def _attempt(self, request: bytes, patience: Patience) -> Reply:
        reply = self._client.post(request, patience)
        if reply.status in range(200, 300):
            return reply
        refused_it = reply.status < HTTPStatus.INTERNAL_SERVER_ERROR
        said = read_refusal(_beginning(reply) if refused_it else b"", self._api_key)
        self._client.finish(reply)
        raise faults.refusal(reply.status, said, reply.retry_after)


def _beginning(reply: Reply) -> bytes:
    """The first bytes of an answer's body, or of what came of it."""
    read = b""
    with suppress(ProviderError):
        for piece in reply.body():
            read += piece
            if len(read) > MAX_READ_BYTES:
                break
    return read


def _is_told_at_once(error: ProviderError, call: ModelCall) -> bool:
    return error.provider_status == HTTPStatus.TOO_MANY_REQUESTS and not call.sampling.retry_when_limited


def _events(reply: Reply) -> Iterator[list[ModelEvent]]:
    decoder, answer = SseDecoder(), Answer()
    last: list[ModelEvent] = []
    try:
        for data in reply.body():
            events = answer.read(decoder.feed(data))
            if answer.done:
                last = events
                break
            if events:
                yield events
    except ConnectionFault:
        # An answer that is already finished is not spoilt by a connection that ends badly.
        if not answer.complete:
            raise
    yield [*last, *answer.read(decoder.end()), *answer.ending()]


def _retry_delay(error: ProviderError, retry: int) -> float | None:
    """Seconds to wait before the next attempt, or ``None`` when there must be none."""
    if retry >= MAX_RETRIES or not error.may_pass:
        return None
    backoff = FIRST_RETRY_SECONDS * 2**retry * random.uniform(0.75, 1.0)  # noqa: S311 -- spreads retries, no secret
    return error.retry_after or backoff
