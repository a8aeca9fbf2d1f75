"""Whom a tool may read: the Subject itself, and a family member through a share. No argument can widen that."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from mirobody_site.tenancy.models import Subject
from tools_app.contract import NotPermitted, RecordsUsed, ToolContext
from tools_app.records.clinical import ClinicalRecord, ClinicalRecordQuerySet
from tools_app.records.models import HealthRecord, HealthRecordQuerySet, Share
from tools_app.records.selectors import (
    clinical_records_of,
    end_of,
    records_of,
    shared_clinical_records,
    shared_records,
    shares_received,
)
from tools_app.records.sharing import note_access

DEFAULT_SUBJECT = "@default"
NO_SUCH_MEMBER = "There is no such family member. list_family_members tells who shares data."
MEMBER_SCHEMA = {
    "type": "string",
    "maxLength": 256,
    "description": "A family member who shares data: `member` from list_family_members. Leave out for this person.",
}


def member_key(subject: Subject) -> str:
    """How tools name a sharing Subject: its user key, ``@default`` for an account's default Subject."""
    return subject.user_key or DEFAULT_SUBJECT


@dataclass(frozen=True, slots=True)
class Person:
    """Whose records a tool reads: the ones it may see and the zone of the person's days. ``owner_id``: none yet.

    ``share`` is what lets it see them when the person is another one.
    """

    owner_id: int | None
    records: HealthRecordQuerySet
    clinical: ClinicalRecordQuerySet
    zone: ZoneInfo
    share: Share | None = None

    def used(self, count: int, ids: Sequence[str], expires_at: datetime | None) -> tuple[RecordsUsed, ...]:
        """The person's records behind a result, of which the first expires at ``expires_at``."""
        if self.owner_id is None:
            return ()
        if self.share is None:
            return (RecordsUsed(self.owner_id, count, tuple(ids), expires_at),)
        return (used_through(self.share, count, ids, expires_at),)


def readable_person(context: ToolContext, member: str | None, tool: str) -> Person:
    """The Subject itself, or ``member``, which the audit then notes as a look that ``tool`` had.

    Raises NotPermitted, in the same words whoever is named, unless that person shares with the Subject.
    """
    if member is not None:
        share = _share_of(context, member)
        note_access([share], tool, context.now)
        return Person(
            share.subject_id,
            shared_records(share, context.now),
            shared_clinical_records(share, context.now),
            ZoneInfo(share.subject.time_zone),
            share,
        )
    own = Subject.objects.filter(account_id=context.account_id)
    subject = own.filter(pk=context.subject_id).first() if context.subject_id is not None else None
    if subject is None:
        return Person(None, HealthRecord.objects.none(), ClinicalRecord.objects.none(), ZoneInfo("UTC"))
    return Person(
        subject.pk,
        records_of(subject, context.now),
        clinical_records_of(subject, context.now),
        ZoneInfo(subject.time_zone),
    )


def check_shared(person: Person, scope: Share.Scope) -> None:
    """Raises NotPermitted when the person shares, but not this."""
    if person.share and person.share.scope not in (Share.Scope.ALL, scope):
        raise NotPermitted(f"What this family member shares is limited to: {person.share.scope}.")


def shares_for(context: ToolContext) -> list[Share]:
    """The shares from Subjects of its own account that let this Subject see them now."""
    received = shares_received(context.subject_id, context.now)
    return [share for share in received if share.subject.account_id == context.account_id]


def used_through(share: Share, count: int, ids: Sequence[str] = (), expires_at: datetime | None = None) -> RecordsUsed:
    """What was seen through a share, which goes with it."""
    expiries = [moment for moment in (expires_at, end_of(share, share.subject.time_zone)) if moment]
    return RecordsUsed(share.subject_id, count, tuple(ids), min(expiries, default=None), share.pk)


def _share_of(context: ToolContext, member: str) -> Share:
    """By key; a display name will do when only one sharer has it."""
    shares = shares_for(context)
    by_key = [share for share in shares if member_key(share.subject) == member]
    by_name = [share for share in shares if share.subject.display_name.casefold() == member.casefold().strip() != ""]
    for candidates in (by_key, by_name):
        if len(candidates) == 1:
            return candidates[0]
    raise NotPermitted(NO_SUCH_MEMBER)
