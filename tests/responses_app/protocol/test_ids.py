"""Ids lead back to their response."""

from responses_app.protocol.ids import new_call_id, new_response_id, start_of_response_id


def test_a_call_id_begins_as_its_response_does() -> None:
    response_id = new_response_id()
    ids = {new_call_id(response_id) for _ in range(1000)}
    assert len(ids) == 1000
    starts = {start_of_response_id(call_id) for call_id in ids}
    assert len(starts) == 1
    start = starts.pop()
    assert start is not None
    assert response_id.startswith(start)
    assert start_of_response_id("call_of_somebody_else") is None
