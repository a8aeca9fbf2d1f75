"""The health records behind tool results, as pages show them."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from responses_app.models import RecordSource
from tools_app.records.clinical import ClinicalRecord
from tools_app.records.models import HealthRecord

MAX_SHOWN = 20
"""Of the records behind one result so many are shown."""

Record = HealthRecord | ClinicalRecord


@dataclass(frozen=True, slots=True)
class RecordsBehind:
    """Whose records a result came from, how many, and those of them that are shown and still there."""

    owner_id: int
    share_id: int | None
    count: int
    gone: bool
    readings: list[HealthRecord]
    clinical: list[ClinicalRecord]


def records_behind(response_ids: Sequence[str], now: datetime) -> Mapping[str, Mapping[str, list[RecordsBehind]]]:
    """By response and call id what stands behind its tool results. Three queries, whatever there is."""
    sources = list(RecordSource.objects.filter(response_id__in=response_ids).order_by("pk"))
    named = {source.pk: json.loads(source.record_ids)[:MAX_SHOWN] for source in sources}
    wanted = {record_id for ids in named.values() for record_id in ids}
    readings = {one.public_id: one for one in HealthRecord.objects.live(now).filter(public_id__in=wanted)}
    clinical = {one.public_id: one for one in ClinicalRecord.objects.live(now).filter(public_id__in=wanted)}
    found: dict[str, dict[str, list[RecordsBehind]]] = defaultdict(lambda: defaultdict(list))
    for source in sources:
        ids = named[source.pk]
        found[source.response_id][source.call_id].append(
            RecordsBehind(
                owner_id=source.owner_id,
                share_id=source.share_id,
                count=source.count,
                gone=source.gone_at is not None,
                readings=[readings[one] for one in ids if one in readings],
                clinical=[clinical[one] for one in ids if one in clinical],
            )
        )
    return found
