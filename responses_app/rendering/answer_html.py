"""An answer's Markdown as HTML that can be shown to anybody: nothing in it runs, and nothing is fetched for it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from responses_app.rendering.charts import chart_html
from responses_app.rendering.figure_links import can_be_marked, linked, marked, unmarked

_TAGS = {
    *("a", "blockquote", "br", "code", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "mark", "ol", "p", "pre"),
    *("s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
    *("details", "figcaption", "figure", "summary"),
}
_ATTRIBUTES = {
    "a": {"class", "data-support", "href", "title"},
    "figure": {"class", "data-chart"},
    "mark": {"class", "title"},
    "ol": {"start"},
}


class _Renderer(RendererHTML):
    """Charts as figures; images as links, since showing one would tell its host who reads the answer."""

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        chart = chart_html(token.content) if token.info.strip() == "vis-chart" else None
        return chart or f"<pre><code>{escapeHtml(token.content)}</code></pre>\n"

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        address = str(token.attrs.get("src", ""))
        text = self.renderInlineAsText(token.children, options, env) or address
        return f'<a href="{escapeHtml(address)}">{escapeHtml(unmarked(text))}</a>'


_MARKDOWN = MarkdownIt("commonmark", {"html": False, "breaks": True}, renderer_cls=_Renderer)
_MARKDOWN.enable(["table", "strikethrough"])


def answer_html(text: str, grounding: Mapping[str, Any] | None = None) -> SafeString:
    """The HTML of an answer. With the response's ``grounding`` its numbers are linked to the calls behind them.

    A chart is a ``figure.vis-chart`` with its description in ``data-chart``; a number an ``a.figure`` with
    ``data-support`` (``[{"call_id", "records"}]``), or a ``mark.figure`` when nothing supports it.
    """
    html = _with_links(text, grounding["figures"]) if grounding and can_be_marked(text) else _MARKDOWN.render(text)
    clean = nh3.clean(html, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes={"http", "https", "mailto"})
    return mark_safe(clean)  # noqa: S308 -- cleaned in the line above


def _with_links(text: str, figures: Sequence[Mapping[str, Any]]) -> str:
    tokens = _MARKDOWN.parse(marked(text, figures))
    _unmark_all_but_text(tokens)
    return linked(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}), figures)


def _unmark_all_but_text(tokens: Iterable[Token]) -> None:
    for token in tokens:
        token.attrs = {
            name: unmarked(value) if isinstance(value, str) else value for name, value in token.attrs.items()
        }
        if token.type == "fence":
            token.content = unmarked(token.content)
        _unmark_all_but_text(token.children or [])
