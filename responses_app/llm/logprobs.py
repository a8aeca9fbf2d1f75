"""The log probabilities in a chunk, as responses carry them. What is none is left away: no answer depends on it."""

from typing import Any

from responses_app.engine.ports import LogProb

LEAST = -9999.0
"""Stands for what is smaller, minus infinity included, which JSON has no word for."""


def logprobs_of(value: object) -> tuple[LogProb, ...]:
    """Those of a choice's ``logprobs``."""
    content = value.get("content") if isinstance(value, dict) else None
    return tuple(_with_others(each) for each in _objects(content))


def _with_others(value: dict[str, Any]) -> LogProb:
    return _one(value) | {"top_logprobs": [_one(other) for other in _objects(value.get("top_logprobs"))]}


def _one(value: dict[str, Any]) -> LogProb:
    token, logprob, written = value.get("token"), value.get("logprob"), value.get("bytes")
    text = token if isinstance(token, str) else ""
    is_bytes = isinstance(written, list) and all(type(each) is int for each in written)
    return {
        "token": text,
        "logprob": max(float(logprob), LEAST) if isinstance(logprob, int | float) and logprob <= 0 else LEAST,
        "bytes": written if is_bytes else list(text.encode(errors="replace")),
    }


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
