"""The reference documents' programs do what the documents say, on the built-in analyst and with a model behind."""

import re

from tests.clients.reference_examples import AGENT_WITH_TOOL, AGENT_WITHOUT_TOOL, OPENAI_CREATE, run_example
from tests.support.process import ServerProcess
from tests.support.upstream import Call, Step, Upstream

BOOKED = r"Booked: \d{4}-\d{2}-\d{2} 09:30, Dr\. Chen"
QUESTION_WITH_TOOL = "Check my recent glucose and book a follow-up if it's trending up."


def test_the_analyst_books_through_the_callers_tool(analyst_server: ServerProcess) -> None:
    assert re.search(BOOKED, run_example(AGENT_WITH_TOOL, analyst_server))


def test_the_analyst_answers_the_agents_sdk(analyst_server: ServerProcess) -> None:
    answer = run_example(AGENT_WITHOUT_TOOL, analyst_server)
    assert "mmol/L" in answer
    assert "rising" in answer


def test_the_analyst_answers_the_openai_sdk(analyst_server: ServerProcess) -> None:
    answer = run_example(OPENAI_CREATE, analyst_server)
    assert "mmol/L" in answer
    assert "rising" in answer


def test_a_model_books_through_the_callers_tool(scripted_server: ServerProcess, upstream: Upstream) -> None:
    upstream.script_for_text(
        QUESTION_WITH_TOOL,
        Step(
            reasoning=["Look first."],
            calls=[
                Call("query_health_data", {"indicators": ["fasting glucose"], "operation": "trend"}),
                Call("book_appointment", {"date": "2026-07-14"}),
            ],
        ),
        Step(text=lambda request: ["Done. ", request.tool_outputs[-1]]),
    )
    assert "Done. Booked: 2026-07-14 09:30, Dr. Chen" in run_example(AGENT_WITH_TOOL, scripted_server)
