"""What turns used, by account, key, Subject and day, and the cap on what an account may spend. Not here: prices.

Days and months are those of UTC. Source: the wire contract, section 1.
"""

from dataclasses import asdict, dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db.models import F, Sum
from django.utils import timezone

from mirobody_site.tenancy.errors import InsufficientQuotaError
from mirobody_site.tenancy.models import ApiKey, UsageOfDay

_MICRO_USD = 1_000_000
GROUPINGS: dict[str, dict[str, str]] = {
    "account": {"account": "account__username"},
    "key": {"account": "account__username", "key": "api_key__prefix", "key_name": "api_key__name", "id": "api_key_id"},
    "subject": {"account": "account__username", "subject": "subject_number"},
    "day": {"day": "day"},
}
"""What usage can be summed up by: what tells its rows apart, by name, and where that stands."""
_COUNTS = (
    "turns",
    "model_calls",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cost_micro_usd",
)


@dataclass(frozen=True, slots=True)
class Used:
    """What one turn used. ``cached_tokens`` are a part of ``input_tokens``, ``reasoning_tokens`` of the output."""

    model_calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost_micro_usd: int
    turns: int = 1


def add_usage(account_id: int, api_key_id: int, subject_id: int | None, used: Used) -> None:
    """Adds what a turn that ends now used: one statement, but for the first turn of a day."""
    place = {
        "account_id": account_id,
        "api_key_id": api_key_id,
        "subject_number": subject_id or 0,
        "day": timezone.now().date(),
    }
    added = {name: F(name) + count for name, count in asdict(used).items()}
    rows = UsageOfDay.objects.filter(**place)
    if not rows.update(**added):
        UsageOfDay.objects.bulk_create([UsageOfDay(**place)], ignore_conflicts=True)
        rows.update(**added)


def usage_by(grouping: str, first: date, last: date, account: str | None = None) -> list[dict[str, Any]]:
    """What was used from the first to the last day: a row for each of ``grouping``, in order. ``account``: only its."""
    days = UsageOfDay.objects.filter(day__range=(first, last))
    if account is not None:
        days = days.filter(account__username=account)
    places = GROUPINGS[grouping]
    summed = days.values(*places.values()).annotate(**{f"sum_{name}": Sum(name) for name in _COUNTS})
    return [
        {name: row[place] for name, place in places.items()} | {name: row[f"sum_{name}"] for name in _COUNTS}
        for row in summed.order_by(*places.values())
    ]


def spent_in_month(account_id: int, now: datetime) -> Decimal:
    """What the account's turns have cost since the month began, in USD."""
    month = UsageOfDay.objects.filter(account_id=account_id, day__gte=now.date().replace(day=1))
    spent: int | None = month.aggregate(spent=Sum("cost_micro_usd"))["spent"]
    return Decimal(spent or 0) / _MICRO_USD


def check_cap(key: ApiKey) -> None:
    """Raises ``InsufficientQuotaError`` when the account has a cap and has spent it."""
    profile = getattr(key.account, "profile", None)
    cap: Decimal | None = profile.monthly_cap_usd if profile else None
    if cap is not None and spent_in_month(key.account_id, timezone.now()) >= cap:
        raise InsufficientQuotaError(
            f"This account has spent what it may in this month: {cap} USD.",
            # Clients repeat a 429 by themselves; before the next month that makes no sense.
            headers={"X-Should-Retry": "false"},
        )
