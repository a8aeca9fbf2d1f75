"""The order in which writers lock rows, so that no two wait for each other: Subject, conversation, then the rest.

Whoever writes to more than one row of a conversation locks the conversation first; whoever adds one, or a row about the
Subject, locks the Subject before it (``tenancy.services.lock_subject``). SQLite has one writer at a time and no rows to
lock. To be called inside a transaction.
"""

from responses_app.models import Conversation


def lock_conversation(conversation_id: int) -> Conversation | None:
    """The conversation, kept from other writers until the transaction ends; ``None`` when it is gone."""
    return Conversation.objects.select_for_update().filter(pk=conversation_id).first()


def lock_conversation_of(response_id: str) -> Conversation | None:
    """The same for the conversation that a response stands in."""
    holder = Conversation.objects.select_for_update(of=("self",)).filter(responses=response_id)
    return holder.first()
