"""Writes the demo people through the same service as the API. What they are like is in demo.py."""

from datetime import datetime

from mirobody_site.tenancy.models import Subject
from mirobody_site.tenancy.services import get_or_create_subject
from tools_app.records.batch import MAX_RECORDS, Batch
from tools_app.records.demo import PERSON, RELATIVE, RELATIVE_NAME, Record, person, relative
from tools_app.records.models import HealthRecord, Retention, Share
from tools_app.records.services import ingest


def seed(account_id: int, now: datetime) -> int:
    """Gives the account its demo people and their share, whichever of them are missing; the number of records written.

    A person who has records is left as she is, so that running it on another day adds nothing.
    """
    written = _write(account_id, PERSON, person(now.date()), now) + _write(
        account_id, RELATIVE, relative(now.date()), now
    )
    giver = get_or_create_subject(account_id, RELATIVE)
    Subject.objects.filter(pk=giver.pk, display_name="").update(display_name=RELATIVE_NAME)
    Share.objects.get_or_create(subject=giver, with_subject=get_or_create_subject(account_id, PERSON))
    return written


def _write(account_id: int, user: str, records: list[Record], now: datetime) -> int:
    if HealthRecord.objects.filter(subject__account_id=account_id, subject__user_key=user).exists():
        return 0
    written = 0
    for start in range(0, len(records), MAX_RECORDS):
        part = {"retention": Retention.PERMANENT.value, "records": records[start : start + MAX_RECORDS]}
        written += ingest(account_id, user, Batch.model_validate(part), now).ingested
    return written
