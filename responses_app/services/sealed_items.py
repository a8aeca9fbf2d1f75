"""What callers keep for us sealed: who may give it back, and what is in it then. Not here: the cipher."""

import json
from functools import partial

from mirobody_site.tenancy.errors import InvalidRequestError
from responses_app.engine.transcript import Openers
from responses_app.protocol.items import CompactionItem
from responses_app.services.sealing import seal, unseal
from responses_app.services.turn_order import TurnOrder

_COMPACTION = "compaction"


def openers(order: TurnOrder) -> Openers:
    """What opens the sealed items in the conversation of ``order``."""
    return Openers(partial(unseal, order.account_id), partial(_opened_summary, order))


def sealed_summary(order: TurnOrder, summary: str) -> str:
    """``summary`` for the Subject of ``order`` alone, until that is erased."""
    content = {"user": order.user or "", "subject": order.subject_id, "summary": summary}
    return seal(order.account_id, json.dumps(content), _COMPACTION)


def check_compactions(order: TurnOrder) -> None:
    """Raises ``InvalidRequestError`` for a compaction item of the input that cannot be opened."""
    for index, item in enumerate(order.request.items):
        if isinstance(item, CompactionItem) and _opened_summary(order, item.encrypted_content) is None:
            raise InvalidRequestError(
                "This compaction item cannot be opened: it was not given out to this Subject, or is gone.",
                param=f"input[{index}].encrypted_content",
            )


def _opened_summary(order: TurnOrder, token: str) -> str | None:
    text = unseal(order.account_id, token, _COMPACTION)
    if text is None:
        return None
    content = json.loads(text)
    # A Subject that nothing was written for had no number yet; an erased one's is never given again.
    if content["user"] != (order.user or "") or content["subject"] not in (None, order.subject_id):
        return None
    summary: str = content["summary"]
    return summary
