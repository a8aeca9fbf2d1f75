"""The items and parts of ``input``: which are taken, what the model is given of them, how the others are refused."""

from typing import Any

import httpx
import pytest

from tests.responses_app.api.both_ways import accepted, refused
from tests.responses_app.api.conftest import LOOKUP, Script, create, message, output_for
from tests.support.server import Account
from tests.support.upstream import Call, Step, Upstream, text_of

Json = dict[str, Any]

PNG = "data:image/png;base64,iVBORw0KGgo="
PDF = "data:application/pdf;base64,JVBERi0="
CALL: Json = {"type": "function_call", "call_id": "c1", "name": "phone_lookup", "arguments": '{"name": "Bob"}'}
OUTPUT: Json = {"type": "function_call_output", "call_id": "c1", "output": "555-0100"}


def seen(upstream: Upstream, mark: str) -> list[Json]:
    """The messages of the model's last request with this mark, the system prompt left out."""
    return upstream.requests(mark)[-1].messages[1:]


def texts(upstream: Upstream, mark: str) -> list[tuple[str, str]]:
    return [(each["role"], text_of(each)) for each in seen(upstream, mark)]


@pytest.fixture
def mark(script: Script) -> str:
    return script(Step(text=["Fine."]), repeat_last=True)


@pytest.mark.parametrize("role", ["user", "assistant", "system", "developer"])
@pytest.mark.parametrize("with_type", [True, False])
def test_a_message_of_every_role(api: httpx.Client, upstream: Upstream, mark: str, role: str, with_type: bool) -> None:
    item = message("Something said.", role) if with_type else {"role": role, "content": "Something said."}
    accepted(api, {"input": [item, message(f"hi {mark}")]})
    told_as = "system" if role == "developer" else role
    assert (told_as, "Something said.") in texts(upstream, mark)


def test_a_string_is_one_user_message(api: httpx.Client, upstream: Upstream, mark: str) -> None:
    accepted(api, {"input": f"hi {mark}"})
    assert texts(upstream, mark) == [("user", f"hi {mark}")]


def test_all_forms_of_a_history_give_the_model_the_same(api: httpx.Client, upstream: Upstream, mark: str) -> None:
    said = [("user", "hi"), ("assistant", "hello"), ("user", f"more {mark}")]
    bare = [{"role": role, "content": text} for role, text in said]
    typed = [message(text, role) for role, text in said]
    parts = [
        {"role": role, "content": [{"type": "output_text" if role == "assistant" else "input_text", "text": text}]}
        for role, text in said
    ]
    for history in (bare, typed, parts):
        accepted(api, {"input": history})
        assert texts(upstream, mark) == said


TEXT_PARTS: list[tuple[str, Json]] = [
    ("user", {"type": "input_text", "text": "words"}),
    ("user", {"type": "output_text", "text": "words"}),
    ("assistant", {"type": "output_text", "text": "words"}),
    ("assistant", {"type": "input_text", "text": "words"}),
    ("assistant", {"type": "refusal", "refusal": "words"}),
    (
        "assistant",
        {"type": "output_text", "text": "words", "annotations": [], "logprobs": [], "phase": "x", "extra": 1},
    ),
    ("assistant", {"type": "output_text", "text": "words", "annotations": None, "logprobs": None}),
]


@pytest.mark.parametrize(("role", "part"), TEXT_PARTS, ids=[f"{role} {part}"[:60] for role, part in TEXT_PARTS])
def test_a_text_part(api: httpx.Client, upstream: Upstream, mark: str, role: str, part: Json) -> None:
    accepted(api, {"input": [{"role": role, "content": [part, part]}, message(f"hi {mark}")]})
    ((told_role, told_text), _) = texts(upstream, mark)
    assert (told_role, told_text.split()) == (role, ["words", "words"])


MEDIA: list[tuple[Json, Json]] = [
    (
        {"type": "input_image", "image_url": PNG},
        {"type": "image_url", "image_url": {"url": PNG, "detail": "auto"}},
    ),
    (
        {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "low", "file_id": None},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
    ),
    (
        {"type": "input_image", "image_url": PNG, "detail": None},
        {"type": "image_url", "image_url": {"url": PNG, "detail": "auto"}},
    ),
    (
        {"type": "input_file", "filename": "a.pdf", "file_data": PDF, "file_id": None, "file_url": None},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
    ),
    (
        {"type": "input_file", "file_data": PDF},
        {"type": "file", "file": {"filename": "file", "file_data": PDF}},
    ),
]


@pytest.mark.parametrize(("part", "told"), MEDIA, ids=[str(part)[:60] for part, _ in MEDIA])
def test_an_image_or_file_in_a_message(
    api: httpx.Client, upstream: Upstream, mark: str, part: Json, told: Json
) -> None:
    text = {"type": "input_text", "text": f"What is it? {mark}"}
    accepted(api, {"input": [{"role": "user", "content": [text, part]}]})
    assert seen(upstream, mark)[-1]["content"] == [{"type": "text", "text": text["text"]}, told]


@pytest.mark.parametrize(("part", "told"), MEDIA, ids=[str(part)[:60] for part, _ in MEDIA])
def test_an_image_or_file_in_a_tool_output_reaches_the_model(
    api: httpx.Client, upstream: Upstream, script: Script, part: Json, told: Json
) -> None:
    mark = script(Step(text=["Fine."]), repeat_last=True)
    output = OUTPUT | {"output": [{"type": "input_text", "text": "Here:"}, part]}
    accepted(api, {"input": [message("go"), CALL, output, message(f"hi {mark}")]})
    told_parts = [
        piece for each in seen(upstream, mark) if isinstance(each["content"], list) for piece in each["content"]
    ]
    assert told in told_parts
    assert any(each["role"] == "tool" and "Here:" in text_of(each) for each in seen(upstream, mark))


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("555-0100", "555-0100"),
        ("", ""),
        ("\u2028 {}\r\n\t", "\u2028 {}\r\n\t"),
        ([{"type": "input_text", "text": "555"}], "555"),
        ([{"type": "input_text", "text": "555"}, {"type": "input_text", "text": "0100"}], "555\n0100"),
        ([{"type": "output_text", "text": "555", "annotations": []}], "555"),
        ([], ""),
    ],
    ids=str,
)
def test_a_tool_output_of_text(api: httpx.Client, upstream: Upstream, mark: str, output: object, told: str) -> None:
    accepted(api, {"input": [message("go"), CALL, OUTPUT | {"output": output}, message(f"hi {mark}")]})
    assert ("tool", told) in texts(upstream, mark)


BAD_ITEMS: list[tuple[object, str, str]] = [
    (None, "invalid_type", "input[1]"),
    (5, "invalid_type", "input[1]"),
    ("hi", "invalid_type", "input[1]"),
    ([], "invalid_type", "input[1]"),
    ({}, "invalid_value", "input[1]"),
    ({"type": "message"}, "missing_required_parameter", "input[1].role"),
    ({"role": "user"}, "missing_required_parameter", "input[1].content"),
    ({"role": "user", "content": None}, "missing_required_parameter", "input[1].content"),
    ({"role": "user", "content": 5}, "invalid_type", "input[1].content"),
    ({"role": "user", "content": {}}, "invalid_type", "input[1].content"),
    ({"role": "user", "content": ["hi"]}, "invalid_type", "input[1].content[0]"),
    ({"role": "user", "content": [None]}, "invalid_type", "input[1].content[0]"),
    ({"role": "user", "content": [{}]}, "invalid_value", "input[1].content[0]"),
    ({"role": "tool", "content": "hi"}, "invalid_value", "input[1].role"),
    ({"role": 5, "content": "hi"}, "invalid_type", "input[1].role"),
    ({"role": "user", "content": [{"type": "input_text"}]}, "missing_required_parameter", "input[1].content[0].text"),
    ({"role": "user", "content": [{"type": "input_text", "text": 5}]}, "invalid_type", "input[1].content[0].text"),
    (
        {"role": "assistant", "content": [{"type": "refusal", "text": "no"}]},
        "missing_required_parameter",
        "input[1].content[0].refusal",
    ),
    (
        {"role": "user", "content": [{"type": "input_image"}]},
        "missing_required_parameter",
        "input[1].content[0].image_url",
    ),
    (
        {"role": "user", "content": [{"type": "input_image", "image_url": {"url": PNG}}]},
        "invalid_type",
        "input[1].content[0].image_url",
    ),
    (
        {"role": "user", "content": [{"type": "input_image", "image_url": PNG, "detail": "tiny"}]},
        "invalid_value",
        "input[1].content[0].detail",
    ),
    (
        {"role": "user", "content": [{"type": "input_image", "file_id": "file_1"}]},
        "unsupported_parameter",
        "input[1].content[0]",
    ),
    (
        {"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]},
        "unsupported_parameter",
        "input[1].content[0]",
    ),
    (
        {"role": "user", "content": [{"type": "input_file", "file_url": "https://example.com/a.pdf"}]},
        "unsupported_parameter",
        "input[1].content[0]",
    ),
    (
        {"role": "user", "content": [{"type": "input_file", "filename": "a.pdf"}]},
        "missing_required_parameter",
        "input[1].content[0].file_data",
    ),
    (CALL | {"call_id": None}, "missing_required_parameter", "input[1].call_id"),
    (CALL | {"call_id": ""}, "invalid_value", "input[1].call_id"),
    (CALL | {"call_id": 5}, "invalid_type", "input[1].call_id"),
    (CALL | {"name": None}, "missing_required_parameter", "input[1].name"),
    (CALL | {"name": "with space"}, "invalid_value", "input[1].name"),
    (CALL | {"arguments": None}, "missing_required_parameter", "input[1].arguments"),
    (CALL | {"arguments": {"name": "Bob"}}, "invalid_type", "input[1].arguments"),
    (OUTPUT | {"call_id": None}, "missing_required_parameter", "input[1].call_id"),
    (OUTPUT | {"call_id": ""}, "invalid_value", "input[1].call_id"),
    (OUTPUT | {"output": None}, "missing_required_parameter", "input[1].output"),
    (OUTPUT | {"output": 5}, "invalid_type", "input[1].output"),
    (OUTPUT | {"output": {"a": 1}}, "invalid_type", "input[1].output"),
    (OUTPUT | {"output": [{"type": "input_audio"}]}, "invalid_value", "input[1].output[0]"),
    (
        OUTPUT | {"output": [{"type": "input_file", "file_id": "file_1"}]},
        "unsupported_parameter",
        "input[1].output[0]",
    ),
    ({"type": "reasoning", "summary": "thought"}, "invalid_type", "input[1].summary"),
    ({"type": "reasoning", "summary": ["thought"]}, "invalid_type", "input[1].summary[0]"),
    ({"type": "reasoning", "encrypted_content": 5}, "invalid_type", "input[1].encrypted_content"),
]


@pytest.mark.parametrize(("item", "code", "param"), BAD_ITEMS, ids=[str(item)[:70] for item, *_ in BAD_ITEMS])
def test_an_item_that_cannot_be(api: httpx.Client, item: object, code: str, param: str) -> None:
    refused(api, {"input": [message("hi"), item]}, code, param)


@pytest.mark.parametrize("kind", ["web_search_call", "mcp_call", "mirobody_tool_call", "Message", "", " message"])
def test_an_item_of_an_unknown_type_is_named_with_its_index(api: httpx.Client, kind: str) -> None:
    items = [message("hi"), message("ho"), {"type": kind, "role": "user", "content": "x", "id": "x_1"}]
    said = refused(api, {"input": items}, "invalid_value", "input[2]")
    assert f"'{kind}'" in said
    assert "input[2]" in said


@pytest.mark.parametrize("kind", ["input_audio", "text", "image_url", "computer_screenshot", ""])
def test_a_part_of_an_unknown_type_is_named_with_its_index(api: httpx.Client, kind: str) -> None:
    content = [{"type": "input_text", "text": "hi"}, {"type": kind, "text": "x"}]
    said = refused(api, {"input": [{"role": "user", "content": content}]}, "invalid_value", "input[0].content[1]")
    assert f"'{kind}'" in said
    assert "input[0].content[1]" in said


@pytest.mark.parametrize("kind", [5, [], {}, ["message"], True], ids=str)
def test_a_type_that_is_no_string(api: httpx.Client, kind: object) -> None:
    items = {"type": kind, "role": "user", "content": "hi"}
    assert api.post("/v1/responses", json={"input": [items]}).status_code == 400
    content = [{"type": kind, "text": "hi"}]
    assert api.post("/v1/responses", json={"input": [{"role": "user", "content": content}]}).status_code == 400


# What a client sends back of an earlier answer.


@pytest.mark.parametrize("item_id", ["msg_1", "", None, "x" * 500, "\x00"], ids=repr)
def test_ids_of_replayed_items_mean_nothing(
    api: httpx.Client, upstream: Upstream, mark: str, item_id: str | None
) -> None:
    extras = {"id": item_id, "status": "completed", "phase": "final_answer", "parsed_arguments": {}, "extra": [1]}
    history = [
        {"type": "reasoning", "summary": []} | extras,
        message("one", "assistant") | extras,
        message("two", "assistant") | extras,
        CALL | extras,
        OUTPUT | extras,
        message(f"hi {mark}"),
    ]
    accepted(api, {"input": history})
    told = texts(upstream, mark)
    assert [text for _, text in told if text] == ["one", "two", "555-0100", f"hi {mark}"]


def test_a_whole_answer_of_ours_can_be_replayed(api: httpx.Client, upstream: Upstream, script: Script) -> None:
    asked = script(
        Step(reasoning=["Let me see."], text=["I look it up."], calls=[Call("phone_lookup", {"name": "Bob"})])
    )
    mark = script(Step(text=["Fine."]), repeat_last=True)
    question = message(f"Whose number? {asked}")
    for store in (True, False):
        first = create(api, input=[question], tools=[LOOKUP], store=store, include=["reasoning.encrypted_content"])
        kinds = [item["type"] for item in first["output"]]
        assert kinds == ["reasoning", "message", "function_call"]
        history = [question, *first["output"], output_for(first["output"][-1], "555-0100")]
        accepted(api, {"input": [*history, message(f"hi {mark}")], "store": store})
        told = seen(upstream, mark)
        assert [each["role"] for each in told] == ["user", "assistant", "tool", "user"]
        assert text_of(told[1]) == "I look it up."
        assert told[1]["tool_calls"][0]["function"]["name"] == "phone_lookup"
        assert text_of(told[2]) == "555-0100"


def test_parallel_calls_are_given_to_the_model_with_their_outputs(
    api: httpx.Client, upstream: Upstream, mark: str
) -> None:
    calls = [CALL | {"call_id": call_id} for call_id in ("a", "b", "c")]
    outputs = [OUTPUT | {"call_id": call_id, "output": f"result {call_id}"} for call_id in ("c", "a", "b")]
    accepted(api, {"input": [message("go"), *calls, *outputs, message(f"hi {mark}")]})
    told = seen(upstream, mark)
    assert [call["id"] for call in told[1]["tool_calls"]] == ["a", "b", "c"]
    assert [(each["tool_call_id"], text_of(each)) for each in told[2:5]] == [
        ("a", "result a"),
        ("b", "result b"),
        ("c", "result c"),
    ]


def test_calls_of_tools_that_are_not_declared_any_more(api: httpx.Client, upstream: Upstream, mark: str) -> None:
    handover = [CALL | {"name": "transfer_to_Specialist"}, OUTPUT | {"output": '{"assistant": "Specialist"}'}]
    accepted(api, {"input": [message("go"), *handover, message(f"hi {mark}")]})
    assert ("tool", '{"assistant": "Specialist"}') in texts(upstream, mark)


@pytest.mark.parametrize("arguments", ["{}", '{"a":1}', "", "not json", "[1]", "\x00"], ids=repr)
def test_arguments_of_a_replayed_call_are_any_text(api: httpx.Client, mark: str, arguments: str) -> None:
    accepted(api, {"input": [message("go"), CALL | {"arguments": arguments}, OUTPUT, message(f"hi {mark}")]})


# Reasoning.


@pytest.fixture
def thinking(script: Script) -> str:
    return script(Step(reasoning=["It is a pomegranate."], text=["Done."]))


def reasoning_of(response: Json) -> Json:
    (item,) = [item for item in response["output"] if item["type"] == "reasoning"]
    return item


def test_reasoning_is_encrypted_only_when_asked_for(api: httpx.Client, thinking: str) -> None:
    assert "encrypted_content" not in reasoning_of(accepted(api, {"input": f"hi {thinking}"}))
    body = {"input": f"hi {thinking}", "include": ["reasoning.encrypted_content"]}
    for store in (True, False):
        sealed = reasoning_of(accepted(api, body | {"store": store}))["encrypted_content"]
        assert isinstance(sealed, str)
        assert sealed
        assert "pomegranate" not in sealed


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"id": None},
        {"id": ""},
        {"encrypted_content": None},
        {"encrypted_content": ""},
        {"encrypted_content": "garbage"},
        {"encrypted_content": "gAAAAA=="},
        {"encrypted_content": "é\x00界"},
        {"summary": []},
        {"summary": None},
        {"status": None},
        {"content": [{"type": "reasoning_text", "text": "raw"}]},
        {"content": None},
    ],
    ids=str,
)
def test_reasoning_can_be_replayed(api: httpx.Client, mark: str, thinking: str, change: Json) -> None:
    first = create(api, input=f"hi {thinking}", store=False, include=["reasoning.encrypted_content"])
    item = reasoning_of(first) | change
    for store in (True, False):
        replayed = [message("hi"), item, first["output"][-1], message(f"go on {mark}")]
        accepted(api, {"input": replayed, "store": store})


def test_a_replayed_thought_leads_the_model_on_from_its_call(
    api: httpx.Client, upstream: Upstream, script: Script
) -> None:
    mark = script(Step(reasoning=["It is a pomegranate."], calls=[Call("phone_lookup")]), Step(text=["Done."]))
    question = message(f"hi {mark}")
    first = create(api, input=[question], tools=[LOOKUP], store=False, include=["reasoning.encrypted_content"])
    history = [question, *first["output"], output_for(first["output"][-1])]
    without_summary = [item | {"summary": []} if item["type"] == "reasoning" else item for item in history]
    create(api, input=without_summary, tools=[LOOKUP], store=False)
    assert upstream.requests(mark)[-1].turn[0]["reasoning_content"] == "It is a pomegranate."


def test_reasoning_sealed_for_another_account_stays_sealed(
    api: httpx.Client, other_account: Account, upstream: Upstream, script: Script
) -> None:
    mark = script(Step(reasoning=["It is a pomegranate."], calls=[Call("phone_lookup")]), Step(text=["Done."]))
    question = message(f"hi {mark}")
    first = create(api, input=[question], tools=[LOOKUP], include=["reasoning.encrypted_content"])
    history = [question, reasoning_of(first) | {"summary": []}, first["output"][-1], output_for(first["output"][-1])]
    with other_account.client() as stranger:
        accepted(stranger, {"input": history, "tools": [LOOKUP]})
    assert "pomegranate" not in str(upstream.requests(mark)[-1].messages)


def test_an_orphan_reasoning_item_is_no_fault(api: httpx.Client, mark: str) -> None:
    accepted(api, {"input": [message(f"hi {mark}"), {"type": "reasoning", "id": "rs_9", "summary": []}]})


# Characters that break databases and frames.

ODD_TEXT = "a\x00b\x01\x1b\x7f\x85\u2028\u2029\ufeff\ufffe\U0010ffff😀 e\u0301 \r\n\t\\u0000"


def test_odd_characters_in_a_message_are_kept(api: httpx.Client, upstream: Upstream, mark: str) -> None:
    for text in (f"{mark} {ODD_TEXT}", f"{ODD_TEXT} {mark}"):
        accepted(api, {"input": text})
        assert texts(upstream, mark) == [("user", text)]


def test_odd_characters_are_kept_over_a_stored_turn(api: httpx.Client, upstream: Upstream, script: Script) -> None:
    echo = script(Step(text=[ODD_TEXT]))
    mark = script(Step(text=["Fine."]), repeat_last=True)
    history = [message("go"), CALL, OUTPUT | {"output": ODD_TEXT}, message(f"{ODD_TEXT} {echo}")]
    fields = {"instructions": ODD_TEXT, "metadata": {ODD_TEXT: ODD_TEXT}, "prompt_cache_key": ODD_TEXT}
    first = accepted(api, {"input": history} | fields)
    assert first["output_text"] == ODD_TEXT
    assert {name: first[name] for name in fields} == fields
    accepted(api, {"input": f"go on {mark}", "previous_response_id": first["id"]})
    said = [text for _, text in texts(upstream, mark)]
    assert said == ["go", "", ODD_TEXT, f"{ODD_TEXT} {echo}", ODD_TEXT, f"go on {mark}"]


def test_odd_characters_in_the_output_of_a_resume(api: httpx.Client, upstream: Upstream, script: Script) -> None:
    mark = script(Step(calls=[Call("phone_lookup", {"name": ODD_TEXT})]), Step(text=["Done."]))
    first = create(api, input=f"hi {mark}", tools=[LOOKUP])
    resumed = create(api, input=[output_for(first["output"][-1], ODD_TEXT)], previous_response_id=first["id"])
    assert resumed["output_text"] == "Done."
    assert upstream.requests(mark)[-1].tool_outputs == [ODD_TEXT]
