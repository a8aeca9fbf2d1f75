"""Whether the model takes the images and files of a conversation: refused in an input, told of in what came before."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from django.conf import settings

from mirobody_site.tenancy.errors import InvalidRequestError
from responses_app.engine.conversation import Entry, Message, Part
from responses_app.protocol.items import (
    ContentPart,
    FunctionCallOutputItem,
    InputFile,
    InputImage,
    InputItem,
    MessageItem,
)
from responses_app.protocol.request import ResponseRequest


def check_attachments(request: ResponseRequest) -> None:
    """Raises ``InvalidRequestError`` for the first image or file that the request's model does not take."""
    taken = _taken(request.model)
    for index, item in enumerate(request.items):
        for place, part in _parts(item):
            kind = "image" if isinstance(part, InputImage) else "file" if isinstance(part, InputFile) else "text"
            if kind not in taken:
                raise InvalidRequestError(
                    f"The model '{request.model}' takes no input of type 'input_{kind}' here.",
                    code="unsupported_parameter",
                    param=f"input[{index}].{place}",
                )


def with_attachments_taken(entries: Sequence[Entry], model: str) -> list[Entry]:
    """The entries with a word in the place of each image and file that ``model`` does not take: another tier did."""
    taken = _taken(model)
    return [_with_taken(entry, taken) for entry in entries]


def _taken(model: str) -> set[str]:
    """The built-in analyst reads text alone."""
    return {"text"} | settings.MODEL_CATALOGUE[model].input_modalities if settings.LLM_BASE_URL else {"text"}


def _parts(item: InputItem) -> Iterator[tuple[str, ContentPart]]:
    match item:
        case MessageItem(content=list(parts)):
            name = "content"
        case FunctionCallOutputItem(output=list(parts)):
            name = "output"
        case _:
            return
    yield from ((f"{name}[{number}]", part) for number, part in enumerate(parts))


def _with_taken(entry: Entry, taken: Collection[str]) -> Entry:
    if not isinstance(entry, Message) or isinstance(entry.content, str):
        return entry
    return replace(entry, content=[_told(part, taken) for part in entry.content])


def _told(part: Part, taken: Collection[str]) -> Part:
    kind = part["type"]
    return part if kind in taken else {"type": "text", "text": f"[{kind}, which you cannot read]"}
