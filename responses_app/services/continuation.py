"""What a request continues: a stored response, a session, or nothing. Checks whether it may; writes nothing but a lock.

Source: the wire contract, sections 5 and 6.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from mirobody_site.tenancy.errors import InvalidRequestError
from responses_app.models import Conversation, Response, Session
from responses_app.models.response import RUNNING
from responses_app.protocol.request import ResponseRequest
from responses_app.selectors import find_previous, find_session, newest_response, pending_call_ids
from responses_app.services.lifetimes import turn_lifetime
from responses_app.services.locking import lock_conversation
from responses_app.services.lost_turns import fail_if_lost
from responses_app.services.resume import check_replay, check_resume, previous_not_found
from responses_app.services.sessions import conversation_locked, keep_for_ever, lock, open_session
from responses_app.services.turn_order import mode_of


@dataclass(frozen=True, slots=True)
class Place:
    """Where a response goes: what it continues, in which conversation (``None``: a new one), of which session."""

    previous: Response | None
    conversation: Conversation | None
    session: Session | None


def place_for(subject_id: int, request: ResponseRequest, response_id: str, now: datetime) -> Place:
    """The place of a response that is stored. Takes its session's lock; to be called in the transaction of its row.

    Raises an ``ApiError`` when the request may not continue what it names.
    """
    previous = _named_previous(subject_id, request)
    conversation = _held(previous) if previous else None
    session = _session(subject_id, request, conversation, now)
    if session is None:
        return Place(_checked(previous, request, now), conversation, None)
    if not _locked(session, response_id, now):
        _refuse_second_resume(previous or newest_response(session.conversation_id, now), request, now)
        raise conversation_locked("session_id" if request.session_id else "previous_response_id")
    previous = previous or newest_response(session.conversation_id, now)
    return Place(_checked(previous, request, now), session.conversation, session)


def _locked(session: Session, response_id: str, now: datetime) -> bool:
    """Whether the session's next turn is this response's; a lost one that holds it fails."""
    lifetime = timedelta(seconds=turn_lifetime())
    if lock(session, response_id, now, lifetime):
        return True
    holder = Response.objects.filter(pk=session.locked_by).first()
    if holder is None or (failed := fail_if_lost(holder)) is None or failed.status in RUNNING:
        return False
    return lock(session, response_id, now, lifetime)


def previous_for(subject_id: int | None, request: ResponseRequest, now: datetime) -> Response | None:
    """What a response that is not stored continues. Raises as ``place_for``.

    It adds nothing and so takes no session's lock; only the handoff that it resumes is kept from others.
    """
    previous = _named_previous(subject_id, request) or _newest_of_session(subject_id, request, now)
    if previous is not None and request.outputs:
        _held(previous)
    return _checked(previous, request, now)


def _newest_of_session(subject_id: int | None, request: ResponseRequest, now: datetime) -> Response | None:
    session = find_session(subject_id, request.session_id) if request.session_id else None
    return newest_response(session.conversation_id, now) if session else None


def _named_previous(subject_id: int | None, request: ResponseRequest) -> Response | None:
    if request.previous_response_id is None:
        return None
    found = find_previous(subject_id, request.previous_response_id)
    previous = fail_if_lost(found) if found else None
    if previous is None:
        raise previous_not_found(request.previous_response_id)
    return previous


def _held(previous: Response) -> Conversation:
    """The conversation that goes on. From here on a deletion of ``previous`` waits, and finds what continues it."""
    conversation = lock_conversation(previous.conversation_id)
    if conversation is None or find_previous(previous.subject_id, previous.pk) is None:
        raise previous_not_found(previous.pk)
    return conversation


def _session(
    subject_id: int, request: ResponseRequest, conversation: Conversation | None, now: datetime
) -> Session | None:
    """The session whose turn this is. Continuing a response of a session is a turn of that session, named or not."""
    current = Session.objects.filter(conversation=conversation).first() if conversation else None
    if request.session_id is None:
        return current
    named = find_session(subject_id, request.session_id)
    if conversation is None:
        return _held_session(named) if named else open_session(subject_id, request.session_id, None)
    if named is None and current is None:
        named = open_session(subject_id, request.session_id, conversation)
        keep_for_ever(conversation, now)
    if named is None or named.conversation_id != conversation.pk:
        raise InvalidRequestError(
            "The previous response does not belong to this session.", code="invalid_session", param="session_id"
        )
    return named


def _held_session(session: Session) -> Session:
    """The session once no deletion is under way in it; a fresh one of its name when it was deleted."""
    if lock_conversation(session.conversation_id):
        return session
    return open_session(session.subject_id, session.name, None)


def _checked(previous: Response | None, request: ResponseRequest, now: datetime) -> Response | None:
    if previous is None:
        check_replay(request)
        return None
    if mode_of(previous) == "model":
        raise InvalidRequestError(
            "The previous response was made in mode 'model', which keeps no state: replay the transcript in 'input'.",
            param="previous_response_id",
        )
    if previous.status in RUNNING:
        raise conversation_locked("previous_response_id")
    if previous.status not in ("completed", "incomplete"):
        raise InvalidRequestError(
            f"The previous response has status '{previous.status}' and cannot be continued.",
            param="previous_response_id",
        )
    check_resume(request, pending_call_ids(previous.pk, now))
    return previous


def _refuse_second_resume(previous: Response | None, request: ResponseRequest, now: datetime) -> None:
    """Of several resumes at once the others are told that the handoff is taken, rather than to try again."""
    if previous is not None and request.outputs:
        check_resume(request, pending_call_ids(previous.pk, now))
