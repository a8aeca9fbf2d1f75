"""Writes out what is kept of a Subject, in pieces, as JSON and as a FHIR bundle. It is content from end to end."""

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from mirobody_site.tenancy.errors import NotFoundError
from mirobody_site.tenancy.models import Subject
from responses_app.models import Conversation, HarnessFile, Response
from responses_app.protocol.input_listing import listed_input
from responses_app.services.leave_behind import bodies_without_gone
from responses_app.services.queueing import queued_body
from tools_app.api.rows import clinical_row, record_row, share_row
from tools_app.fhir.bundles import bundle_entries
from tools_app.records.selectors import clinical_records_of, pages_of, records_of, shares_of

Json = dict[str, Any]
Track = Callable[[Iterable[Json]], Iterable[Json]]
_PAGE = 100


def exported_json(subject: Subject, now: datetime, track: Track = lambda rows: rows) -> Iterator[str]:
    """One JSON object in pieces of text: the Subject, its readings, clinical records, shares, sessions, and responses.

    Each part is a list of objects as the API shows them; a response is ``{"conversation", "session_id", "response",
    "input", "files"}``, with the agent's files as that turn left them. What has expired or was deleted is not in it.
    ``track`` is given what is worked through, to show how far it is. Raises ``NotFoundError`` at the end when the
    Subject was erased meanwhile: then the text is not whole.
    """
    readings = (record_row(one) for page in pages_of(records_of(subject, now)) for one in page)
    clinical = (clinical_row(one) for page in pages_of(clinical_records_of(subject, now)) for one in page)
    yield '{"object": "subject_export", "exported_at": ' + _text(now.isoformat())
    yield ', "subject": ' + _text(_subject(subject))
    yield from _list("health_records", track(readings))
    yield from _list("clinical_records", track(clinical))
    yield from _list("shares", (share_row(one, now) for one in shares_of(subject)))
    yield from _list("responses", track(_responses(subject, now)))
    _check_still_there(subject)
    yield "}\n"


def exported_fhir(subject: Subject, now: datetime, track: Track = lambda rows: rows) -> Iterator[str]:
    """A FHIR R4 Bundle (type ``collection``) in pieces of text: the Subject as a Patient, and its records.

    ``track`` and what it raises are those of ``exported_json``. ``import_fhir`` reads it again.
    """
    yield '{"resourceType": "Bundle", "type": "collection", "timestamp": ' + _text(now.isoformat(timespec="seconds"))
    yield from _list("entry", track(bundle_entries(subject, now)))
    _check_still_there(subject)
    yield "}\n"


def _check_still_there(subject: Subject) -> None:
    if not Subject.objects.filter(pk=subject.pk, erased_at=None).exists():
        raise NotFoundError("There is no such Subject.")


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _list(name: str, rows: Iterable[Json]) -> Iterator[str]:
    yield f', "{name}": ['
    for index, row in enumerate(rows):
        yield (",\n" if index else "\n") + _text(row)
    yield "]"


def _subject(subject: Subject) -> Json:
    return {
        "user": subject.user_key or None,
        "display_name": subject.display_name or None,
        "time_zone": subject.time_zone,
        "created_at": subject.created_at.isoformat(),
    }


def _responses(subject: Subject, now: datetime) -> Iterator[Json]:
    """The live responses, by conversation, oldest first."""
    for page in pages_of(Conversation.objects.filter(subject=subject).select_related("session")):
        for conversation in page:
            live = Response.objects.live(now).filter(conversation=conversation).order_by("created_at", "pk")
            ids = list(live.values_list("pk", flat=True))
            for start in range(0, len(ids), _PAGE):
                yield from _turns(conversation, ids[start : start + _PAGE], now)


def _turns(conversation: Conversation, ids: list[str], now: datetime) -> Iterator[Json]:
    rows = Response.objects.in_bulk(ids)
    bodies = bodies_without_gone(list(rows.values()), now)
    files: dict[str, dict[str, str]] = {}
    for file in HarnessFile.objects.filter(response_id__in=ids).order_by("pk"):
        files.setdefault(file.response_id, {})[file.path] = file.content
    session = getattr(conversation, "session", None)
    for pk in ids:
        # One may have gone since the list was read.
        if pk in rows and bodies[pk]:
            row = rows[pk]
            yield {
                "conversation": conversation.pk,
                "session_id": session.name if session else None,
                "response": json.loads(queued_body(row) if row.status == "queued" else bodies[pk]),
                "input": listed_input(pk, json.loads(row.input)),
                "files": files.get(pk, {}),
            }
