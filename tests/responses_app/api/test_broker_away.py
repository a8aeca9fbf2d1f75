"""A request whose turn nobody could be told to run: a clear error at once, and nothing of it is left or runs later."""

import asyncio
from typing import Any

import httpx
import pytest

from mirobody_site.tenancy.errors import ServerError
from responses_app.models import Response
from responses_app.services import intake
from responses_app.streaming.backends import event_log, request_slots
from responses_app.streaming.event_log import LogGone
from tests.responses_app.api.conftest import LOOKUP, Script, calls_of, create, output_for
from tests.support.envelope import assert_error
from tests.support.server import Account
from tests.support.upstream import Call, Step


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("stream", [True, False])
def test_the_caller_is_told_and_the_handoff_and_the_session_are_free(
    api: httpx.Client, account: Account, script: Script, monkeypatch: pytest.MonkeyPatch, store: bool, stream: bool
) -> None:
    mark = script(Step(calls=[Call("phone_lookup", {"name": "Dr Li"})]), Step(text=["Done."]))
    paused = create(api, input=f"Call {mark}", tools=[LOOKUP], session_id="s")
    body: dict[str, Any] = {"input": [output_for(calls_of(paused)[0])], "previous_response_id": paused["id"]}
    told: list[str] = []

    def unreachable(response_id: str, *, store: bool) -> None:
        told.append(response_id)
        raise ServerError

    with monkeypatch.context() as away:
        away.setattr(intake, "dispatch_turn", unreachable)
        refused = api.post("/v1/responses", json={**body, "store": store, "stream": stream})
    assert_error(refused, 500, "server_error")
    assert not Response.objects.running().filter(account_id=account.id).exists()
    if not store:
        assert not asyncio.run(request_slots().waits(told[0]))
        with pytest.raises(LogGone):
            asyncio.run(anext(event_log().read(told[0])))
    assert create(api, **body)["output_text"] == "Done."
