"""Replaces ``item_reference`` items by the stored items they name. An item's id tells its response."""

import json
from datetime import datetime

from pydantic import TypeAdapter

from mirobody_site.tenancy.errors import NotFoundError
from responses_app.models import Response
from responses_app.protocol.ids import response_id_of_item
from responses_app.protocol.input_listing import listed_input
from responses_app.protocol.items import InputItem, ItemReference
from responses_app.protocol.request import ResponseRequest

_ITEM: TypeAdapter[InputItem] = TypeAdapter(InputItem)


def with_referenced_items(request: ResponseRequest, subject_id: int | None, now: datetime) -> ResponseRequest:
    """The request with every referenced item in place. Raises ``NotFoundError`` for one that is not there.

    An item of a response that is expired, deleted or another Subject's is not there.
    """
    wanted = {item.id for item in request.items if isinstance(item, ItemReference)}
    if not wanted:
        return request
    known = _stored_items(wanted, subject_id, now)
    items = [
        _referenced(item, index, known) if isinstance(item, ItemReference) else item
        for index, item in enumerate(request.items)
    ]
    return request.model_copy(update={"input": items})


def _stored_items(wanted: set[str], subject_id: int | None, now: datetime) -> dict[str, InputItem]:
    response_ids = {response_id for item_id in wanted if (response_id := response_id_of_item(item_id))}
    if subject_id is None or not response_ids:
        return {}
    known: dict[str, InputItem] = {}
    for row in Response.objects.live(now).filter(pk__in=response_ids, subject_id=subject_id):
        items = [*json.loads(row.body)["output"], *listed_input(row.pk, json.loads(row.input))]
        known |= {item["id"]: _ITEM.validate_python(item) for item in items if item["id"] in wanted}
    return known


def _referenced(reference: ItemReference, index: int, known: dict[str, InputItem]) -> InputItem:
    item = known.get(reference.id)
    if item is None:
        raise NotFoundError(f"Item with id '{reference.id[:128]}' not found.", param=f"input[{index}]")
    return item
