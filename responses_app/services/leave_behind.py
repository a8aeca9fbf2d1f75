"""What a health record leaves behind: a stored tool result goes when a record it came from is deleted or expires, or
the share that showed it is revoked or ends.

Until the sweep takes a result out of its row, readers are given the row without it.
Source: the wire contract, section 11.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from responses_app.engine.conversation import Call, CallOutput, Entry, entry_from_json, entry_to_json
from responses_app.engine.grounding import without_records
from responses_app.engine.transcript import compact_json
from responses_app.models import RecordSource, Response
from responses_app.services.lifetimes import turn_lifetime
from responses_app.services.locking import lock_conversation_of
from tools_app.contract import RecordsUsed
from tools_app.records.models import RecordRemoval
from tools_app.records.selectors import removals, surviving

RACE = timedelta(minutes=1)
"""A deletion may be seen this much later than it says: a turn may have read the records while it was under way."""


@dataclass(frozen=True, slots=True)
class Gone:
    """A tool result that is gone. ``foreign``: it was about somebody else, whose name then goes as well."""

    records: int
    foreign: bool

    @property
    def marker(self) -> dict[str, Any]:
        """What stands in the result's place."""
        return {"gone": True, "records": self.records}


GoneCalls = Mapping[str, Gone]
"""Tool results that are gone, by call id."""


def remember(response_id: str, used: Iterable[tuple[str, Sequence[RecordsUsed]]]) -> None:
    """Keeps which records the response's tool results came from, by call id."""
    RecordSource.objects.bulk_create(
        RecordSource(
            response_id=response_id,
            call_id=call_id,
            owner_id=records.owner_id,
            count=records.count,
            record_ids=json.dumps(records.ids),
            expires_at=records.expires_at,
            share_id=records.share_id,
        )
        for call_id, several in used
        for records in several
    )


def gone_from(response_ids: Sequence[str], now: datetime) -> dict[str, dict[str, Gone]]:
    """The tool results of these responses that are gone or have to go, by response id. Three queries at most."""
    return _by_response(_gone(_with_responses(RecordSource.objects.filter(response_id__in=response_ids)), now))


def body_without_gone(row: Response, now: datetime) -> str:
    """The response object as it may be shown now, as JSON text."""
    # Those that were swept as well: the row may have been read just before.
    gone = gone_from([row.pk], now).get(row.pk)
    return _clean_body(row.body, gone) if gone else row.body


def bodies_without_gone(rows: Sequence[Response], now: datetime) -> dict[str, str]:
    """The same for several, by response id, in as many queries as for one. Deleted ones have none: empty text."""
    gone = gone_from([row.pk for row in rows], now)
    return {row.pk: _clean_body(row.body, gone[row.pk]) if row.body and row.pk in gone else row.body for row in rows}


def has_lost_results(response_id: str, now: datetime) -> bool:
    """Whether a tool result of the response is gone, swept or not: then events from its turn may not be shown."""
    return bool(gone_from([response_id], now))


def entries_without_gone(entries: Iterable[Entry], gone: GoneCalls) -> list[Entry]:
    """The entries as a model may see them now."""
    return [_clean_entry(entry, gone) for entry in entries]


def sweep_results(now: datetime, batch: int) -> int:
    """Takes results that are gone out of their rows; how many responses changed. Safe to run at once with itself."""
    expired = RecordSource.objects.filter(gone_at=None, expires_at__lte=now)
    return _sweep(expired, now, batch) + _sweep_removed(now, batch)


def sweep_results_about(owner_id: int, now: datetime, batch: int) -> int:
    """The same for one Subject whose records have just been removed."""
    return _sweep(RecordSource.objects.filter(gone_at=None, owner_id=owner_id), now, batch)


def _sweep_removed(now: datetime, batch: int) -> int:
    notes = RecordRemoval.objects.filter(removed_at__lte=now)
    owners = list(notes.values_list("owner_id", flat=True).distinct())
    changed = sum(sweep_results_about(owner_id, now, batch) for owner_id in owners)
    # A turn that runs may still store what it read before a deletion; until then the note is needed.
    notes.filter(removed_at__lt=now - timedelta(seconds=turn_lifetime()) - 2 * RACE).delete()
    return changed


def _sweep(sources: QuerySet[RecordSource], now: datetime, batch: int) -> int:
    changed, last = 0, ""
    while ids := _response_ids(sources.filter(response_id__gt=last), batch):
        last = ids[-1]
        gone = _by_response(_gone(_with_responses(sources.filter(response_id__in=ids)), now))
        changed += sum(_take_out(response_id, calls, now) for response_id, calls in gone.items())
    return changed


def _response_ids(sources: QuerySet[RecordSource], batch: int) -> list[str]:
    ids = sources.order_by("response_id").values_list("response_id", flat=True).distinct()
    return list(ids[:batch])


@transaction.atomic
def _take_out(response_id: str, gone: GoneCalls, now: datetime) -> bool:
    """Whether there was anything to take out: another sweep may have been here."""
    lock_conversation_of(response_id)
    row = Response.objects.select_for_update().filter(pk=response_id).first()
    waiting = RecordSource.objects.filter(response_id=response_id, call_id__in=gone, gone_at=None)
    if row is None or not waiting.update(gone_at=now, record_ids="[]"):
        return False
    entries = entries_without_gone((entry_from_json(value) for value in json.loads(row.added)), gone)
    row.added = json.dumps([entry_to_json(entry) for entry in entries], ensure_ascii=False)
    row.body = _clean_body(row.body, gone) if row.body else ""
    row.save(update_fields=["added", "body"])
    return True


_BULKY = ("response__body", "response__added", "response__input", "response__request")


def _with_responses(sources: QuerySet[RecordSource]) -> list[RecordSource]:
    return list(sources.select_related("response").defer(*_BULKY))


def _gone(sources: Sequence[RecordSource], now: datetime) -> list[RecordSource]:
    """Those of the sources whose result may not be shown any more."""
    gone: list[RecordSource] = []
    others: list[RecordSource] = []
    for source in sources:
        expired = source.expires_at is not None and source.expires_at <= now
        (gone if source.gone_at or expired else others).append(source)
    if not others:
        return gone
    since = min(source.response.created_at for source in others) - RACE
    notes = removals((source.owner_id for source in others), since)
    return gone + _removed(others, notes, now) if notes else gone


def _removed(sources: Sequence[RecordSource], notes: Sequence[RecordRemoval], now: datetime) -> list[RecordSource]:
    concerned = [(source, later) for source in sources if (later := _since(source, notes))]
    ids = {source.pk: json.loads(source.record_ids) for source, _ in concerned}
    alive = surviving((record_id for several in ids.values() for record_id in several), now)
    return [
        source
        for source, later in concerned
        if any(note.erased or note.share_id for note in later)
        # Of many records only some are known by id, so that any deletion may have been one of the others.
        or source.count > len(ids[source.pk])
        or not alive.issuperset(ids[source.pk])
    ]


def _since(source: RecordSource, notes: Iterable[RecordRemoval]) -> list[RecordRemoval]:
    start = source.response.created_at - RACE
    own = (note for note in notes if note.owner_id == source.owner_id and note.removed_at >= start)
    return [note for note in own if note.share_id in (None, source.share_id)]


def _by_response(sources: Iterable[RecordSource]) -> dict[str, dict[str, Gone]]:
    gone: dict[str, dict[str, Gone]] = defaultdict(dict)
    for source in sources:
        earlier = gone[source.response_id].get(source.call_id, Gone(0, foreign=False))
        foreign = earlier.foreign or source.owner_id != source.response.subject_id
        gone[source.response_id][source.call_id] = Gone(earlier.records + source.count, foreign)
    return gone


def _clean_entry(entry: Entry, gone: GoneCalls) -> Entry:
    match entry:
        case CallOutput(call_id=call_id) if call_id in gone:
            return replace(entry, output=compact_json(gone[call_id].marker))
        case Call(call_id=call_id) if call_id in gone and gone[call_id].foreign:
            return replace(entry, arguments="{}")
        case _:
            return entry


def _clean_body(text: str, gone: GoneCalls) -> str:
    body = json.loads(text)
    for step in body["tool_steps"]:
        if step["call_id"] in gone:
            _clean_step(step, gone[step["call_id"]], body["health_records"] + body["citations"])
    if body["grounding"] is not None:
        body["grounding"] = without_records(body["grounding"], gone)
    return json.dumps(body, ensure_ascii=False)


def _clean_step(step: dict[str, Any], gone: Gone, evidence: Sequence[dict[str, Any]]) -> None:
    for item in evidence:
        if item["tool"] == step["name"] and item["data"] == step["result"]:
            item["data"] = gone.marker
    step["result"] = gone.marker
    if gone.foreign:
        step["arguments"] = {}
