"""What a worker is told to do: one accepted request with everything decided, as a value and as JSON. Starts nothing."""

import json
from dataclasses import dataclass
from typing import Any

from responses_app.models import Response
from responses_app.protocol.request import ResponseRequest
from responses_app.protocol.response import Identity


@dataclass(frozen=True, slots=True)
class TurnOrder:
    """An accepted turn. ``request`` is the effective one, with what a resume takes over from its handoff.

    ``twin`` is what its retries are known by, and ``remembered`` says that its answer is kept for a while, whether
    stored or not: these are for who waits for the turn, not for who runs it.

    ``subject_id`` is ``None`` for a Subject that was never written to; ``created_at`` is in Unix seconds.
    ``compacts``: the conversation is summarized rather than gone on with.
    """

    response_id: str
    account_id: int
    api_key_id: int
    subject_id: int | None
    user: str | None
    created_at: int
    side_channel: bool
    request: ResponseRequest
    twin: str = ""
    remembered: bool = False
    compacts: bool = False

    @property
    def identity(self) -> Identity:
        """The response's part of it."""
        return Identity(self.response_id, self.created_at, self.user)

    def to_json(self) -> bytes:
        """For the slot of a turn that leaves no row."""
        fields = {name: getattr(self, name) for name in self.__slots__ if name not in ("request", "twin", "remembered")}
        return json.dumps(fields | {"request": request_to_json(self.request)}).encode()


def order_from_json(text: bytes) -> TurnOrder:
    """The order that ``to_json`` wrote."""
    fields = json.loads(text)
    return TurnOrder(**fields | {"request": ResponseRequest.model_validate(fields["request"])})


def order_from_row(row: Response) -> TurnOrder:
    """The order of a stored turn."""
    return TurnOrder(
        response_id=row.pk,
        account_id=row.account_id,
        api_key_id=row.api_key_id,
        subject_id=row.subject_id,
        user=row.subject.user_key or None,
        created_at=int(row.created_at.timestamp()),
        side_channel=row.side_channel,
        request=request_from_row(row),
    )


def request_to_json(request: ResponseRequest) -> dict[str, Any]:
    """What the caller gave and the turn took over; defaults are left out."""
    return request.model_dump(exclude_unset=True)


def request_from_row(row: Response) -> ResponseRequest:
    """The effective request of a stored turn."""
    return ResponseRequest.model_validate(json.loads(row.request) | {"input": json.loads(row.input)})


def mode_of(row: Response) -> str:
    """The mode a stored turn ran in."""
    mode: str = json.loads(row.request).get("mode", "agent")
    return mode
