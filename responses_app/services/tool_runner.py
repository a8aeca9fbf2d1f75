"""Runs the server's tools for a turn: which ones, about whom, on which thread, how long. No tool lives here."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextvars import copy_context
from functools import cache
from typing import Any

from django.conf import settings
from django.db import connections

from responses_app.engine.ports import ToolDefinition, ToolOutcome
from tools_app.contract import ToolContext, ToolRefusal, ToolResult, ToolSpec
from tools_app.runner import run_tool

log = logging.getLogger(__name__)


class ServerTools:
    """The server tools of one turn, about one Subject. An engine ``ToolRunner``."""

    def __init__(self, specs: Mapping[str, ToolSpec], context: ToolContext) -> None:
        self._specs = specs
        self._context = context

    def definitions(self) -> Sequence[ToolDefinition]:
        """The tools this turn may use."""
        return [
            ToolDefinition(spec.name, spec.description, spec.parameters, server=True) for spec in self._specs.values()
        ]

    def run_all(
        self, calls: Sequence[tuple[str, Mapping[str, Any]]], timeout: float
    ) -> Iterator[tuple[int, ToolOutcome]]:
        """Runs the calls side by side; each outcome comes as it lands."""
        running = {
            _threads().submit(copy_context().run, self._run_in_thread, name, arguments): index
            for index, (name, arguments) in enumerate(calls)
        }
        landed: set[Future[ToolOutcome]] = set()
        try:
            for future in as_completed(running, timeout=timeout):
                landed.add(future)
                yield running[future], future.result()
        except TimeoutError:
            for future in running.keys() - landed:
                future.cancel()
                yield running[future], _refused("The tool did not finish in time.")

    def _run_in_thread(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        started = time.monotonic()
        try:
            return self._run(self._specs[name], arguments)
        finally:
            connections.close_all()
            milliseconds = round((time.monotonic() - started) * 1000)
            log.info("tool %s took %d ms", name, milliseconds, extra={"duration_ms": milliseconds})

    def _run(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> ToolOutcome:
        try:
            return _outcome(spec, run_tool(spec, self._context, arguments))
        except ToolRefusal as refusal:
            return _refused(str(refusal))
        except Exception:
            log.exception("tool %s failed", spec.name)
            return _refused("The tool failed. Do not call it again with the same arguments.")


def _outcome(spec: ToolSpec, result: ToolResult) -> ToolOutcome:
    return ToolOutcome(result.data, empty=result.empty, records=result.records, evidence=spec.evidence)


def _refused(message: str) -> ToolOutcome:
    return ToolOutcome({"error": message}, failed=True)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(settings.TURN_THREADS, thread_name_prefix="tool")
