"""The built-in analyst answers the generated questions, asked in English and in Chinese, over the person's records."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mirobody_site.tenancy.models import Subject
from responses_app.engine.conversation import Call, CallOutput, Entry, Message
from responses_app.engine.ports import CallMade, ModelCall, TextDelta, ToolDefinition
from responses_app.llm.analyst import Analyst
from tests.questions.generated.person import World
from tests.questions.generated.records import NOW, keep
from tests.questions.generated.stated import faults
from tests.questions.generated.truth import Truth
from tests.support.server import make_account
from tools_app.contract import ToolContext, ToolRefusal
from tools_app.registry import TOOLS
from tools_app.runner import run_tool

QUESTIONS = json.loads((Path(__file__).parent / "questions.json").read_text(encoding="utf-8"))
SERVER_TOOLS = ("query_health_data", "list_clinical_records", "list_family_members")
LANGUAGES = ("english", "chinese")
TODAY = "2026-06-30"
MOST_ROUNDS = 6
# How many of the 200 are answered: in English, in Chinese, in either.
FLOORS = {"english": 136, "chinese": 117, "either": 149}


@pytest.fixture(scope="module")
def ask(server: str) -> Iterator[Callable[[str], str]]:
    world = World()
    account = make_account(server)
    subject = Subject.objects.create(account_id=account.id, user_key="analysed", time_zone=world.spec["time_zone"])
    keep(world, subject)
    context = ToolContext(account.id, subject.pk, NOW)
    yield lambda question: _turn(question, context)
    subject.health_records.all().delete()
    subject.clinical_records.all().delete()


def test_as_many_are_answered_as_before(ask: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    truth = Truth(world)
    answered: dict[str, set[str]] = {language: set() for language in LANGUAGES}
    for question in QUESTIONS:
        expected = truth.of(question["spec"])
        for language in LANGUAGES:
            if not faults(ask(question[language]), question["spec"], expected, world):
                answered[language].add(question["id"])

    counts = {language: len(ids) for language, ids in answered.items()}
    counts["either"] = len(set.union(*answered.values()))
    with capsys.disabled():
        print(f"\nanswered of {len(QUESTIONS)}: {counts}")  # noqa: T201 - the figure is what one runs this for
    assert all(counts[name] >= floor for name, floor in FLOORS.items()), counts


def _turn(question: str, context: ToolContext) -> str:
    """The last text of a turn whose tools run on the records."""
    tools = [
        ToolDefinition(name, TOOLS[name].description, TOOLS[name].parameters, server=True) for name in SERVER_TOOLS
    ]
    entries: list[Entry] = [Message("user", question)]
    for _ in range(MOST_ROUNDS):
        call = ModelCall("mirobody-flash", "", entries, tools, "auto", 60.0, TODAY)
        events = [event for batch in Analyst().stream(call) for event in batch]
        calls = [event for event in events if isinstance(event, CallMade)]
        if not calls:
            return "".join(event.text for event in events if isinstance(event, TextDelta))
        for made in calls:
            entries.append(Call(made.call_id, made.name, made.arguments, True))
            entries.append(_output(made, context))
    raise AssertionError(question)


def _output(made: CallMade, context: ToolContext) -> CallOutput:
    try:
        data: Any = run_tool(TOOLS[made.name], context, json.loads(made.arguments)).data
    except ToolRefusal as error:
        return CallOutput(made.call_id, json.dumps({"error": str(error)}), True)
    return CallOutput(made.call_id, json.dumps(data, ensure_ascii=False))
