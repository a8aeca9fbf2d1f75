"""The words on the wire: request, items, response, events, ids. Pydantic and plain values; no Django, no turn logic."""
