"""Asking a provider, for the tests of its client."""

import threading
from typing import Any

from responses_app.engine.conversation import Message
from responses_app.engine.ports import ModelCall, ModelEvent, TextDelta
from responses_app.llm.faults import ProviderError
from responses_app.llm.provider import ChatCompletionsProvider
from tests.support.raw_provider import PATIENCE_SECONDS


def backend(url: str) -> ChatCompletionsProvider:
    """A provider at ``url``. A read may wait longer than any test does."""
    return ChatCompletionsProvider(base_url=url, api_key="key-1", models={"mirobody-flash": "small"}, timeout=600.0)


def call(text: str = "Hello", timeout: float = 600.0, stop: threading.Event | None = None) -> ModelCall:
    """A call that stops when ``stop`` is set."""
    stop_requested = stop.is_set if stop else lambda: False
    entries = [Message("user", text)]
    return ModelCall("mirobody-flash", "", entries, [], "auto", timeout, "2026-03-01", stop_requested)


def said(events: list[ModelEvent]) -> str:
    """The text of events."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def answer(provider: ChatCompletionsProvider, asked: ModelCall | None = None) -> str:
    """The text of a whole answer."""
    return said([event for batch in provider.stream(asked or call()) for event in batch])


class Asking:
    """An inference on a thread of its own."""

    def __init__(self, provider: ChatCompletionsProvider, asked: ModelCall) -> None:
        self._outcome: Any = None
        self._thread = threading.Thread(target=self._run, args=(provider, asked), daemon=True)
        self._thread.start()

    def outcome(self) -> Any:
        """What it said, or the exception it ended with. Fails when it does not end."""
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive(), "the inference did not end"
        return self._outcome

    def _run(self, provider: ChatCompletionsProvider, asked: ModelCall) -> None:
        try:
            self._outcome = answer(provider, asked)
        except ProviderError as error:
            self._outcome = error
