"""A model back end whose calls are timed for the metrics. Not here: what the metrics are, or any model."""

import time
from collections.abc import Generator
from contextlib import closing

from mirobody_site.tenancy.errors import UpstreamError
from mirobody_site.tenancy.metrics import MODEL_CALL_SECONDS, MODEL_FIRST_OUTPUT_SECONDS
from responses_app.engine.ports import ModelBackend, ModelCall, ModelEvent


class MeasuredBackend:
    """``backend``, measured. An engine ``ModelBackend``."""

    def __init__(self, backend: ModelBackend) -> None:
        self._backend = backend

    def stream(self, call: ModelCall) -> Generator[list[ModelEvent], None, None]:
        """The back end's events as they come."""
        begun = time.monotonic()
        outcome = "failed"
        try:
            with closing(self._backend.stream(call)) as batches:
                yield _first(batches, begun)
                yield from batches
            outcome = "completed"
        except GeneratorExit:
            outcome = "stopped"
            raise
        except UpstreamError:
            outcome = "stopped" if call.stop_requested() else "failed"
            raise
        finally:
            MODEL_CALL_SECONDS.labels(outcome).observe(time.monotonic() - begun)


def _first(batches: Generator[list[ModelEvent], None, None], begun: float) -> list[ModelEvent]:
    first = next(batches, [])
    MODEL_FIRST_OUTPUT_SECONDS.observe(time.monotonic() - begun)
    return first
