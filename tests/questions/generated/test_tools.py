"""Each of the 200 questions is answered exactly by at most two tool calls, whose arguments a model would write."""

import json
import math
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mirobody_site.tenancy.models import Subject
from tests.questions.generated.calls import Planner
from tests.questions.generated.person import Json, World
from tests.questions.generated.records import NOW, keep
from tests.questions.generated.truth import Truth
from tests.support.server import make_account
from tools_app.contract import ToolContext
from tools_app.registry import TOOLS
from tools_app.runner import run_tool

QUESTIONS = json.loads((Path(__file__).parent / "questions.json").read_text(encoding="utf-8"))
MAX_CALLS = 2
# A result is rounded to six decimals.
ROUNDING = 2e-6
# What is written in another unit goes through that unit's factor, which laboratories round.
BETWEEN_UNITS = 1e-3
# README.md: a stated number is right within one percent. Only slopes need it: a day is a point in time to the tool.
WITHIN_A_DAY = 1e-2
LARGEST_RESULT = 60_000


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def asked(world: World, server: str) -> Iterator[tuple[Planner, ToolContext]]:
    account = make_account(server)
    subject = Subject.objects.create(account_id=account.id, user_key="generated", time_zone=world.spec["time_zone"])
    yield Planner(world, keep(world, subject)), ToolContext(account.id, subject.pk, NOW)
    subject.health_records.all().delete()
    subject.clinical_records.all().delete()


@pytest.mark.parametrize("question", [pytest.param(q, id=q["id"]) for q in QUESTIONS])
def test_two_calls_answer_exactly(question: Json, world: World, asked: tuple[Planner, ToolContext]) -> None:
    planner, context = asked
    plan = planner.plan(question["spec"])
    sizes: list[int] = []

    def run(tool: str, arguments: Json) -> Json:
        result = run_tool(TOOLS[tool], context, arguments)
        sizes.append(len(json.dumps(result.data)))
        named = sum(len(used.ids) for used in result.records)
        assert named <= 1000
        assert result.empty or result.records[0].count >= named > 0
        return result.data

    answer = plan.answer(run)

    assert len(plan.calls) <= MAX_CALLS
    assert max(sizes) <= LARGEST_RESULT
    assert difference(Truth(world).of(question["spec"]), answer, tolerance(world, question["spec"])) is None
    assert set(question["spec"].get("must_mention", ())) <= planner.mentioned(plan)


def test_the_person_is_the_same_for_the_same_seed(world: World) -> None:
    assert World().readings == world.readings
    assert World(seed=1).readings != world.readings


def tolerance(world: World, spec: Json) -> float:
    text = json.dumps(spec)
    if '"slope"' in text:
        return WITHIN_A_DAY
    converted = [n for n, s in world.indicators.items() if "alternative" in s]
    return BETWEEN_UNITS if '"unit"' in text or any(name in text for name in converted) else 1e-5


def difference(truth: Any, answer: Any, within: float, path: str = "") -> str | None:
    """Where the two differ, ``None`` where they agree."""
    if isinstance(truth, dict) and isinstance(answer, dict) and truth.keys() == answer.keys():
        found = [difference(truth[key], answer[key], within, f"{path}.{key}") for key in truth]
        return next(filter(None, found), None)
    if isinstance(truth, list | tuple) and isinstance(answer, list | tuple) and len(truth) == len(answer):
        pairs = enumerate(zip(truth, answer, strict=True))
        return next(filter(None, (difference(a, b, within, f"{path}[{n}]") for n, (a, b) in pairs)), None)
    if is_number(truth) and is_number(answer):
        same = math.isclose(truth, answer, rel_tol=within, abs_tol=ROUNDING)
    else:
        same = truth == answer and isinstance(truth, date) == isinstance(answer, date)
    return None if same else f"{path}: {truth!r} is not {answer!r}"


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
