"""Which model answers under which settings."""

import logging

import pytest
from pytest_django import Settings

from responses_app.engine.conversation import Message
from responses_app.engine.ports import ModelCall
from responses_app.llm import backends
from responses_app.llm.analyst import Analyst
from responses_app.llm.backends import model_backend
from tests.support.upstream import Upstream


def test_without_a_provider_the_analyst_answers(settings: Settings) -> None:
    settings.LLM_BASE_URL = ""
    assert isinstance(model_backend(), Analyst)
    assert model_backend() is model_backend()


def test_the_log_says_once_that_the_analyst_is_no_language_model(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.LLM_BASE_URL = ""
    backends._backend.cache_clear()
    with caplog.at_level(logging.INFO):
        model_backend()
        model_backend()
    assert caplog.text.count("no language model") == 1


@pytest.mark.parametrize(("tier", "model"), [("mirobody-flash", "small"), ("mirobody-expert", "large")])
def test_a_provider_is_asked_with_the_settings_it_was_given(
    settings: Settings, upstream: Upstream, tier: str, model: str
) -> None:
    settings.LLM_BASE_URL = upstream.url
    settings.LLM_API_KEY = "key-of-the-provider"
    settings.LLM_MODEL_FLASH, settings.LLM_MODEL_EXPERT = "small", "large"
    entries = [Message("user", f"settings of {tier}")]
    call = ModelCall(tier, "", entries, tools=[], tool_choice="auto", timeout=10.0, today="2026-03-01")
    list(model_backend().stream(call))
    (request,) = upstream.requests(f"settings of {tier}")
    assert request.body["model"] == model
    assert request.headers["authorization"] == "Bearer key-of-the-provider"
    assert model_backend() is model_backend()
