"""Writes of shares, each with its line in the audit: grants, revocations, and the looks that tools have."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime

from django.db import transaction

from mirobody_site.tenancy.models import Subject
from mirobody_site.tenancy.services import lock_subject
from tools_app.records.models import RecordRemoval, Share, ShareEvent
from tools_app.records.selectors import end_of


@transaction.atomic
def grant(
    account_id: int, user: str, with_user: str, scope: Share.Scope, days: tuple[date | None, date | None], now: datetime
) -> Share:
    """Lets the account's Subject ``with_user`` see ``user``'s data from the first to the last of ``days``.

    Both are made when missing. A share that says something else takes the place of the one there was, whose results
    then go; one that says the same is left as it is.
    """
    # In one order whoever shares with whom, so that two of them never wait for each other.
    locked = {name: lock_subject(account_id, name) for name in sorted({user, with_user})}
    pair = {"subject": locked[user], "with_subject": locked[with_user]}
    known = Share.objects.filter(**pair).first()
    if known is not None:
        if (known.scope, known.start, known.end) == (scope, *days):
            return known
        _revoke([known], now)
    share = Share.objects.create(**pair, scope=scope, start=days[0], end=days[1])
    _note([share], ShareEvent.Action.GRANTED, now)
    return share


@transaction.atomic
def revoke(subject: Subject, with_subject: Subject, now: datetime) -> int:
    """Takes the share back; how many there were: 1 or 0. What was seen through it goes from stored results."""
    shares = list(Share.objects.select_for_update().filter(subject=subject, with_subject=with_subject))
    _revoke(shares, now)
    return len(shares)


def revoke_all(subject: Subject, now: datetime) -> None:
    """Takes back every share that the Subject gave or received."""
    _revoke([*subject.shares_given.all(), *subject.shares_received.all()], now)


def note_access(shares: Iterable[Share], tool: str, now: datetime) -> None:
    """Notes that a tool showed what these shares let see."""
    _note(shares, ShareEvent.Action.ACCESSED, now, tool)


def ends_of_given(subject: Subject) -> dict[int, datetime]:
    """When the shares that the Subject gave end by themselves in its time zone, by key."""
    given = Share.objects.filter(subject=subject, end__isnull=False)
    return {share.pk: end for share in given if (end := end_of(share, subject.time_zone))}


def note_earlier_ends(subject: Subject, before: Mapping[int, datetime], now: datetime) -> None:
    """Notes, for whoever has kept what was seen through them, which shares end earlier than ``before``."""
    after = ends_of_given(subject)
    _note_ended([(subject.pk, key) for key, end in before.items() if key in after and after[key] < end], now)


def _note_ended(shares: Iterable[tuple[int, int]], now: datetime) -> None:
    RecordRemoval.objects.bulk_create(
        RecordRemoval(owner_id=owner_id, share_id=share_id, removed_at=now) for owner_id, share_id in shares
    )


def _revoke(shares: list[Share], now: datetime) -> None:
    _note(shares, ShareEvent.Action.REVOKED, now)
    _note_ended([(share.subject_id, share.pk) for share in shares], now)
    Share.objects.filter(pk__in=[share.pk for share in shares]).delete()


def _note(shares: Iterable[Share], action: ShareEvent.Action, now: datetime, tool: str = "") -> None:
    ShareEvent.objects.bulk_create(
        ShareEvent(
            account_id=share.subject.account_id,
            share_id=share.pk,
            owner_id=share.subject_id,
            viewer_id=share.with_subject_id,
            action=action,
            tool=tool,
            happened_at=now,
        )
        for share in shares
    )
