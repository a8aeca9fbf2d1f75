"""The llm package: its models come from a file of the user's, the user's name goes in a header."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from scenarios import (
    API_KEY,
    BASE_URL,
    CUT,
    MODEL,
    RECALL,
    RECORD,
    SPENT_KEY,
    TEXT,
    TOOL,
    USER,
    WRONG_KEY,
    scenario,
    tell,
)

FOLDER = Path(tempfile.mkdtemp())
os.environ["LLM_USER_PATH"] = str(FOLDER)


def entry(model_id: str, model_name: str = MODEL, key: str = "mirobody", base: str = BASE_URL) -> dict[str, Any]:
    return {
        "model_id": model_id,
        "model_name": model_name,
        "api_base": base,
        "api_key_name": key,
        "responses": True,
        "supports_tools": True,
        "headers": {"X-Mirobody-User": USER},
    }


MODELS = [
    entry("mirobody"),
    entry("misnamed", model_name="no-such-model"),
    entry("wrong-key", key="wrong"),
    entry("spent-key", key="spent"),
    entry("wrong-path", base=f"{BASE_URL}/nowhere"),
]
# JSON is YAML.
(FOLDER / "extra-openai-models.yaml").write_text(json.dumps(MODELS))
(FOLDER / "keys.json").write_text(json.dumps({"mirobody": API_KEY, "wrong": WRONG_KEY, "spent": SPENT_KEY}))

import llm  # noqa: E402 - reads its folder's name when it is imported


def book_appointment(date: str) -> str:
    """Books a day."""
    return f"Booked: {date}"


@scenario
def text() -> str:
    return llm.get_model("mirobody").prompt(TEXT, stream=False).text()


@scenario
def stream() -> list[str]:
    return [str(piece) for piece in llm.get_model("mirobody").prompt(TEXT) if str(piece)]


@scenario
def tool() -> str:
    return llm.get_model("mirobody").chain(TOOL, tools=[book_appointment], stream=False).text()


@scenario
def tool_streamed() -> str:
    return "".join(llm.get_model("mirobody").chain(TOOL, tools=[book_appointment]))


@scenario
def second_turn() -> str:
    conversation = llm.get_model("mirobody").conversation(tools=[book_appointment])
    conversation.prompt(TEXT).text()
    conversation.chain(TOOL).text()
    return conversation.prompt(RECALL).text()


@scenario
def user() -> str:
    return llm.get_model("mirobody").prompt(RECORD, stream=False).text()


@scenario
def user_streamed() -> str:
    return "".join(llm.get_model("mirobody").prompt(RECORD))


@scenario
def bad_request() -> str:
    return llm.get_model("misnamed").prompt(TEXT).text()


@scenario
def unauthorized() -> str:
    return llm.get_model("wrong-key").prompt(TEXT).text()


@scenario
def not_found() -> str:
    return llm.get_model("wrong-path").prompt(TEXT).text()


@scenario
def out_of_quota() -> str:
    return llm.get_model("spent-key").prompt(TEXT).text()


@scenario
def cut_in_mid_stream() -> list[str]:
    return [str(piece) for piece in llm.get_model("mirobody").prompt(CUT)]


@scenario
def cut() -> str:
    return llm.get_model("mirobody").prompt(CUT, stream=False).text()


tell()
