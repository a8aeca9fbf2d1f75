"""The window that stands for a conversation: what the user said, and the sealed summary of a turn that has ended."""

from dataclasses import replace

from django.utils import timezone

from mirobody_site.tenancy.selectors import find_subject
from responses_app.engine.compaction import kept_messages
from responses_app.protocol.compaction import compaction
from responses_app.protocol.items import InputItem
from responses_app.protocol.request import ResponseRequest
from responses_app.protocol.response import ResponseObject
from responses_app.selectors import conversation_turns
from responses_app.services.references import with_referenced_items
from responses_app.services.resume import previous_not_found
from responses_app.services.sealed_items import sealed_summary
from responses_app.services.turn_order import TurnOrder


def compacted(order: TurnOrder, response: ResponseObject) -> dict[str, object]:
    """The compaction of the conversation of ``order``. ``response``: that of the turn that summarized it.

    Raises ``NotFoundError`` when the conversation was deleted meanwhile.
    """
    # Of a retry that was given the turn it repeats, no more is known than what its caller sent.
    subject = find_subject(order.account_id, order.user or "")
    subject_id = subject.pk if subject else None
    request = with_referenced_items(order.request, subject_id, timezone.now())
    items = [*_earlier_input(request.previous_response_id), *request.items]
    summary = sealed_summary(replace(order, subject_id=subject_id), response["output_text"])
    return compaction(response, kept_messages(items), summary)


def _earlier_input(previous_id: str | None) -> list[InputItem]:
    if previous_id is None:
        return []
    turns = list(conversation_turns(previous_id))
    if not turns:
        raise previous_not_found(previous_id)
    return [item for turn in turns for item in ResponseRequest.model_validate({"input": turn.input}).items]
