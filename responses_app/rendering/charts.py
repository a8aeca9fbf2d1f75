"""``vis-chart`` blocks of answers: read, and written as figures that a script draws. Nothing is drawn here."""

import json
from html import escape
from typing import Any

TYPES = frozenset({"line", "area", "column", "bar", "pie", "scatter"})
MAX_POINTS = 2_000
_SHOWN_ROWS = 200


def chart_html(block: str) -> str | None:
    """The figure of a block's JSON, its data as a table inside; ``None`` when it is no chart that can be drawn."""
    chart = _chart(block)
    if chart is None:
        return None
    title = chart.get("title")
    caption = f"<figcaption>{escape(title)}</figcaption>" if isinstance(title, str) else ""
    described = escape(json.dumps(chart, ensure_ascii=False))
    return f'<figure class="vis-chart" data-chart="{described}">{caption}{_table(chart["data"])}</figure>\n'


def _chart(block: str) -> dict[str, Any] | None:
    try:
        chart = json.loads(block)
    except (ValueError, RecursionError):
        return None
    if not isinstance(chart, dict) or chart.get("type") not in TYPES:
        return None
    data = chart.get("data")
    if not isinstance(data, list) or not 0 < len(data) <= MAX_POINTS:
        return None
    return chart if all(isinstance(point, dict) for point in data) else None


def _table(data: list[dict[str, Any]]) -> str:
    """The data for whoever cannot see the drawing, its columns in the order in which they first come."""
    columns = list(dict.fromkeys(name for point in data for name in point))
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(point.get(name)))}</td>" for name in columns) + "</tr>"
        for point in data[:_SHOWN_ROWS]
    )
    return f"<details><summary>Data</summary><table><tr>{head}</tr>{rows}</table></details>"


def _cell(value: Any) -> str:
    return "" if value is None else str(value)
