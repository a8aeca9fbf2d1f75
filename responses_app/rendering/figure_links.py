"""Numbers of an answer tied to what supports them: marked in its Markdown, found again in its HTML."""

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

# Private-use characters: they mean nothing in Markdown or HTML.
_OPEN, _CLOSE = "\ue000", "\ue001"
_MARKED = re.compile(f"{_OPEN}([0-9]+){_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")
_ANY_MARK = re.compile(f"{_OPEN}[0-9]+{_OPEN}|{_CLOSE}|%EE%80%80[0-9]+%EE%80%80|%EE%80%81")


def can_be_marked(text: str) -> bool:
    """Whether no mark could be mistaken for the text's own."""
    return _OPEN not in text and _CLOSE not in text


def marked(text: str, figures: Sequence[Mapping[str, Any]]) -> str:
    """``text``, which can be marked, with marks around its figures, those of a response's ``grounding``."""
    pieces, end = [], 0
    for number, figure in enumerate(figures):
        pieces += [
            text[end : figure["start"]],
            f"{_OPEN}{number}{_OPEN}",
            text[figure["start"] : figure["end"]],
            _CLOSE,
        ]
        end = figure["end"]
    return "".join([*pieces, text[end:]])


def unmarked(text: str) -> str:
    """The text of an attribute or a block without marks, as they stand there."""
    return _ANY_MARK.sub("", text)


def linked(html: str, figures: Sequence[Mapping[str, Any]]) -> str:
    """``html`` with marks made links (``a.figure``, support in ``data-support``) or, unsupported, ``mark.figure``."""
    return _MARKED.sub(lambda found: _link(found.group(2), figures[int(found.group(1))]), html)


def _link(written: str, figure: Mapping[str, Any]) -> str:
    support = figure["supported_by"]
    if not support:
        return f'<mark class="figure" title="No tool result of this turn holds this number.">{written}</mark>'
    told = escape(json.dumps(support, ensure_ascii=False))
    return f'<a class="figure" href="#evidence" data-support="{told}">{written}</a>'
