"""A turn of the analyst with hand-made server tools: what it looked up, what it said, what it handed over."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from responses_app.engine.conversation import Call, CallOutput, Entry, Message
from responses_app.engine.ports import CallMade, ModelCall, ModelEvent, Stopped, TextDelta, ToolChoice, ToolDefinition
from responses_app.llm.analyst import Analyst

TODAY = "2026-03-18"
"""A Wednesday."""

Arguments = Mapping[str, Any]
Tool = Callable[[Arguments], Any]

QUERY = ToolDefinition("query_health_data", "Reads health records.", {"type": "object"}, server=True)
FAMILY = ToolDefinition("list_family_members", "Lists who shares data.", {"type": "object"}, server=True)
CLINICAL = ToolDefinition("list_clinical_records", "Lists clinical records.", {"type": "object"}, server=True)


def client_tool(name: str, description: str = "", required: Sequence[str] = (), **properties: Any) -> ToolDefinition:
    """One of the caller's tools."""
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ToolDefinition(name, description, schema, server=False)


BOOK = client_tool(
    "book_appointment",
    "Book a clinic appointment for the end user.",
    ["date"],
    date={"type": "string", "description": "ISO date"},
)


@dataclass
class Turn:
    """What happened in one turn, up to its end or its handoff."""

    entries: list[Entry]
    lookups: list[dict[str, Any]] = field(default_factory=list)
    clinical: list[dict[str, Any]] = field(default_factory=list)
    handed_over: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    text: str = ""


def infer(
    entries: Sequence[Entry], tools: Sequence[ToolDefinition] = (QUERY, FAMILY), tool_choice: ToolChoice = "auto"
) -> list[ModelEvent]:
    """The events of one inference."""
    call = ModelCall("mirobody-flash", "", entries, tools, tool_choice, 60.0, TODAY)
    return [event for batch in Analyst().stream(call) for event in batch]


def said(events: Sequence[ModelEvent]) -> str:
    """The text of an inference."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def ask(
    question: str,
    data: Tool | Mapping[str, Any],
    clients: Sequence[ToolDefinition] = (),
    earlier: Sequence[Entry] = (),
    members: Sequence[Mapping[str, str]] = (),
    tool_choice: ToolChoice = "auto",
) -> Turn:
    """Runs a turn. ``data`` answers query_health_data: one result for all calls, or a function of the arguments."""
    turn = Turn([*earlier, Message("user", question)])
    tools = [QUERY, FAMILY, CLINICAL, *clients]
    while True:
        events = infer(turn.entries, tools, tool_choice)
        tool_choice = "auto"
        turn.text = said(events)
        if turn.text:
            turn.entries.append(Message("assistant", turn.text))
        calls = [event for event in events if isinstance(event, CallMade)]
        assert events[-1] == Stopped("tool_calls" if calls else "stop")
        for call in calls:
            _run(turn, call, data, members)
        if turn.handed_over or not calls:
            return turn


def _run(turn: Turn, call: CallMade, data: Tool | Mapping[str, Any], members: Sequence[Mapping[str, str]]) -> None:
    arguments = json.loads(call.arguments)
    server = call.name in {QUERY.name, FAMILY.name, CLINICAL.name}
    turn.entries.append(Call(call.call_id, call.name, call.arguments, server))
    if not server:
        turn.handed_over.append((call.name, arguments))
        return
    if call.name == FAMILY.name:
        result: Any = {"members": list(members)}
    else:
        (turn.clinical if call.name == CLINICAL.name else turn.lookups).append(arguments)
        result = data(arguments) if callable(data) else data
    turn.entries.append(CallOutput(call.call_id, json.dumps(result, ensure_ascii=False)))


def resume(turn: Turn, *outputs: str, failed: bool = False, clients: Sequence[ToolDefinition] = (BOOK,)) -> str:
    """What the analyst says once the caller has run the tools of ``turn``."""
    waiting = [e for e in turn.entries if isinstance(e, Call) and not e.server]
    results = [CallOutput(e.call_id, output, failed) for e, output in zip(waiting, outputs, strict=True)]
    return said(infer([*turn.entries, *results], [QUERY, FAMILY, *clients]))


def query_result(*results: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The output of query_health_data around its results."""
    return {
        "operation": "latest",
        "member": None,
        "start": None,
        "end": None,
        "results": list(results),
        "not_found": [],
        "no_data_in_range": [],
        "truncated": False,
        "next_offset": None,
    } | more


def heading(indicator: str = "Fasting glucose", unit: str = "mmol/L", count: int = 1) -> dict[str, Any]:
    """What every result begins with."""
    return {"indicator": indicator, "loinc_code": None, "unit": unit, "count": count}


def reading(value: float | None, day: str, text: str = "", **more: Any) -> dict[str, Any]:
    """One reading of a latest or readings result."""
    base = {
        "id": "hr_1",
        "value": value,
        "text": text or f"{value} mmol/L",
        "comparator": None,
        "time": day,
        "date": day,
    }
    return base | {"abnormal": None, "reference_low": None, "reference_high": None, "source": "api"} | more


def latest(value: float | None, day: str, indicator: str = "Fasting glucose", unit: str = "mmol/L", **more: Any) -> Any:
    """The result of one indicator's latest reading."""
    return heading(indicator, unit) | {"readings": [reading(value, day, **more)]}


def figures(indicator: str = "Fasting glucose", unit: str = "mmol/L", **more: Any) -> dict[str, Any]:
    """An aggregate over three readings."""
    return (
        heading(indicator, unit, 3)
        | {
            "average": 5.733333,
            "minimum": {"value": 5.1, "date": "2025-11-03", "id": "hr_1"},
            "maximum": {"value": 6.4, "date": "2026-02-02", "id": "hr_3"},
            "sum": 17.2,
            "first": {"value": 5.1, "date": "2025-11-03", "id": "hr_1"},
            "last": {"value": 6.4, "date": "2026-02-02", "id": "hr_3"},
            "excluded": 0,
        }
        | more
    )


def trend(direction: str = "rising", indicator: str = "Fasting glucose", unit: str = "mmol/L") -> dict[str, Any]:
    """A trend over three readings."""
    moved = {"direction": direction, "slope_per_day": 0.014, "change": 1.3, "change_percent": 25.490196}
    points = [("2025-11-03", 5.1), ("2025-12-15", 5.7), ("2026-02-02", 6.4)]
    return figures(indicator, unit) | {
        "trend": moved | {"recent_average": 6.4, "previous_average": 5.4},
        "points": [{"date": day, "value": value} for day, value in points],
        "bucket": None,
    }


def earlier_turn(question: str, answer: str = "Answered.") -> list[Entry]:
    """A turn that lies before the present one."""
    return [Message("user", question), Message("assistant", answer)]
