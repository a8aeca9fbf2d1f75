"""Every number the built-in analyst states stands in what its tools returned, and ``grounding`` finds it there."""

from typing import Any

import httpx
import pytest

from tests.questions.conftest import PERSON
from tests.questions.test_answers import ANSWERABLE

QUESTIONS = [entry["phrasings"][number] for number in (0, 1) for entry in ANSWERABLE if "fill" not in entry]


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_number_of_an_answer_is_supported(demo: httpx.Client, question: str) -> None:
    response: dict[str, Any] = demo.post("/v1/responses", json={"user": PERSON, "input": question}).json()
    unsupported = [figure["text"] for figure in response["grounding"]["figures"] if not figure["supported_by"]]
    assert unsupported == [], response["output_text"]
