"""Which server tools a turn has: the domain tools its request leaves on, the agent's own, those of MCP servers. Their
files' rows."""

from collections.abc import Callable, Mapping

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from responses_app.engine.ports import ModelBackend
from responses_app.engine.turn import Turn
from responses_app.harness.evaluation import Evaluation
from responses_app.harness.file_space import FileSpace
from responses_app.harness.file_tools import Files, file_tools
from responses_app.harness.record_files import RecordFiles
from responses_app.harness.sub_turns import SubTurns
from responses_app.harness.todos import WRITE_TODOS
from responses_app.harness.tool import HarnessTool, ServerTool
from responses_app.mcp.tool import McpTool
from responses_app.models import HarnessFile
from responses_app.protocol.request import ResponseRequest
from responses_app.selectors import conversation_files
from responses_app.services.tool_runner import ServerTools
from tools_app.contract import ToolContext, ToolSpec
from tools_app.registry import HARNESS_TOOL_NAMES, enabled_tools


class TurnTools:
    """The server tools of one turn, on the files of its conversation."""

    def __init__(
        self,
        request: ResponseRequest,
        context: ToolContext,
        files: FileSpace,
        mcp_tools: Mapping[str, McpTool],
        stop_requested: Callable[[], bool],
    ) -> None:
        self._request = request
        self._context = context
        self._files = Files(files, RecordFiles(context))
        self._mcp_tools = mcp_tools
        self._stop_requested = stop_requested

    def runner(self, turn: Turn, model: ModelBackend) -> ServerTools:
        """What runs them in ``turn``, and the sub-turns of it on ``model``."""
        domain = _domain_tools(self._request)
        own = self._own_tools(turn.response["id"], domain)
        tools: dict[str, ServerTool | McpTool] = {**domain, **own, **self._mcp_tools}
        if "task" in _harness_names(self._request):
            inner = self._runner({name: tool for name, tool in tools.items() if name != WRITE_TODOS.name})
            tools["task"] = SubTurns(turn, model, inner, self._stop_requested).tool()
        return self._runner(tools)

    def _own_tools(self, response_id: str, domain: Mapping[str, ToolSpec]) -> dict[str, HarnessTool]:
        evaluation = Evaluation(response_id, domain, self._context, self._files)
        tools = [WRITE_TODOS, *file_tools(self._files), evaluation.tool()]
        names = _harness_names(self._request)
        return {tool.name: tool for tool in tools if tool.name in names}

    def _runner(self, tools: Mapping[str, ServerTool | McpTool]) -> ServerTools:
        return ServerTools(tools, self._context, self._stop_requested)


def keep_files(response_id: str, files: FileSpace) -> None:
    """Keeps what the turn wrote with its response, whose row is there. Part of the caller's transaction."""
    HarnessFile.objects.bulk_create(
        HarnessFile(response_id=response_id, path=path, content=content) for path, content in files.close().items()
    )


def files_before(request: ResponseRequest) -> dict[str, str]:
    """The files of the conversation that the request continues."""
    return conversation_files(request.previous_response_id) if request.previous_response_id else {}


def server_tools_off(request: ResponseRequest) -> bool:
    """``tool_choice: "none"`` turns server tools off too, unless the deployment keeps to the older edition
    (``TOOL_CHOICE_NONE=client``)."""
    return request.tool_choice == "none" and settings.TOOL_CHOICE_NONE != "client"


def _domain_tools(request: ResponseRequest) -> dict[str, ToolSpec]:
    """The deployment's domain tools, trimmed by ``builtin_tools``."""
    if server_tools_off(request):
        return {}
    enabled = {spec.name: spec for spec in enabled_tools()}
    match request.builtin_tools:
        case "auto":
            return enabled
        case "none":
            return {}
        case names:
            return {name: spec for name, spec in enabled.items() if name in names}


def _harness_names(request: ResponseRequest) -> frozenset[str]:
    """The deployment's harness tools (the setting ``HARNESS_TOOLS``), which ``builtin_tools`` leaves alone.

    The built-in analyst has no use for them. Raises ImproperlyConfigured for a name that is no harness tool.
    """
    chosen = frozenset(settings.HARNESS_TOOLS)
    if unknown := chosen - HARNESS_TOOL_NAMES:
        raise ImproperlyConfigured(f"HARNESS_TOOLS names unknown tools: {', '.join(sorted(unknown))}")
    return frozenset() if server_tools_off(request) or not settings.LLM_BASE_URL else chosen
