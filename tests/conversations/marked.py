"""Turns and records with a marker in every field that a caller, a model or the server's tools can fill."""

from typing import Any

import httpx

from tests.responses_app.api.conftest import Script, calls_of, create, create_stream, output_for, write_record
from tests.support.leftovers import Markers
from tests.support.upstream import Call, Gate, Step

Json = dict[str, Any]
EVERYTHING = Call("query_health_data", {})

RECORD = {"indicator", "value", "value unit", "source", "reference text", "second indicator"}
"""A Subject's permanent records."""
TRANSCRIPT = {
    *("system text", "developer text", "user text", "user part", "image", "file name", "assistant text"),
    *("replayed reasoning", "replayed arguments", "replayed output", "replayed output part"),
    *("server arguments", "answer", "indicator", "value", "value unit", "source", "second indicator"),
    *("replayed tool name", "reasoning"),
}
"""The items of the rich turn's transcript: what was asked, thought, called, found and answered."""
BESIDE_THE_TRANSCRIPT = {
    *("instructions", "metadata key", "metadata value", "safety identifier", "prompt cache key"),
    *("tool name", "tool description", "parameter name", "parameter description"),
}
"""What the rich turn holds besides."""


def write_records(api: httpx.Client, markers: Markers, user: str | None) -> None:
    tags = {"source": markers["source"], "reference_text": markers["reference text"]}
    write_record(api, markers["indicator"], markers["value"], user=user, **tags)
    write_record(api, markers["second indicator"], "5.4", user=user, unit=markers["value unit"])


def rich_input(markers: Markers, mark: str) -> list[Json]:
    """Every kind of input item and part, with a marker in each text."""
    image = {"type": "input_image", "image_url": f"https://example.com/{markers['image']}.png"}
    file = {"type": "input_file", "filename": markers["file name"], "file_data": "data:text/plain;base64,aGk="}
    parts = [{"type": "input_text", "text": f"{markers['user part']} {mark}"}, image, file]
    call = {"type": "function_call", "call_id": "call_a", "name": markers["replayed tool name"]}
    output = [{"type": "input_text", "text": markers["replayed output part"]}]
    return [
        {"role": "system", "content": markers["system text"]},
        {"role": "developer", "content": markers["developer text"]},
        {"role": "user", "content": markers["user text"]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": markers["replayed reasoning"]}]},
        {**call, "arguments": f'{{"a": "{markers["replayed arguments"]}"}}'},
        {**call, "call_id": "call_b", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_a", "output": markers["replayed output"]},
        {"type": "function_call_output", "call_id": "call_b", "output": output},
        {"role": "assistant", "content": [{"type": "output_text", "text": markers["assistant text"]}]},
        {"role": "user", "content": parts},
    ]


def tool(markers: Markers, prefix: str = "") -> Json:
    name, description = markers[f"{prefix}parameter name"], markers[f"{prefix}parameter description"]
    return {
        "type": "function",
        "name": markers[f"{prefix}tool name"],
        "description": markers[f"{prefix}tool description"],
        "parameters": {"type": "object", "properties": {name: {"type": "string", "description": description}}},
    }


def rich_body(script: Script, markers: Markers, *last: Step) -> Json:
    """The request of a turn in which the model reads the records twice and then does as the ``last`` steps say."""
    unknown = Call("query_health_data", {"indicators": [markers["server arguments"]]})
    mark = script(Step(reasoning=[markers["reasoning"]], calls=[EVERYTHING]), Step(calls=[unknown]), *last)
    return {
        "input": rich_input(markers, mark),
        "instructions": markers["instructions"],
        "metadata": {markers["metadata key"]: markers["metadata value"]},
        "tools": [tool(markers)],
        "safety_identifier": markers["safety identifier"],
        "prompt_cache_key": markers["prompt cache key"],
        "include": ["reasoning.encrypted_content"],
    }


def rich_turn(api: httpx.Client, script: Script, markers: Markers, **body: Any) -> Json:
    """A turn with a marker in every field that a caller, a model and the server's tools can fill."""
    response = create_stream(api, **rich_body(script, markers, Step(text=[markers["answer"]])), **body).response
    assert response["output_text"] == markers["answer"]
    assert markers["value"] in str(response["tool_steps"])
    return response


def plain_turn(api: httpx.Client, script: Script, markers: Markers, prefix: str, **body: Any) -> Json:
    mark = script(Step(text=[markers[f"{prefix} answer"]]))
    return create(api, input=f"{markers[f'{prefix} input']} {mark}", **body)


def handoff(api: httpx.Client, script: Script, markers: Markers, *then: Gate, **body: Any) -> Json:
    """A handoff with a marker in its input, instructions, tool, metadata, words and call. ``then``: in its resume."""
    offered = tool(markers, "handoff ")
    mark = script(
        Step(text=[markers["handoff words"]], calls=[Call(offered["name"], {"x": markers["handoff arguments"]})]),
        Step(text=[markers["resume answer"], *then]),
    )
    return create(
        api,
        input=f"{markers['handoff input']} {mark}",
        tools=[offered],
        instructions=markers["handoff instructions"],
        metadata={"k": markers["handoff metadata"]},
        **body,
    )


def resume(api: httpx.Client, markers: Markers, paused: Json, **body: Any) -> Json:
    outputs = [output_for(calls_of(paused)[0], markers["resume output"])]
    metadata = {"k": markers["resume metadata"]}
    resumed = create(api, input=outputs, previous_response_id=paused["id"], metadata=metadata, **body)
    assert resumed["output_text"] == markers["resume answer"]
    return resumed
