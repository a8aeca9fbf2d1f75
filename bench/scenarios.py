"""What the callers of the soak do, one thing after the other, and what they must see. Not here: the faults meanwhile.

Every turn has a mark of its own (see ``bench.upstream``), so that the provider can tell whether one ran twice.
"""

import asyncio
import json
import random
import re
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from time import monotonic
from typing import Any

from bench.client import Connection, Reply, connect, get, post
from bench.upstream import STAMP_DIGITS, TOOL, answer_text
from tests.support.grammar import GrammarError, check_cut_stream, check_response, check_stream

Json = dict[str, Any]

ANSWER_SECONDS = 100.0
"""The longest any caller waits: a lost turn has failed within a minute."""
ASKED_AGAIN_SECONDS = 1.0
TOOLS = [
    {
        "type": "function",
        "name": TOOL,
        "parameters": {"type": "object", "properties": {"date": {"type": "string"}}, "required": ["date"]},
    }
]
RUNNING = ("queued", "in_progress")
SERVER_FAULTS = range(500, 600)
NO_PENDING_CALLS = "previous response has no pending function calls"
ANSWERED = "answered"


@dataclass
class Outcomes:
    """How often each scenario ended how, and the breaches."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    breaches: Counter[str] = field(default_factory=Counter)


class Breach(Exception):
    """A caller saw what it must never see."""


@dataclass
class Caller:
    """One caller with a Subject and a session of its own."""

    name: str
    port: int
    key: str
    deltas: int
    outcomes: Outcomes

    async def run(self, until: float) -> None:
        """Plays random scenarios until then."""
        scenarios = [
            self.asks_for_json,
            self.asks_for_stream,
            self.asks_without_storing,
            self.talks_in_session,
            self.uses_tool,
            self.asks_in_background,
            self.hangs_up,
        ]
        while monotonic() < until:
            await self._play(random.choice(scenarios))

    async def _play(self, scenario: Callable[[], Awaitable[str]]) -> None:
        name = scenario.__name__
        try:
            seen = await scenario()
        except (Breach, GrammarError) as error:
            self.outcomes.breaches[f"{name}: {error}"] += 1
            seen = "breach"
        except OSError as error:
            self.outcomes.breaches[f"{name}: no connection ({type(error).__name__})"] += 1
            seen = "breach"
        self.outcomes.counts[name, seen] += 1
        if seen != ANSWERED:
            await asyncio.sleep(ASKED_AGAIN_SECONDS)

    async def asks_for_json(self) -> str:
        """A stored answer as JSON."""
        return self._seen(await self._ask(self._question()))[0]

    async def asks_for_stream(self) -> str:
        """A stored answer as a stream."""
        return self._seen(await self._ask(self._question(stream=True)))[0]

    async def asks_without_storing(self) -> str:
        """An answer that leaves nothing behind."""
        return self._seen(await self._ask(self._question(store=False, stream=_perhaps())))[0]

    async def talks_in_session(self) -> str:
        """One more turn of the caller's session."""
        stream = _perhaps()
        return self._seen(await self._ask(self._question(session_id=f"session of {self.name}", stream=stream)))[0]

    async def uses_tool(self) -> str:
        """A handoff and its resume, asked for again until it is resumed."""
        seen, handoff = self._seen(await self._ask(self._question("handoff", tools=TOOLS)))
        if seen != ANSWERED:
            return seen
        call_id = handoff["output"][-1]["call_id"]
        until = monotonic() + ANSWER_SECONDS
        while monotonic() < until:
            output = {"type": "function_call_output", "call_id": call_id, "output": _mark("answer")}
            body = {"input": [output], "user": self.name, "previous_response_id": handoff["id"]}
            reply = await self._ask(body)
            if _is_refused(reply):
                # The turn ended well although this caller was not told, and cannot be had again.
                return "resumed without its answer"
            if self._seen(reply)[0] == ANSWERED:
                return ANSWERED
            await asyncio.sleep(ASKED_AGAIN_SECONDS)
        raise Breach("the handoff could not be resumed again")

    async def asks_in_background(self) -> str:
        """A background response, polled to its end."""
        seen, response = self._seen(await self._ask(self._question(background=True)))
        until = monotonic() + ANSWER_SECONDS
        while response.get("status") in RUNNING:
            if monotonic() > until:
                raise Breach("the background response never ended")
            await asyncio.sleep(ASKED_AGAIN_SECONDS / 2)
            reply = await self._sent(get(f"/v1/responses/{response['id']}", self.key))
            if reply.status not in SERVER_FAULTS:
                seen, response = self._seen(reply)
        return seen

    async def hangs_up(self) -> str:
        """A caller that goes away in mid-stream, or even before it."""
        connection = await connect(self.port)
        body = self._question(stream=_perhaps(), store=_perhaps())
        asking = asyncio.ensure_future(connection.ask(post("/v1/responses", body, self.key)))
        await asyncio.wait({asking}, timeout=random.uniform(0.01, 2.0))
        connection.transport.abort()
        await asking
        return "hung up"

    def _question(self, kind: str = "answer", **fields: object) -> Json:
        return {"input": f"What about {_mark(kind)}?", "user": self.name, **fields}

    async def _ask(self, body: Json) -> Reply:
        return await self._sent(post("/v1/responses", body, self.key))

    async def _sent(self, request: bytes) -> Reply:
        connection: Connection = await connect(self.port)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await connection.ask(request)
        except TimeoutError:
            raise Breach(f"no end within {ANSWER_SECONDS:.0f} s") from None
        finally:
            connection.transport.close()

    def _seen(self, reply: Reply) -> tuple[str, Json]:
        """What a caller saw, in a word, and the response object. Raises ``Breach`` and ``GrammarError``."""
        if not reply.complete:
            raise Breach(f"the connection broke off {'in the answer' if reply.arrivals else 'before the answer'}")
        body = reply.body
        if reply.status != HTTPStatus.OK:
            return _http_error(reply.status, json.loads(body)["error"]), {}
        response: Json
        if body.startswith(b"{"):
            response = json.loads(body)
            check_response(response)
        else:
            try:
                response = check_stream(body).response
            except GrammarError:
                response = check_cut_stream(body).response
                return f"cut with an error event, {self._ending(response)}", response
        return self._ending(response), response

    def _ending(self, response: Json) -> str:
        status: str = response["status"]
        if status in RUNNING:
            return status
        if status == "failed":
            return f"failed, {response['error']['code']}"
        if status != "completed":
            raise Breach(f"the response is {status}")
        if response["output"][-1]["type"] == "message":
            text = response["output_text"]
            if text[STAMP_DIGITS:] != answer_text(self.deltas):
                raise Breach("the text is not the provider's")
        return ANSWERED


def _perhaps() -> bool:
    return random.choice([True, False])


def _mark(kind: str) -> str:
    return f"[[{kind}:{uuid.uuid4().hex}]]"


def _is_refused(reply: Reply) -> bool:
    return reply.status == HTTPStatus.BAD_REQUEST and NO_PENDING_CALLS.encode() in reply.body


def _http_error(status: int, error: Json) -> str:
    if status not in SERVER_FAULTS and status != HTTPStatus.CONFLICT:
        message = re.sub(r"\b(resp|call)_\w+", r"\1_…", error["message"])
        raise Breach(f"status {status}, {error['code']}: {message}")
    return f"{status} {error['code']}"
