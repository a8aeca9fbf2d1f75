"""Whom a tool may read: the Subject itself, and a family member through a share. No argument can widen that."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from mirobody_site.tenancy.models import Subject
from tools_app.contract import NotPermitted, ToolContext
from tools_app.records.models import HealthRecord, HealthRecordQuerySet, Share
from tools_app.records.selectors import records_of, shared_records, shares_received

DEFAULT_SUBJECT = "@default"
NO_SUCH_MEMBER = "There is no such family member. list_family_members tells who shares data."


def member_key(subject: Subject) -> str:
    """How tools name a sharing Subject: its user key, ``@default`` for an account's default Subject."""
    return subject.user_key or DEFAULT_SUBJECT


@dataclass(frozen=True, slots=True)
class Person:
    """Whose records a tool reads: the records it may see and the zone of the person's days. ``owner_id``: none yet."""

    owner_id: int | None
    records: HealthRecordQuerySet
    zone: ZoneInfo


def readable_person(context: ToolContext, member: str | None) -> Person:
    """The Subject itself, or ``member``.

    Raises NotPermitted, in the same words whoever is named, unless that person shares with the Subject.
    """
    if member is not None:
        share = _share_of(context, member)
        return Person(share.subject_id, shared_records(share, context.now), ZoneInfo(share.subject.time_zone))
    own = Subject.objects.filter(account_id=context.account_id)
    subject = own.filter(pk=context.subject_id).first() if context.subject_id is not None else None
    if subject is None:
        return Person(None, HealthRecord.objects.none(), ZoneInfo("UTC"))
    return Person(subject.pk, records_of(subject, context.now), ZoneInfo(subject.time_zone))


def shares_for(context: ToolContext) -> list[Share]:
    """The shares this Subject has received from Subjects of its own account."""
    return [share for share in shares_received(context.subject_id) if share.subject.account_id == context.account_id]


def _share_of(context: ToolContext, member: str) -> Share:
    """By key; a display name will do when only one sharer has it."""
    shares = shares_for(context)
    by_key = [share for share in shares if member_key(share.subject) == member]
    by_name = [share for share in shares if share.subject.display_name.casefold() == member.casefold().strip() != ""]
    for candidates in (by_key, by_name):
        if len(candidates) == 1:
            return candidates[0]
    raise NotPermitted(NO_SUCH_MEMBER)
