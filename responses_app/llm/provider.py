"""The model back end over any OpenAI-compatible chat-completions endpoint. No Django: it is given plain values.

The official client makes the request and names the faults; the body is read as raw SSE bytes, since the client's object
for every chunk costs several times what the chunk itself costs.
"""

import random
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from itertools import count
from time import monotonic, sleep, time
from typing import Any

import httpx2
import openai

from responses_app.engine.ports import ModelCall, ModelEvent
from responses_app.llm import faults
from responses_app.llm.breaking_off import breaks_off
from responses_app.llm.chunks import Answer, SseDecoder
from responses_app.llm.faults import CLIENT_FAULTS, ProviderError, provider_error
from responses_app.llm.messages import to_request

CONNECT_SECONDS = 5.0
MAX_RETRIES = 2
FIRST_RETRY_SECONDS = 0.5
_RETRIED_STATUSES = frozenset({408, 409, 429})


class ChatCompletionsProvider:
    """A ``ModelBackend`` that asks a provider.

    ``models`` maps a tier to the provider's model name; ``timeout`` is how long one read may wait, in seconds.
    """

    def __init__(self, *, base_url: str, api_key: str, models: Mapping[str, str], timeout: float) -> None:
        # The client insists on some key; endpoints without authentication ignore it. Retries are made here: the
        # client's own know nothing of the turn's deadline.
        self._client = openai.OpenAI(base_url=base_url, api_key=api_key or "none", max_retries=0)
        self._models = dict(models)
        self._timeout = timeout

    def stream(self, call: ModelCall) -> Generator[list[ModelEvent], None, None]:
        """One inference, see ``ModelBackend.stream``. Raises ``ProviderError`` for every fault of the provider."""
        deadline = monotonic() + call.timeout
        request = to_request(call, self._models[call.model])
        try:
            with ExitStack() as connection:
                answer = self._send(request, deadline, connection)
                connection.enter_context(breaks_off(answer.http_response, call.stop_requested))
                yield from _batches(_until(deadline, answer.iter_bytes()))
        except CLIENT_FAULTS as error:
            fault = provider_error(error)
        else:
            return
        raise fault

    def _send(self, request: dict[str, Any], deadline: float, connection: ExitStack) -> openai.APIResponse[Any]:
        """A successful answer, its body still to come. Retries faults that may pass, as long as time is left."""
        for retry in count():
            try:
                return connection.enter_context(self._attempt(request, deadline))
            except openai.APIError as error:
                delay = _retry_delay(error, retry)
                if delay is None or monotonic() + delay >= deadline:
                    raise
            sleep(delay)
        raise AssertionError("unreachable")

    def _attempt(self, request: dict[str, Any], deadline: float) -> AbstractContextManager[openai.APIResponse[Any]]:
        completions = self._client.chat.completions.with_streaming_response
        return completions.create(**request, timeout=self._timeouts(deadline))

    def _timeouts(self, deadline: float) -> openai.Timeout:
        left = deadline - monotonic()
        if left <= 0:
            raise ProviderError(faults.TIMED_OUT)
        return openai.Timeout(min(self._timeout, left), connect=min(CONNECT_SECONDS, left))


def _batches(received: Iterable[bytes]) -> Iterator[list[ModelEvent]]:
    decoder, answer = SseDecoder(), Answer()
    last: list[ModelEvent] = []
    try:
        for data in received:
            events = answer.read(decoder.feed(data))
            if answer.done:
                last = events
                break
            if events:
                yield events
    except httpx2.HTTPError:
        # An answer that is already finished is not spoilt by a connection that ends badly.
        if not answer.complete:
            raise
    yield [*last, *answer.read(decoder.end()), *answer.ending()]


def _until(deadline: float, received: Iterable[bytes]) -> Iterator[bytes]:
    for data in received:
        if monotonic() > deadline:
            raise ProviderError(faults.TIMED_OUT)
        yield data


def _retry_delay(error: openai.APIError, retry: int) -> float | None:
    """Seconds to wait before the next attempt, or ``None`` when there must be none."""
    if retry >= MAX_RETRIES or not _may_pass(error):
        return None
    backoff = FIRST_RETRY_SECONDS * 2**retry * random.uniform(0.75, 1.0)  # noqa: S311 -- spreads retries, no secret
    return _retry_after(error) or backoff


def _may_pass(error: openai.APIError) -> bool:
    match error:
        case openai.APIStatusError():
            return error.status_code in _RETRIED_STATUSES or error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
        case openai.APITimeoutError():
            # A model that was asked may be at work, and on the bill; a connection that never stood is tried again.
            return isinstance(error.__cause__, httpx2.ConnectTimeout)
        case openai.APIConnectionError():
            return True
        case _:
            return False


def _retry_after(error: openai.APIError) -> float | None:
    """The seconds of a ``Retry-After`` header: a number or an HTTP date."""
    header = error.response.headers.get("retry-after") if isinstance(error, openai.APIStatusError) else None
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time())
    except ValueError:
        return None
