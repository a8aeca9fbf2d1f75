"""What pages show of an answer: Markdown, charts and numbers, whatever a model was made to write."""

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_app.engine.grounding import Evidence, grounding
from responses_app.rendering import answer_html


class _Elements(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def _html(text: str, *results: object) -> _Elements:
    evidence = [Evidence(f"call_{number}", result) for number, result in enumerate(results)]
    return _Elements(answer_html(text, grounding(text, evidence)))


def test_markdown_is_shown() -> None:
    shown = _html("# Glucose\n\nIt is **high**.\n\n| day | value |\n|---|---|\n| Monday | low |")
    assert {tag for tag, _ in shown.found} >= {"h1", "strong", "table", "td"}


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](https://a.example 'y\" onmouseover=\"alert(1)')",
        "![x](https://tracker.example/pixel.png)",
        '<https://a.example/"onmouseover=alert(1)>',
        "```html\n<script>alert(1)</script>\n```",
        '```vis-chart\n{"type": "line", "title": "<script>alert(1)</script>", "data": [{"<b>": "</td><script>"}]}\n```',
        '```vis-chart"onload=alert(1)\n{}\n```',
        "{{ 7*7 }} {% debug %}",
        "\ue0000\ue000<script>\ue001",
        "\ue0009\ue0005.4\ue001",
    ],
)
def test_nothing_in_an_answer_runs_or_is_fetched(hostile: str) -> None:
    shown = _html(f"{hostile} and 5.4 mmol/L", {"value": 5.4, "unit": "mmol/L"})
    assert not {tag for tag, _ in shown.found} & {"script", "img", "iframe", "style", "object", "link"}
    for _, attributes in shown.found:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style")]
        assert (attributes.get("href") or "#").split(":")[0] in ("http", "https", "mailto", "#evidence", "#")


_PIECES = [*"[]()<>*_`#|!\\\"'=:&; \n0123456789.,\ue000\ue001", "javascript:", "on", "5.4", "https://a.example"]


@given(st.lists(st.sampled_from(_PIECES)).map("".join))
def test_any_text_stays_harmless_and_keeps_its_numbers_in_order(text: str) -> None:
    html = answer_html(text, grounding(text, [Evidence("call_0", {"value": 5.4})]))
    shown = _Elements(html)
    for _, attributes in shown.found:
        assert not [name for name in attributes if name.startswith("on")]
        assert not (attributes.get("href") or "").lower().startswith(("javascript:", "data:"))
        if "\ue000" not in text and "\ue001" not in text:
            assert not any("\ue000" in (value or "") for value in attributes.values())


def test_a_number_is_linked_to_the_call_and_record_behind_it() -> None:
    shown = _html(
        "Glucose was **5.4 mmol/L**, then 9.9.", {"values": [{"id": "rec_1", "value": 5.4, "unit": "mmol/L"}]}
    )
    (link,) = shown.of("a")
    assert json.loads(link["data-support"] or "") == [{"call_id": "call_0", "records": ["rec_1"]}]
    assert len(shown.of("mark")) == 1
    assert shown.text.strip() == "Glucose was 5.4 mmol/L, then 9.9."


def test_a_number_inside_a_link_or_title_does_not_break_it() -> None:
    shown = _html('[see](https://a.example/5.4/x "at 5.4")', {"value": 5.4})
    assert [(link["href"], link["title"]) for link in shown.of("a")] == [("https://a.example/5.4/x", "at 5.4")]


def test_a_chart_is_a_figure_with_its_data() -> None:
    chart = {"type": "line", "title": "LDL", "data": [{"time": "2026-01-01", "value": 3.1}]}
    shown = _html(f"Falling.\n\n```vis-chart\n{json.dumps(chart)}\n```", {"value": 3.1})
    (figure,) = shown.of("figure")
    assert json.loads(figure["data-chart"] or "") == chart
    assert "2026-01-01" in shown.text


@pytest.mark.parametrize(
    "block", ["no json", "[]", '{"type": "line"}', '{"type": "map", "data": [{"a": 1}]}', "[" * 9999]
)
def test_what_is_no_chart_stays_text(block: str) -> None:
    shown = _html(f"```vis-chart\n{block}\n```")
    assert not shown.of("figure")
    assert block in shown.text
