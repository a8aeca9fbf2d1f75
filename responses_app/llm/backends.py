"""Which model answers: the provider that the settings name, or the built-in analyst when they name none."""

import logging
from functools import cache

from django.conf import settings

from responses_app.engine.ports import ModelBackend
from responses_app.engine.ways import KnownWays
from responses_app.llm.analyst import Analyst
from responses_app.llm.provider import ChatCompletionsProvider

logger = logging.getLogger(__name__)


def model_backend() -> ModelBackend:
    """The model back end of the present settings; one for each process, shared by its threads."""
    return _backend(
        settings.LLM_BASE_URL,
        settings.LLM_API_KEY,
        settings.LLM_MODEL_FLASH,
        settings.LLM_MODEL_EXPERT,
        settings.LLM_TIMEOUT_SECONDS,
    )


def known_ways() -> KnownWays:
    """What is known of the ways in which the models of the present settings are to be asked."""
    return _known_ways(settings.LLM_BASE_URL, settings.LLM_MODEL_FLASH, settings.LLM_MODEL_EXPERT)


@cache
def _known_ways(*_: str) -> KnownWays:
    return KnownWays()


@cache
def _backend(base_url: str, api_key: str, flash: str, expert: str, timeout: float) -> ModelBackend:
    if not base_url:
        logger.warning("LLM_BASE_URL is empty: the built-in analyst answers. It is no language model.")
        return Analyst()
    logger.info("the provider at LLM_BASE_URL answers with its models %s and %s", flash, expert)
    models = {"mirobody-flash": flash, "mirobody-expert": expert}
    return ChatCompletionsProvider(base_url=base_url, api_key=api_key, models=models, timeout=timeout)
