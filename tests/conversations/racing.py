"""Doing several things at the same moment, and what each of them was told."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
from django.db import connections

from tests.support.envelope import assert_error
from tests.support.grammar import check_response, check_stream

Json = dict[str, Any]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Told:
    """The checked answer to a ``POST /v1/responses``: its response, or the error of a refusal."""

    answer: httpx.Response
    response: Json | None

    @property
    def status(self) -> int:
        return self.answer.status_code

    @property
    def id(self) -> str:
        """The id of the response. Fails for a refusal."""
        assert self.response is not None, self.answer.text
        return str(self.response["id"])

    @property
    def error_message(self) -> str:
        return str(self.answer.json()["error"]["message"])


def at_once(works: Sequence[Callable[[], Result]]) -> list[Result]:
    """Does all of it at the same moment, each on a thread of its own. The results in the order of ``works``."""
    together = threading.Barrier(len(works))

    def one(work: Callable[[], Result]) -> Result:
        together.wait()
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(one, works))


def tell(api: httpx.Client, **body: Any) -> Told:
    """What a caller is told: a stream is read to its end and checked, like the object of a JSON answer."""
    answer = api.post("/v1/responses", json=body)
    if answer.status_code != httpx.codes.OK:
        return Told(answer, None)
    response = check_stream(answer.content).response if body.get("stream") else check_response(answer.json())
    return Told(answer, response)


def asking(api: httpx.Client, /, **body: Any) -> Callable[[], Told]:
    """``tell``, to be called later."""
    return lambda: tell(api, **body)


def deleting(api: httpx.Client, path: str, **params: str) -> Callable[[], httpx.Response]:
    """A ``DELETE``, to be called later."""
    return lambda: api.delete(path, params=params)


def assert_locked(told: Told) -> None:
    """Refused since another turn of the conversation runs, with the time after which to try again."""
    assert (told.status, told.answer.json()["error"]["code"]) == (409, "conversation_locked"), told.answer.text
    assert int(told.answer.headers["Retry-After"]) > 0


def assert_deleted_once(answers: Sequence[httpx.Response]) -> None:
    """Of several deletions of one thing at once one did it; to the others it did not exist any more."""
    assert sorted(answer.status_code for answer in answers) == [200] + [404] * (len(answers) - 1)
    for answer in answers:
        if answer.status_code != httpx.codes.OK:
            assert_error(answer, 404, "not_found")
