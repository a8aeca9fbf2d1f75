"""What a page shows of one stored turn: made of its row and of nothing else. Text is text here; templates escape it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils.safestring import SafeString

from mirobody_site.operators.record_views import RecordsBehind
from responses_app.models import PendingCall, Response
from responses_app.models.response import RUNNING
from responses_app.protocol.input_listing import listed_input
from responses_app.rendering import answer_html

MAX_SHOWN = 20_000
"""Of one text so many characters are shown; the response's own page shows it whole."""


@dataclass(frozen=True, slots=True)
class InputPiece:
    """A part of what was given to the turn. ``folded``: not what the person said last."""

    label: str
    text: str
    folded: bool


@dataclass(frozen=True, slots=True)
class StepView:
    """A call of a server tool and what it gave."""

    call_id: str
    name: str
    status: str
    arguments: str
    result: str
    behind: list[RecordsBehind]


@dataclass(frozen=True, slots=True)
class HandoffView:
    """A call of the caller's own tool, and who answered it. ``answered_by`` is empty while it waits."""

    call_id: str
    name: str
    arguments: str
    answered_by: str
    answered_at: datetime | None
    being_answered: bool


@dataclass(frozen=True, slots=True)
class UsageView:
    """Tokens as the provider bills them, and by catalogue prices their cost in USD."""

    input: int
    cached: int
    output: int
    reasoning: int
    estimated: bool
    usd: str


@dataclass(slots=True)
class TurnView:
    """One turn. ``hidden`` says why nothing of what was said is shown."""

    row: Response
    hidden: str = ""
    model: str = ""
    seconds: float | None = None
    instructions: str = ""
    input: list[InputPiece] = field(default_factory=list)
    reasoning: str = ""
    answer: SafeString | str = ""
    steps: list[StepView] = field(default_factory=list)
    handoffs: list[HandoffView] = field(default_factory=list)
    error: str = ""
    incomplete: str = ""
    usage: UsageView | None = None

    @property
    def running(self) -> bool:
        """Whether the turn has not ended."""
        return self.row.status in RUNNING


def turn_view(
    row: Response,
    body: str,
    calls: Sequence[PendingCall],
    answered_at: Mapping[str, datetime],
    behind: Mapping[str, list[RecordsBehind]],
    now: datetime,
) -> TurnView:
    """The turn of ``row``, whose response object ``body`` is; ``calls`` are those it handed off."""
    seconds = (row.ended_at - (row.started_at or row.created_at)).total_seconds() if row.ended_at else None
    view = TurnView(row, hidden=_hidden(row, now), seconds=seconds)
    if view.hidden:
        return view
    response = json.loads(body)
    view.model = response["model"]
    view.instructions = cut(response["instructions"] or "")
    view.input = list(_input(row))
    view.steps = [_step(step, behind) for step in response["tool_steps"]]
    view.usage = _usage(response["usage"], response["model"])
    view.error = _error(response["error"])
    view.incomplete = (response["incomplete_details"] or {}).get("reason", "")
    _take_output(view, response, {call.call_id: call for call in calls}, answered_at)
    return view


def _hidden(row: Response, now: datetime) -> str:
    if row.deleted_at is not None:
        return "Deleted. Only what later turns need is kept, and not shown."
    if row.expires_at is not None and row.expires_at <= now:
        return "Expired. It goes with the next sweep."
    return ""


def _take_output(
    view: TurnView, response: Mapping[str, Any], calls: Mapping[str, PendingCall], answered_at: Mapping[str, datetime]
) -> None:
    for item in response["output"]:
        match item["type"]:
            case "reasoning":
                view.reasoning = cut("\n\n".join(part["text"] for part in item["summary"]))
            case "message":
                # Only whole can it be read as Markdown, and its numbers be found.
                view.answer = answer_html(response["output_text"], response["grounding"])
            case "function_call":
                view.handoffs.append(_handoff(item, calls.get(item["call_id"]), answered_at))


def _handoff(item: Mapping[str, Any], call: PendingCall | None, answered_at: Mapping[str, datetime]) -> HandoffView:
    by = call.claimed_by if call else ""
    return HandoffView(
        call_id=item["call_id"],
        name=item["name"],
        arguments=cut(_pretty(item["arguments"])),
        answered_by=by,
        answered_at=answered_at.get(by),
        being_answered=bool(call and call.claimed_until),
    )


def _step(step: Mapping[str, Any], behind: Mapping[str, list[RecordsBehind]]) -> StepView:
    return StepView(
        call_id=step["call_id"],
        name=step["name"],
        status=step["status"],
        arguments=cut(_pretty(step["arguments"])),
        result=cut(_pretty(step["result"])),
        behind=behind.get(step["call_id"], []),
    )


def _usage(usage: Mapping[str, Any] | None, model: str) -> UsageView | None:
    if usage is None:
        return None
    billed, cached = usage["billed_tokens"], usage["input_tokens_details"]["cached_tokens"]
    tier = settings.MODEL_CATALOGUE.get(model)
    cost = tier.pricing.cost(billed["input"], cached, billed["output"]) if tier else 0
    return UsageView(
        input=billed["input"],
        cached=cached,
        output=billed["output"],
        reasoning=usage["output_tokens_details"]["reasoning_tokens"],
        estimated=billed.get("estimated", False),
        usd=f"{cost / 1_000_000:.6f}" if tier else "",
    )


def _error(error: Mapping[str, Any] | None) -> str:
    return f"{error['code']}: {error['message']}" if error else ""


def _input(row: Response) -> Iterator[InputPiece]:
    items = listed_input(row.pk, json.loads(row.input))
    for index, item in enumerate(items):
        folded = index < len(items) - 1
        match item["type"]:
            case "message":
                yield InputPiece(item["role"], cut(_parts(item["content"])), folded)
            case "function_call_output":
                yield InputPiece(f"output of {item['call_id']}", cut(_parts(item["output"])), folded)
            case "function_call":
                yield InputPiece(f"call of {item['name']}", cut(_pretty(item["arguments"])), folded)
            case "reasoning":
                yield InputPiece("reasoning", cut(_parts(item["summary"])), folded=True)
            case kind:
                yield InputPiece(kind, cut(_pretty(item)), folded=True)


def _parts(content: str | Sequence[Mapping[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(_part(part) for part in content)


def _part(part: Mapping[str, Any]) -> str:
    """A part's text. Images and files are named, not shown: an image would be fetched from its host."""
    if "text" in part:
        return str(part["text"])
    address = str(part.get("image_url") or part.get("filename") or "")
    return f"[{part['type']}{': ' if address else ''}{address[:200]}]"


def _pretty(value: Any) -> str:
    """JSON that can be read; a text that holds JSON is read first."""
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return str(value)
    return json.dumps(parsed, indent=2, ensure_ascii=False)


def cut(text: str) -> str:
    """The beginning of a long text, saying how much was left out."""
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}\n… {len(text) - MAX_SHOWN} more characters"
