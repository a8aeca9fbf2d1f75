"""What a session holds, and how it ends: its working data, and its stored responses if that is asked for."""

from datetime import datetime

from mirobody_site.tenancy.errors import NotFoundError
from mirobody_site.tenancy.models import Subject
from responses_app.models import Response
from responses_app.selectors import find_session, session_response_ids
from responses_app.services.deletion import delete_responses
from tools_app.records.services import delete_session_records


def session_listing(subject_id: int | None, name: str, now: datetime) -> list[str]:
    """The ids of the session's live responses, oldest first. Raises ``NotFoundError`` when there is no such session."""
    session = find_session(subject_id, name)
    if session is None:
        raise _not_found()
    return session_response_ids(session, now)


def end_session(subject: Subject | None, name: str, responses: bool, now: datetime) -> int:
    """Deletes the records kept for the session and, if asked, its responses; how many in all.

    Raises ``NotFoundError`` when there is neither a session of that name nor a record kept for it.
    """
    # No name holds U+0000, which Postgres refuses even to look for.
    if subject is None or "\x00" in name:
        raise _not_found()
    session = find_session(subject.pk, name)
    deleted = delete_session_records(subject, name, now)
    if session is None and not deleted:
        raise _not_found()
    if session is not None and responses:
        rows = list(Response.objects.live(now).filter(conversation_id=session.conversation_id))
        deleted += delete_responses(rows)
    return deleted


def _not_found() -> NotFoundError:
    return NotFoundError("There is no such session.")
