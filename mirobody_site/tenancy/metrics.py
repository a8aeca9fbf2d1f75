"""What is measured, for Prometheus. Every label is a closed set; nothing here ever holds content or names a person.

Who shows the figures is mirobody_site/monitoring.py. Nothing is measured per event of a stream.
"""

from prometheus_client import Counter, Gauge, Histogram

_TURN_BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 300)
_WAIT_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

TURN_SECONDS = Histogram(
    "mirobody_turn_seconds",
    "Turns by outcome (completed, handoff, incomplete, failed, cancelled) and how long they ran.",
    ["outcome"],
    buckets=_TURN_BUCKETS,
)
TURN_QUEUE_SECONDS = Histogram(
    "mirobody_turn_queue_seconds",
    "How long accepted turns waited for a worker.",
    buckets=_WAIT_BUCKETS,
)
TOKENS = Counter("mirobody_tokens", "Tokens billed by the model provider, by direction (input, output).", ["direction"])
MODEL_FIRST_OUTPUT_SECONDS = Histogram(
    "mirobody_model_first_output_seconds",
    "How long the model took to its first output.",
    buckets=_WAIT_BUCKETS,
)
MODEL_CALL_SECONDS = Histogram(
    "mirobody_model_call_seconds",
    "Model calls by outcome (completed, failed, stopped) and how long they took.",
    ["outcome"],
    buckets=_TURN_BUCKETS,
)
HTTP_REQUEST_SECONDS = Histogram(
    "mirobody_http_request_seconds",
    "HTTP requests by method, route template and status, and how long they took, streams to their end.",
    ["method", "route", "status"],
    buckets=(0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300),
)
OPEN_STREAMS = Gauge(
    "mirobody_open_streams", "Event streams that callers are reading now.", multiprocess_mode="livesum"
)


def count_request(method: str, route: str, status: int | None, seconds: float) -> None:
    """An HTTP request has ended. ``status`` is ``None`` when the caller left before there was one."""
    known = method if method in _METHODS else "other"
    HTTP_REQUEST_SECONDS.labels(known, route, str(status or "none")).observe(seconds)


def count_turn(outcome: str, seconds: float, input_tokens: int, output_tokens: int) -> None:
    """A turn has ended."""
    TURN_SECONDS.labels(outcome).observe(seconds)
    TOKENS.labels("input").inc(input_tokens)
    TOKENS.labels("output").inc(output_tokens)
