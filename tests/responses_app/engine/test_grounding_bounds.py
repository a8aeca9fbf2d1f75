"""How far results and answers are looked into that were made to be costly."""

from typing import Any

import pytest

from responses_app.engine import grounding
from responses_app.engine.grounding import Evidence


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    """The calls of a function of the module."""
    calls: list[Any] = []
    function = getattr(grounding, name)

    def count(*args: Any) -> Any:
        calls.append(args)
        return function(*args)

    monkeypatch.setattr(grounding, name, count)
    return calls


def test_made_up_units_and_numbers_cost_no_more_than_real_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    units, conversions = counted(monkeypatch, "ucum_unit"), counted(monkeypatch, "_conversion")
    result = [{"value": number, "unit": f"mg/{number}.L"} for number in range(1, 20_000)]
    answer = " and ".join(f"{number}.5 mmol/L" for number in range(3_000))
    found = grounding.grounding(answer, [Evidence("call_1", [{"value": 7.5, "unit": "mmol/L"}, *result])])
    assert found["numbers"] == 3_000
    assert len(units) <= 500
    assert len(conversions) <= 5_000
    (seven,) = [figure for figure in found["figures"] if figure["text"].startswith("7.5")]
    assert [support["call_id"] for support in seven["supported_by"]] == ["call_1"]
