"""Every client build does its work against the server by its base URL alone, as its users write it."""

from typing import Any

import pytest

from tests.clients.matrix.builds import BUILDS, Build
from tests.clients.matrix.conftest import WEIGHT, Answers

ANSWER = "The answer is forty-two: é世."
PIECES = ["The answer ", "is ", "forty-two: é世."]
BOOKED = "Done: Booked: 2026-07-14 and Booked: 2026-07-15"
SAID = ["My name is Ada. [[matrix-text]]", ANSWER]
BOOKING = ["Book both days. [[matrix-tool]]", "Booked: 2026-07-14", "Booked: 2026-07-15", BOOKED]
QUESTION = "What was said? [[matrix-recall]]"
BROKEN_OFF = "The model provider broke off its answer."

WITHOUT_SERVER_STATE = {"llm", "langchain-js", "ai-sdk-open-responses"}
# Their ways to ask for a form are left out: they take a library's own detours, or cannot ask for model mode.
WITHOUT_STRUCTURED_OUTPUT = {"llama-index", "agent-framework", "llm"}
# Shows an error's message only where no field of it is null, and the words of the status otherwise.
SHOWS_STATUS_ONLY = "ai-sdk-open-responses"
# Has no way to turn retries off: waits for as long as the answer says, and asks again.
WAITS_AND_RETRIES = "llm"


def params(builds: list[Build]) -> list[Any]:
    """The builds as parameters.

    Those at the front are of different groups, so that the groups are installed side by side.
    """
    ordered = sorted(builds, key=lambda build: [one for one in BUILDS if one.group == build.group].index(build))
    return [pytest.param(build, marks=_marks(build), id=build.name) for build in ordered]


def _marks(build: Build) -> list[pytest.MarkDecorator]:
    return [pytest.mark.matrix, pytest.mark.newest] if build.newest else [pytest.mark.matrix]


every_build = pytest.mark.parametrize("build", params(BUILDS))
builds_with_server_state = pytest.mark.parametrize(
    "build", params([build for build in BUILDS if build.name not in WITHOUT_SERVER_STATE])
)
builds_with_structured_output = pytest.mark.parametrize(
    "build", params([build for build in BUILDS if build.name not in WITHOUT_STRUCTURED_OUTPUT])
)
agents = pytest.mark.parametrize("build", params([build for build in BUILDS if "with_agents" in build.program]))


def of_kind(answers: Answers, build: Build, *kinds: str) -> dict[str, Any]:
    """What the build's scenarios came to whose name begins with one of the kinds."""
    found = {name: came for name, came in answers.of(build).items() if name.startswith(kinds)}
    assert found, f"no scenario {kinds}"
    return found


@every_build
def test_text(answers: Answers, build: Build) -> None:
    assert answers.of(build)["text"] == ANSWER


@every_build
def test_text_is_streamed_as_it_comes(answers: Answers, build: Build) -> None:
    for name, came in of_kind(answers, build, "stream").items():
        pieces = came if isinstance(came, list) else came["pieces"]
        assert pieces == PIECES, name
        assert came is pieces or came["final"] == ANSWER, name


@every_build
def test_the_callers_tool_is_run_and_the_turn_goes_on(answers: Answers, build: Build) -> None:
    assert set(of_kind(answers, build, "tool").values()) == {BOOKED}
    assert {"tool", "tool_streamed"} <= answers.of(build).keys()


@every_build
def test_a_later_turn_knows_all_that_was_said(answers: Answers, build: Build) -> None:
    """Messages, calls and outputs, replayed as the client does by default."""
    for name, came in of_kind(answers, build, "second_turn", "session").items():
        assert_in_order(came, [*SAID, *BOOKING, QUESTION], name)


@builds_with_server_state
def test_a_later_turn_knows_what_the_server_kept(answers: Answers, build: Build) -> None:
    came = answers.of(build)["server_state"]
    booked = BOOKING if "Book" in str(came) else []
    assert_in_order(came, [*SAID, *booked, QUESTION], build.name)


def assert_in_order(came: Any, wanted: list[str], name: str) -> None:
    """The model was told each of these, in this order and once."""
    assert isinstance(came, str), (name, came)
    places = [came.find(said) for said in wanted]
    assert places == sorted(places), (name, came)
    assert places[0] >= 0, (name, came)
    assert all(came.count(said) == 1 for said in (SAID[0], QUESTION)), (name, came)


@every_build
def test_the_person_named_by_the_caller_is_the_one_asked_about(answers: Answers, build: Build) -> None:
    for name, came in of_kind(answers, build, "user").items():
        assert f'"value":{WEIGHT}' in str(came), (name, came)


@builds_with_structured_output
def test_an_answer_has_the_form_that_was_asked_for(answers: Answers, build: Build) -> None:
    assert set(of_kind(answers, build, "structured").values()) == {"Vienna"}


@agents
def test_a_run_is_handed_to_another_agent(answers: Answers, build: Build) -> None:
    agent, answer = answers.of(build)["hand_off"]
    assert (agent.lower(), answer) == ("specialist", "The specialist says hello.")


ERRORS = {
    "bad_request": ("The model 'no-such-model' does not exist", None),
    "unauthorized": ("The API key is not valid.", "Unauthorized"),
    "not_found": ("Previous response with id 'resp_unknown' not found.", "Not Found"),
    "cut": (BROKEN_OFF, "Bad Gateway"),
}


@pytest.mark.parametrize("error", ERRORS)
@every_build
def test_an_error_is_raised_with_words_to_read(answers: Answers, build: Build, error: str) -> None:
    came = answers.of(build)[error]
    message, status = ERRORS[error]
    if build.name == "llm" and error == "not_found":
        message = "There is nothing at this address."
    if build.name == SHOWS_STATUS_ONLY and status:
        message = status
    assert isinstance(came, dict), came
    assert message in came["text"]
    assert came["raised"], came


@pytest.mark.parametrize("build", params([build for build in BUILDS if build.name != WAITS_AND_RETRIES]))
def test_a_key_that_has_asked_too_often_is_told_so(answers: Answers, build: Build) -> None:
    came = answers.of(build)["rate_limited"]
    assert isinstance(came, dict), came
    assert ("Too Many Requests" if build.name == SHOWS_STATUS_ONLY else "requests a minute") in came["text"]


@pytest.mark.parametrize(
    "build", params([build for build in BUILDS if build.program in {"with_openai.py", "with_llm.py"}])
)
def test_an_account_that_has_spent_its_month_is_told_so(answers: Answers, build: Build) -> None:
    came = answers.of(build)["out_of_quota"]
    assert came["raised"] == "RateLimitError", came
    assert "This account has spent what it may in this month" in came["text"], came


@every_build
def test_a_stream_that_breaks_off_raises(answers: Answers, build: Build) -> None:
    for name, came in of_kind(answers, build, "cut_in").items():
        assert isinstance(came, dict), (name, came)
        assert BROKEN_OFF in came["text"], name
