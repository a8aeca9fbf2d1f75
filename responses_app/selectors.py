"""Every read of responses and conversations that means something, always scoped by owner. Writes are in services/."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from responses_app.models import PendingCall, Response, Session
from responses_app.protocol.ids import is_response_id


def find_response(account_id: int, response_id: str, user: str | None = None) -> Response | None:
    """The account's live response. ``user``, when named, must be its own Subject."""
    if not is_response_id(response_id):
        return None
    responses = Response.objects.live(timezone.now()).filter(pk=response_id, account_id=account_id)
    if user is not None:
        responses = responses.filter(subject__user_key=user)
    return responses.first()


def live_responses_called(text: str, now: datetime) -> list[Response]:
    """The live responses of any account with this id, or whose request had this one, oldest first."""
    if "\x00" in text:
        return []
    own = {"pk": text} if is_response_id(text) else {"request_id": text or None}
    responses = Response.objects.live(now).filter(**own).select_related("account", "api_key")
    return list(responses.order_by("created_at", "pk"))


def find_previous(subject_id: int | None, response_id: str) -> Response | None:
    """The Subject's live response that a new one wants to continue."""
    if subject_id is None or not is_response_id(response_id):
        return None
    return Response.objects.live(timezone.now()).filter(pk=response_id, subject_id=subject_id).first()


def find_session(subject_id: int | None, name: str) -> Session | None:
    """The Subject's session of this name."""
    # No name holds U+0000, which Postgres refuses even to look for.
    if subject_id is None or "\x00" in name:
        return None
    return Session.objects.filter(subject_id=subject_id, name=name).first()


def newest_response(conversation_id: int, now: datetime) -> Response | None:
    """The live response that a session's next turn continues; failed and cancelled ones are skipped."""
    ended_well = Response.objects.live(now).filter(
        conversation_id=conversation_id, status__in=("completed", "incomplete")
    )
    return ended_well.order_by("-created_at", "-pk").first()


def session_response_ids(session: Session, now: datetime) -> list[str]:
    """The session's live responses, oldest first."""
    responses = Response.objects.live(now).filter(conversation_id=session.conversation_id)
    return list(responses.order_by("created_at", "pk").values_list("pk", flat=True))


def pending_call_ids(response_id: str, now: datetime) -> list[str]:
    """The calls of a handoff that wait for an output, in the order they were made."""
    calls = PendingCall.objects.free(now).filter(response_id=response_id).order_by("pk")
    return list(calls.values_list("call_id", flat=True))


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """What one turn added to its conversation: the caller's input and the entries that followed, as JSON values."""

    response_id: str
    input: Any
    added: list[dict[str, Any]]


# One query whatever the depth; deleted turns are read too while a live one continues from them.
_CHAIN = """
WITH RECURSIVE chain(id, previous_id, input, added, depth) AS (
    SELECT id, previous_id, input, added, 0 FROM responses_app_response WHERE id = %s
    UNION ALL
    SELECT earlier.id, earlier.previous_id, earlier.input, earlier.added, chain.depth + 1
    FROM responses_app_response AS earlier JOIN chain ON earlier.id = chain.previous_id
)
SELECT id, input, added FROM chain ORDER BY depth DESC
"""


# Of each path the version nearest to the response that is continued.
_FILES = """
WITH RECURSIVE chain(id, previous_id, depth) AS (
    SELECT id, previous_id, 0 FROM responses_app_response WHERE id = %s
    UNION ALL
    SELECT earlier.id, earlier.previous_id, chain.depth + 1
    FROM responses_app_response AS earlier JOIN chain ON earlier.id = chain.previous_id
), versions AS (
    SELECT file.id, ROW_NUMBER() OVER (PARTITION BY file.path ORDER BY chain.depth) AS age
    FROM responses_app_harnessfile AS file JOIN chain ON file.response_id = chain.id
)
SELECT file.path, file.content
FROM responses_app_harnessfile AS file JOIN versions ON file.id = versions.id WHERE versions.age = 1
"""


def conversation_files(response_id: str) -> dict[str, str]:
    """The agent's files by path, as the turn of ``response_id`` and those before it left them."""
    with connection.cursor() as cursor:
        cursor.execute(_FILES, [response_id])
        return dict(cursor.fetchall())


def conversation_turns(response_id: str) -> Iterator[StoredTurn]:
    """The turns from a conversation's start to ``response_id``, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(_CHAIN, [response_id])
        rows = cursor.fetchall()
    for turn_id, written_input, added in rows:
        yield StoredTurn(turn_id, json.loads(written_input), json.loads(added))
