"""What the clients of the matrix talk to: a server with a scripted model, keys, a person with a weight."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from tests.clients.matrix.builds import Build
from tests.support.process import ServerProcess
from tests.support.server import http_client
from tests.support.upstream import Call, Cut, Request, Step, Upstream, text_of

USER = "matrix-ada"
WEIGHT = "61.25"


@pytest.fixture(scope="session")
def matrix_server(scripted_server: ServerProcess, upstream: Upstream) -> ServerProcess:
    """The server, its model scripted for the programs' questions, and the weight of the person the programs name."""
    script(upstream)
    record = {"indicator": "weight", "value": float(WEIGHT), "unit": "kg"}
    with http_client(scripted_server.base_url, {"Authorization": f"Bearer {scripted_server.key}"}) as client:
        written = client.post("/v1/data", json={"user": USER, "retention": "permanent", "records": [record]})
    assert written.is_success, written.text
    return scripted_server


def script(upstream: Upstream) -> None:
    """What the model says to the marks in the programs' questions."""
    days = [Call("book_appointment", {"date": date}) for date in ("2026-07-14", "2026-07-15")]
    upstream.script("matrix-text", Step(reasoning=["They ask."], text=["The answer ", "is ", "forty-two: é世."]))
    upstream.script("matrix-tool", Step(reasoning=["I book."], calls=days), Step(text=_outputs))
    upstream.script("matrix-recall", Step(text=_everything_said))
    weight = Call("query_health_data", {"indicators": ["weight"]})
    upstream.script("matrix-record", Step(reasoning=["I look."], calls=[weight]), Step(text=_outputs))
    upstream.script("matrix-hand-off", Step(calls=[Call("transfer_to_specialist", {})]), Step(text=_whoever_answers))
    upstream.script("matrix-place", Step(text=['{"city": ', '"Vienna"}']))
    upstream.script("matrix-place-by-tool", Step(calls=[Call("final_result", {"city": "Vienna"})]))
    upstream.script("matrix-cut", Step(text=["Half an ans", Cut()]))


def _outputs(request: Request) -> list[str]:
    return ["Done: ", " and ".join(request.tool_outputs)]


def _everything_said(request: Request) -> list[str]:
    return [" | ".join(text_of(message) for message in request.messages if message["role"] != "system")]


def _whoever_answers(request: Request) -> list[str]:
    return ["The specialist says hello."] if "You are the specialist." in request.system else ["Nobody came."]


class Answers:
    """What the scenarios of each build came to; the programs run side by side."""

    def __init__(self, told: dict[Build, Future[dict[str, Any]]]) -> None:
        self._told = told

    def of(self, build: Build) -> dict[str, Any]:
        """What each scenario of the build came to, once its program has ended."""
        return self._told[build].result()


@pytest.fixture(scope="session")
def answers(request: pytest.FixtureRequest, matrix_server: ServerProcess) -> Iterator[Answers]:
    """The answers of all builds that are tested."""
    environment = {
        "BASE_URL": matrix_server.api_base,
        "API_KEY": matrix_server.key,
        "USED_UP_KEY": matrix_server.limited_key(1),
        "SPENT_KEY": matrix_server.spent_key(),
        "USER_NAME": USER,
    }
    callspecs = [item.callspec for item in request.session.items if hasattr(item, "callspec")]
    tested = dict.fromkeys(callspec.params["build"] for callspec in callspecs if "build" in callspec.params)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        yield Answers({build: threads.submit(build.told, environment) for build in tested})
