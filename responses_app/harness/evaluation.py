"""The tool ``eval``: computes with Python over results of domain tools and files that the call asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mirobody_site.tenancy.connections import released
from responses_app.engine.conversation import Call
from responses_app.engine.ports import ToolOutcome, ToolStep
from responses_app.engine.transcript import compact_json
from responses_app.harness.file_tools import Files
from responses_app.harness.paths import PATH_SCHEMA, normalised
from responses_app.harness.sandbox import run_python
from responses_app.harness.tool import HarnessTool, merged, outcome_of, records_of, refused
from responses_app.protocol.ids import new_call_id
from tools_app.contract import Arguments, RecordsUsed, ToolContext, ToolRefusal, ToolSpec
from tools_app.runner import run_tool

MAX_QUERIES = 5
MAX_CODE_LENGTH = 20_000

_DESCRIPTION = (
    "Runs Python without files or network, for computing that no other tool does; gives the last expression's value "
    "and what was printed. `data` holds the results of `queries` in their order, `files` the text of `files` by path."
)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a call may ask for: the domain tools of the turn, about the Subject of ``context``, and the files."""

    response_id: str
    tools: Mapping[str, ToolSpec]
    context: ToolContext
    files: Files

    def tool(self) -> HarnessTool:
        """The tool as the model sees it."""
        return HarnessTool("eval", _DESCRIPTION, self._parameters(), self._run)

    def _parameters(self) -> dict[str, Any]:
        query = {
            "type": "object",
            "properties": {"tool": {"type": "string", "enum": list(self.tools)}, "arguments": {"type": "object"}},
            "required": ["tool"],
            "additionalProperties": False,
        }
        queries = {"queries": {"type": "array", "items": query, "maxItems": MAX_QUERIES}} if self.tools else {}
        properties = {
            "code": {"type": "string", "minLength": 1, "maxLength": MAX_CODE_LENGTH},
            **queries,
            "files": {"type": "array", "items": PATH_SCHEMA, "maxItems": MAX_QUERIES},
        }
        return {"type": "object", "properties": properties, "required": ["code"], "additionalProperties": False}

    def _run(self, arguments: Arguments) -> ToolOutcome:
        steps, texts, quoted = released(lambda: self._asked_for(arguments))
        records = merged((*records_of(steps), *quoted))
        failed = next((step for step in steps if step.outcome.failed), None)
        if failed is not None:
            why = f"The query of {failed.call.name} failed, so the code was not run: {failed.outcome.data['error']}"
            return ToolOutcome({"error": why}, failed=True, records=records, steps=steps)
        ran = run_python(arguments["code"], {"data": [step.outcome.data for step in steps], "files": texts})
        data = {"output": ran.output} if ran.output else {}
        data |= {"value": ran.value} if ran.error is None else {"error": ran.error}
        return ToolOutcome(data, failed=ran.error is not None, records=records, steps=steps)

    def _asked_for(self, arguments: Arguments) -> tuple[tuple[ToolStep, ...], dict[str, str], Sequence[RecordsUsed]]:
        texts: dict[str, str] = {}
        quoted: list[RecordsUsed] = []
        for asked in arguments.get("files", ()):
            path = normalised(asked)
            texts[path], used = self.files.read(path)
            quoted += used
        steps = tuple(self._step(query) for query in arguments.get("queries", ()))
        return steps, texts, quoted

    def _step(self, query: Mapping[str, Any]) -> ToolStep:
        spec, asked = self.tools[query["tool"]], query.get("arguments", {})
        try:
            outcome = outcome_of(spec, run_tool(spec, self.context, asked))
        except ToolRefusal as refusal:
            outcome = refused(str(refusal))
        return ToolStep(
            Call(new_call_id(self.response_id), spec.name, compact_json(asked), server=True), asked, outcome
        )
