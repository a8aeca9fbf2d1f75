"""Finds responses by what callers have in hand. Each way is a look into an index; nothing is searched in part."""

from django.db.models import QuerySet

from mirobody_site.tenancy.models import Subject
from responses_app.models import Response, Session
from responses_app.protocol.ids import is_response_id, response_id_of_item, start_of_response_id

_HASH_DIGITS = 64
_NUMBER_DIGITS = 18
_SESSIONS = 1000


def responses_for(responses: QuerySet[Response], term: str) -> QuerySet[Response]:
    """Those of ``responses`` that ``term`` names: the id of a response, an item, a tool call of the server's, a
    request or a session, or a Subject's number or hash. All of them for an empty term, else none."""
    return _named(responses, term) if term else responses


def _named(responses: QuerySet[Response], term: str) -> QuerySet[Response]:
    response_id = term if is_response_id(term) else response_id_of_item(term)
    if response_id:
        return responses.filter(pk=response_id)
    if start := start_of_response_id(term):
        return responses.filter(pk__startswith=start)
    if len(term) == _HASH_DIGITS:
        return responses.filter(subject_id__in=list(Subject.objects.filter(key_hash=term).values_list("pk", flat=True)))
    if term.isascii() and term.isdigit() and len(term) <= _NUMBER_DIGITS:
        return responses.filter(subject_id=int(term))
    by_request = responses.filter(request_id=term)
    return by_request if by_request.exists() else _of_sessions(responses, term)


def _of_sessions(responses: QuerySet[Response], name: str) -> QuerySet[Response]:
    """Those of the sessions of this name: several Subjects may have one."""
    sessions = Session.objects.filter(name=name).values_list("conversation_id", flat=True)
    return responses.filter(conversation_id__in=list(sessions[:_SESSIONS]))
