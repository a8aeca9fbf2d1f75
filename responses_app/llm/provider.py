"""The model back end over any OpenAI-compatible chat-completions endpoint. No Django: it is given plain values.

The body is read as raw SSE bytes: a client's object for every chunk costs many times what the chunk itself costs.
"""

import logging
import random
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from time import monotonic
from typing import Literal

from pydantic_core import to_json

from responses_app.engine.ports import ModelCall, ModelEvent
from responses_app.llm import faults
from responses_app.llm.chunks import Answer, SseDecoder
from responses_app.llm.client import Client
from responses_app.llm.endpoint import endpoint_of
from responses_app.llm.faults import ConnectionFault, InferenceStopped, ProviderError
from responses_app.llm.messages import to_request
from responses_app.llm.patience import Patience
from responses_app.llm.reply import Reply

logger = logging.getLogger(__name__)

MAX_RETRIES = 2
FIRST_RETRY_SECONDS = 0.5

Outcome = Literal["completed", "failed", "timed_out", "stopped", "closed"]


@dataclass(slots=True)
class Inference:
    """What there is to measure of one inference. ``model`` is the tier, times are in seconds.

    ``closed``: its reader went away; ``seconds_to_first`` is ``None`` when no event came, ``provider_status`` when the
    provider gave no HTTP status but 200.
    """

    model: str
    outcome: Outcome = "failed"
    provider_status: int | None = None
    seconds_to_first: float | None = None
    seconds: float = 0.0


class ChatCompletionsProvider:
    """A ``ModelBackend`` that asks a provider.

    ``models`` maps a tier to the provider's model name; ``timeout`` is how long one read may wait, in seconds;
    ``observe`` is told of every inference when it is over. Raises ``ValueError`` for a base URL or key that cannot be.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        models: Mapping[str, str],
        timeout: float,
        observe: Callable[[Inference], None] = lambda _: None,
    ) -> None:
        self._client = Client(endpoint_of(base_url), api_key, timeout)
        self._models = dict(models)
        self._observe = observe

    def stream(self, call: ModelCall) -> Generator[list[ModelEvent], None, None]:
        """One inference, see ``ModelBackend.stream``. Raises ``ProviderError`` for every fault of the provider."""
        started, inference = monotonic(), Inference(call.model)
        try:
            with closing(self._batches(call)) as batches:
                for batch in batches:
                    if inference.seconds_to_first is None:
                        inference.seconds_to_first = monotonic() - started
                    yield batch
            inference.outcome = "completed"
        except GeneratorExit:
            inference.outcome = "closed"
            raise
        except ProviderError as error:
            inference.outcome, inference.provider_status = _outcome(error), error.provider_status
            if inference.outcome != "stopped":
                logger.warning("model provider failed: %s, status %s", inference.outcome, error.provider_status)
            raise
        finally:
            inference.seconds = monotonic() - started
            self._observe(inference)

    def _batches(self, call: ModelCall) -> Generator[list[ModelEvent], None, None]:
        patience = Patience(call.timeout, call.stop_requested)
        reply = self._reply(to_json(to_request(call, self._models[call.model])), patience)
        try:
            yield from _events(reply)
        except BaseException:
            self._client.abandon(reply)
            raise
        self._client.finish(reply)

    def _reply(self, request: bytes, patience: Patience) -> Reply:
        """A successful answer, its body still to come. Retries faults that may pass, as long as time is left."""
        for retry in count():
            try:
                return self._attempt(request, patience)
            except ProviderError as error:
                delay = _retry_delay(error, retry)
                if delay is None or delay >= patience.left:
                    raise
            patience.sleep(delay)
        raise AssertionError("unreachable")

    def _attempt(self, request: bytes, patience: Patience) -> Reply:
        reply = self._client.post(request, patience)
        if reply.status in range(200, 300):
            return reply
        self._client.finish(reply)
        raise faults.refusal(reply.status, reply.retry_after)


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


def _outcome(error: ProviderError) -> Outcome:
    if isinstance(error, InferenceStopped):
        return "stopped"
    return "timed_out" if error.message == faults.TIMED_OUT else "failed"
