"""The gold sets (gold.md) against the index and the reader of values: never a wrong code, and few missed."""

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from tools_app.standardization import (
    Quantity,
    find_concept,
    interval,
    ordinal,
    parse_value,
    ucum_unit,
    unit_in_name,
)

FOLDER = Path(__file__).parent
LEAST_RECALL = 0.95
# A bare number or name that does not say in which unit it was measured gets no code here, and 斤 is two weights.
NO_NUMBER = Quantity(number=None, comparator=None, unit=None, text="")


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def code_of(row: dict[str, str]) -> str | None:
    """The code of a row's reading, as it is standardized on every write."""
    quantity = parse_value(row["value"], row["unit"]) if row["value"] else NO_NUMBER
    written = (quantity.unit or row["unit"]).strip()
    unit = ucum_unit(written) if written else unit_in_name(row["name"])
    if written and unit is None:
        return None
    concept = find_concept(row["name"], unit, is_number=quantity.number is not None)
    return concept.code if concept else None


def test_names_get_the_right_code_or_none() -> None:
    given = [(row, code_of(row)) for row in rows("gold_names.csv")]
    wrong = [
        (row["name"], row["unit"], code) for row, code in given if code and code not in row["expected_loinc"].split("|")
    ]
    right = sum(1 for _, code in given if code) - len(wrong)
    expected = sum(1 for row, _ in given if row["expected_loinc"])

    print(f"names: {len(given)}, precision {right / (right + len(wrong)):.3f}, recall {right / expected:.3f}")  # noqa: T201
    assert wrong == []
    assert right / expected >= LEAST_RECALL


@pytest.mark.parametrize("row", rows("gold_values.csv"), ids=lambda row: f"{row['written']} {row['unit']}".strip())
def test_a_value_is_read_as_written(row: dict[str, str]) -> None:
    quantity = read(row["written"], row["unit"])
    found = interval(row["written"]) if quantity.number is None else None

    assert (quantity.number, quantity.comparator or "") == (number(row["number"]), row["comparator"])
    assert (found.low, found.high) == (number(row["low"]), number(row["high"])) if found else not row["low"]
    if quantity.number is None and found is None:
        assert (ordinal(row["written"]) or row["written"].strip()) == row["ordinal_or_text"]
    else:
        inside = quantity.unit or (found.unit if found else None)
        assert (ucum_unit(inside) or ucum_unit(row["unit"]) or "") == row["canonical_unit"]


def read(written: str, unit: str) -> Quantity:
    """What is no finite number is refused where a record is written; here it only has to be no number."""
    try:
        return parse_value(written, unit)
    except ValueError:
        return NO_NUMBER


def number(written: str) -> Decimal | None:
    return Decimal(written) if written else None
