"""Long texts a page at a time, for tools that read sources."""

from typing import Any

from tools_app.contract import Arguments

PAGE_CHARACTERS = 8000
OFFSET_SCHEMA: dict[str, Any] = {
    "type": "integer",
    "minimum": 0,
    "maximum": 100_000_000,
    "description": "Where in the text to go on: `next_offset` of the answer before.",
}


def text_page(text: str, arguments: Arguments) -> dict[str, Any]:
    """The page of the text that is asked for, and where the next one begins, if there is one."""
    offset = arguments.get("offset", 0)
    end = offset + PAGE_CHARACTERS
    return {
        "text": text[offset:end],
        "offset": offset,
        "characters": len(text),
        "next_offset": end if end < len(text) else None,
    }
