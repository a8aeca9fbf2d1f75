"""Runs the server's tools for a turn: which ones, about whom, on which thread, how long. No tool lives here."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache
from typing import Any

from django.conf import settings
from django.db import connections

from responses_app.engine.ports import ToolDefinition, ToolOutcome
from responses_app.harness.tool import HarnessTool, ServerTool, outcome_of, refused
from responses_app.mcp.tool import McpTool
from tools_app.contract import ToolContext, ToolRefusal
from tools_app.runner import checked_arguments, run_tool

log = logging.getLogger(__name__)


_LOOK_SECONDS = 0.5
"""How often a turn that waits for tools looks whether it was asked to stop."""


class ServerTools:
    """The server tools of one turn, about one Subject. An engine ``ToolRunner``.

    A turn that is asked to stop waits for none of them any more.
    """

    def __init__(
        self,
        tools: Mapping[str, ServerTool | McpTool],
        context: ToolContext,
        stop_requested: Callable[[], bool],
    ) -> None:
        self._tools = tools
        self._context = context
        self._stop_requested = stop_requested

    def definitions(self) -> Sequence[ToolDefinition]:
        """The tools this turn may use."""
        return [
            ToolDefinition(tool.name, tool.description, tool.parameters, server=True) for tool in self._tools.values()
        ]

    def run_all(
        self, calls: Sequence[tuple[str, Mapping[str, Any]]], timeout: float
    ) -> Iterator[tuple[int, ToolOutcome]]:
        """Runs the calls side by side; each outcome comes as it lands."""
        running = {self._start(name, arguments): index for index, (name, arguments) in enumerate(calls)}
        deadline = time.monotonic() + timeout
        waiting = set(running)
        while waiting and time.monotonic() < deadline and not self._stop_requested():
            look = min(_LOOK_SECONDS, deadline - time.monotonic())
            landed, waiting = wait(waiting, timeout=max(0.0, look), return_when=FIRST_COMPLETED)
            for future in landed:
                yield running[future], future.result()
        for future in waiting:
            future.cancel()
            yield running[future], refused("The tool did not finish in time.")

    def _start(self, name: str, arguments: Mapping[str, Any]) -> "Future[ToolOutcome]":
        tool = self._tools[name]
        if isinstance(tool, McpTool):
            return tool.start(arguments)
        return _threads_for(tool).submit(copy_context().run, self._run_in_thread, tool, arguments)

    def _run_in_thread(self, tool: ServerTool, arguments: Mapping[str, Any]) -> ToolOutcome:
        started = time.monotonic()
        try:
            return self._run(tool, arguments)
        finally:
            connections.close_all()
            milliseconds = round((time.monotonic() - started) * 1000)
            log.info("tool %s took %d ms", tool.name, milliseconds, extra={"duration_ms": milliseconds})

    def _run(self, tool: ServerTool, arguments: Mapping[str, Any]) -> ToolOutcome:
        try:
            if isinstance(tool, HarnessTool):
                return tool.run(checked_arguments(tool.parameters, arguments))
            return outcome_of(tool, run_tool(tool, self._context, arguments))
        except ToolRefusal as refusal:
            return refused(str(refusal))
        except Exception:
            log.exception("tool %s failed", tool.name)
            return refused("The tool failed. Do not call it again with the same arguments.")


def _threads_for(tool: ServerTool) -> ThreadPoolExecutor:
    # Tools that wait for tools have threads of their own: else they could take every thread those need.
    return _threads("sub-turn" if isinstance(tool, HarnessTool) and tool.waits_for_tools else "tool")


@cache
def _threads(kind: str) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(settings.TURN_THREADS, thread_name_prefix=kind)
