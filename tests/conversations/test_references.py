"""References to stored items, and the listing of a turn's input items whose ids they may be."""

from typing import Any

import httpx
import pytest
from openai import OpenAI
from openai.types.responses import ResponseItem
from pydantic import TypeAdapter

from responses_app.models import Response
from responses_app.services.sweeping import sweep_expired
from tests.responses_app.api.conftest import LOOKUP, Script, calls_of, create, message, output_for
from tests.support.clock import Clock
from tests.support.envelope import assert_error
from tests.support.server import Account
from tests.support.upstream import Call, Request, Step, Upstream, text_of

Json = dict[str, Any]

PHONE = Call("phone_lookup", {"name": "Dr Li"})
IMAGE = "data:image/png;base64,iVBORw0KGgo="
FILE = "data:application/pdf;base64,JVBERi0="
EVERY_KIND: list[Json] = [
    {"role": "user", "content": "Plain and untyped."},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "A part."}]},
    {"role": "user", "content": [{"type": "input_image", "image_url": IMAGE}]},
    {"role": "user", "content": [{"type": "input_file", "filename": "a.pdf", "file_data": FILE}]},
    {"role": "system", "content": "A rule."},
    {"role": "developer", "content": "Another rule."},
    {"role": "assistant", "content": "Said before."},
    {"role": "assistant", "content": [{"type": "output_text", "text": "Said."}, {"type": "refusal", "refusal": "No."}]},
    {"type": "reasoning", "id": "rs_x", "summary": [{"type": "summary_text", "text": "Thought."}]},
    {"type": "function_call", "call_id": "c1", "name": "phone_lookup", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "555"},
    {"type": "function_call", "call_id": "c2", "name": "phone_lookup", "arguments": "{}", "status": "completed"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_image", "image_url": IMAGE}]},
    {"role": "user", "content": "Last."},
]
"""Input items of all kinds and spellings."""


@pytest.fixture
def openai(server: str, account: Account) -> OpenAI:
    return OpenAI(base_url=f"{server}/v1", api_key=account.key, max_retries=0)


def reference(item: Json) -> Json:
    return {"type": "item_reference", "id": item["id"]}


def input_items(api: httpx.Client, response: Json, **params: str) -> list[Json]:
    """The input items, oldest first."""
    answer = api.get(f"/v1/responses/{response['id']}/input_items", params={"order": "asc", "limit": "100", **params})
    assert answer.status_code == 200, answer.text
    items: list[Json] = answer.json()["data"]
    return items


def asked(upstream: Upstream, mark: str) -> Request:
    """What the model was given first."""
    return upstream.requests(mark)[0]


def spoken(request: Request) -> list[tuple[str, str]]:
    return [(entry["role"], text_of(entry)) for entry in request.messages[1:]]


@pytest.mark.parametrize("store", [True, False])
def test_said_and_thought_items_stand_where_they_are_referenced(
    api: httpx.Client, script: Script, upstream: Upstream, store: bool
) -> None:
    first = create(api, input=f"One {script(Step(reasoning=['Hm.'], text=['Ant.']))}")
    mark = script(Step(text=["Bee."]))
    items = [message("Before."), *map(reference, first["output"]), message(f"After. {mark}")]
    second = create(api, input=items, store=store)
    assert second["previous_response_id"] is None
    assert spoken(asked(upstream, mark)) == [("user", "Before."), ("assistant", "Ant."), ("user", f"After. {mark}")]


@pytest.mark.parametrize("store", [True, False])
def test_a_handoff_is_replayed_by_references(
    api: httpx.Client, script: Script, upstream: Upstream, store: bool
) -> None:
    paused = create(api, input=script(Step(reasoning=["Hm."], text=["I look."], calls=[PHONE])), tools=[LOOKUP])
    (call,) = calls_of(paused)
    mark = script(Step(text=["Bee."]), Step(text=["Cat."]))
    items = [message(f"Go {mark}"), *map(reference, paused["output"]), output_for(call, "555")]
    assert create(api, input=items, tools=[LOOKUP], store=store)["output_text"] == "Cat."
    assert asked(upstream, mark).tool_outputs == ["555"]


@pytest.mark.parametrize("store", [True, False])
def test_a_second_turn_as_the_ai_sdk_sends_it(
    api: httpx.Client, script: Script, upstream: Upstream, store: bool
) -> None:
    """Reasoning and message by reference, the call and its output in full."""
    paused = create(api, input=script(Step(reasoning=["Hm."], text=["I look."], calls=[PHONE])), tools=[LOOKUP])
    thought, said, call = paused["output"]
    mark = script(Step(text=["Bee."]), Step(text=["Cat."]))
    inline = {key: call[key] for key in ("type", "call_id", "name", "arguments")}
    items = [message(f"Go {mark}"), reference(thought), reference(said), inline, output_for(call, "555")]
    assert create(api, input=items, tools=[LOOKUP], store=store)["output_text"] == "Cat."
    request = asked(upstream, mark)
    assert "I look." in [text for _, text in spoken(request)]
    assert request.tool_outputs == ["555"]


def test_a_referenced_output_resumes_nothing_by_itself(api: httpx.Client, script: Script) -> None:
    paused = create(api, input=script(Step(calls=[PHONE])), tools=[LOOKUP])
    resumed = create(api, input=[output_for(calls_of(paused)[0], "555")], previous_response_id=paused["id"])
    (output,) = input_items(api, resumed)
    answer = api.post("/v1/responses", json={"input": [reference(output)]})
    assert_error(answer, 400, "invalid_value", "input")
    assert answer.json()["error"]["message"].startswith("function_call_output without matching function_call items")


def test_a_referenced_output_goes_with_its_call(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    paused = create(api, input=script(Step(calls=[PHONE])), tools=[LOOKUP])
    resumed = create(api, input=[output_for(calls_of(paused)[0], "555")], previous_response_id=paused["id"])
    mark = script(Step(text=["Bee."]), Step(text=["Cat."]))
    items = [message(f"Go {mark}"), *map(reference, [*paused["output"], *input_items(api, resumed)])]
    create(api, input=items, tools=[LOOKUP])
    assert asked(upstream, mark).tool_outputs == ["555"]


@pytest.mark.parametrize("store", [True, False])
def test_every_listed_input_item_can_be_referenced(
    api: httpx.Client, script: Script, upstream: Upstream, store: bool
) -> None:
    marks = [script(Step(text=["Fine."])) for _ in range(2)]
    whole = create(api, input=[*EVERY_KIND, message(marks[0])], tools=[LOOKUP])
    listed = input_items(api, whole)[:-1]
    again = create(api, input=[*map(reference, listed), message(marks[1])], tools=[LOOKUP], store=store)
    given, given_again = (asked(upstream, mark).messages[:-1] for mark in marks)
    assert given == given_again
    if store:
        without_ids = [{**item, "id": None} for item in input_items(api, again)[:-1]]
        assert without_ids == [{**item, "id": None} for item in listed]


@pytest.mark.parametrize("bare", [{}, {"type": None}, {"role": None, "content": None}])
def test_a_reference_may_leave_out_its_type(api: httpx.Client, script: Script, upstream: Upstream, bare: Json) -> None:
    first = create(api, input=f"One {script(Step(text=['Ant.']))}")
    mark = script(Step(text=["Bee."]))
    create(api, input=[{"id": first["output"][0]["id"], **bare}, message(mark)])
    assert spoken(asked(upstream, mark))[0] == ("assistant", "Ant.")


def test_what_is_more_than_an_id_needs_a_type(api: httpx.Client) -> None:
    answer = api.post("/v1/responses", json={"input": [message("Hi"), {"id": "msg_1", "content": "Hi"}]})
    assert_error(answer, 400, "invalid_value", "input[1]")


UNKNOWN = ["msg_" + "0" * 32, "rs_" + "0" * 32, f"fc_{'0' * 32}_0", f"msg_{'0' * 32}_in0", "resp_" + "0" * 32, "x", "…"]


@pytest.mark.parametrize("item_id", UNKNOWN)
@pytest.mark.parametrize("store", [True, False])
def test_an_unknown_item_is_named_by_its_place(api: httpx.Client, item_id: str, store: bool) -> None:
    create(api, input="One")
    items = [message("Hi"), {"type": "item_reference", "id": item_id}]
    assert_error(api.post("/v1/responses", json={"input": items, "store": store}), 404, "not_found", "input[1]")


def test_an_item_past_the_end_of_a_response_is_unknown(api: httpx.Client) -> None:
    first = create(api, input="One")
    digits = first["id"].removeprefix("resp_")
    for item_id in (f"rs_{digits}", f"fc_{digits}_0", f"msg_{digits}_in1", f"msg_{digits}_in00", f"msg_{digits}_0"):
        answer = api.post("/v1/responses", json={"input": [{"type": "item_reference", "id": item_id}]})
        assert_error(answer, 404, "not_found", "input[0]")


@pytest.mark.parametrize("store", [True, False])
def test_items_of_a_response_that_is_not_there(
    api: httpx.Client, other_account: Account, clock: Clock, store: bool
) -> None:
    """Deleted, expired, another Subject's, another account's, never stored: all the same answer but for the id."""
    deleted, expired, hers = (create(api, input="One", user=user) for user in ("him", "him", "her"))
    unstored = create(api, input="One", user="him", store=False)
    api.delete(f"/v1/responses/{deleted['id']}")
    Response.objects.filter(pk=expired["id"]).update(expires_at=clock.now())
    with other_account.client() as stranger:
        theirs = create(stranger, input="One", user="him")
    answers = []
    for gone in (deleted, expired, hers, unstored, theirs):
        item_id = gone["output"][0]["id"]
        items = [message("Hi"), {"type": "item_reference", "id": item_id}]
        answer = api.post("/v1/responses", json={"input": items, "user": "him", "store": store})
        assert_error(answer, 404, "not_found", "input[1]")
        answers.append(answer.text.replace(item_id, ""))
    assert len(set(answers)) == 1


def test_a_deleted_response_that_is_still_continued_from_gives_no_items(api: httpx.Client) -> None:
    root = create(api, input="One")
    head = create(api, input="Two", previous_response_id=root["id"])
    api.delete(f"/v1/responses/{root['id']}")
    sweep_expired()
    answer = api.post("/v1/responses", json={"input": [reference(root["output"][0])]})
    assert_error(answer, 404, "not_found", "input[0]")
    create(api, input=[reference(head["output"][0]), message("Hi")])


def test_a_subject_that_was_never_seen_has_no_items(api: httpx.Client) -> None:
    first = create(api, input="One")
    body = {"input": [reference(first["output"][0])], "user": "nobody", "store": False}
    assert_error(api.post("/v1/responses", json=body), 404, "not_found", "input[0]")


def test_a_plain_text_is_listed_as_one_message(api: httpx.Client) -> None:
    response = create(api, input="Hello")
    (item,) = input_items(api, response)
    content = [{"type": "input_text", "text": "Hello"}]
    expected = {"type": "message", "id": item["id"], "status": "completed", "role": "user", "content": content}
    assert item == expected


def test_items_are_listed_in_the_shapes_that_the_openai_client_knows(api: httpx.Client, openai: OpenAI) -> None:
    response = create(api, input=EVERY_KIND, tools=[LOOKUP])
    shapes: TypeAdapter[ResponseItem] = TypeAdapter(ResponseItem)
    raw = input_items(api, response)
    assert [shapes.validate_python(item).to_dict() for item in raw] == raw
    page = openai.responses.input_items.list(response["id"], order="asc", limit=3)
    listed = list(page)
    assert [item.to_dict() for item in listed] == raw
    assert [item["type"] for item in raw] == [item.get("type", "message") for item in EVERY_KIND]
    ids = {item["id"] for item in raw}
    assert len(ids) == len(EVERY_KIND)
    assert not ids & {item["id"] for item in response["output"]}


def test_only_what_a_turn_was_given_is_listed(api: httpx.Client) -> None:
    first = create(api, input="One")
    second = create(api, input="Two", previous_response_id=first["id"])
    (item,) = input_items(api, second)
    assert item["content"][0]["text"] == "Two"


def page_of(api: httpx.Client, response: Json, **params: str) -> tuple[list[str], Json]:
    """The texts of a page, and the page."""
    answer = api.get(f"/v1/responses/{response['id']}/input_items", params=params)
    assert answer.status_code == 200, answer.text
    page: Json = answer.json()
    assert set(page) == {"object", "data", "first_id", "last_id", "has_more"}
    assert page["object"] == "list"
    return [item["content"][0]["text"] for item in page["data"]], page


def test_pages_newest_first(api: httpx.Client) -> None:
    texts = [str(number) for number in range(5)]
    response = create(api, input=[message(text) for text in texts])
    shown, page = page_of(api, response)
    assert (shown, page["has_more"]) == (texts[::-1], False)
    shown, page = page_of(api, response, limit="2")
    assert (shown, page["has_more"]) == (["4", "3"], True)
    assert (page["first_id"], page["last_id"]) == (page["data"][0]["id"], page["data"][1]["id"])
    shown, page = page_of(api, response, limit="2", after=page["last_id"])
    assert (shown, page["has_more"]) == (["2", "1"], True)
    shown, page = page_of(api, response, limit="2", after=page["last_id"])
    assert (shown, page["has_more"]) == (["0"], False)
    shown, page = page_of(api, response, after=page["last_id"])
    assert (shown, page["has_more"], page["first_id"], page["last_id"]) == ([], False, None, None)


def test_pages_oldest_first(api: httpx.Client) -> None:
    response = create(api, input=[message(str(number)) for number in range(5)])
    shown, page = page_of(api, response, limit="3", order="asc")
    assert (shown, page["has_more"]) == (["0", "1", "2"], True)
    shown, page = page_of(api, response, limit="3", order="asc", after=page["last_id"])
    assert (shown, page["has_more"]) == (["3", "4"], False)


def test_a_page_holds_20_unless_asked_and_at_most_100(api: httpx.Client) -> None:
    response = create(api, input=[message(str(number)) for number in range(101)])
    for params, size in (({}, 20), ({"limit": "1"}, 1), ({"limit": "100"}, 100)):
        shown, page = page_of(api, response, **params)
        assert (len(shown), page["has_more"]) == (size, True)


@pytest.mark.parametrize(
    ("name", "value"),
    [("limit", "0"), ("limit", "101"), ("limit", "-1"), ("limit", "x"), ("order", "up"), ("after", "msg_1")],
)
def test_a_page_that_cannot_be(api: httpx.Client, name: str, value: str) -> None:
    response = create(api, input="One")
    answer = api.get(f"/v1/responses/{response['id']}/input_items", params={name: value})
    assert_error(answer, 400, "invalid_value", name)


def test_an_item_of_another_response_is_no_place_to_go_on_from(api: httpx.Client) -> None:
    one, other = create(api, input="One"), create(api, input="Two")
    (item,) = input_items(api, other)
    answer = api.get(f"/v1/responses/{one['id']}/input_items", params={"after": item["id"]})
    assert_error(answer, 400, "invalid_value", "after")
