"""How written values are read: numbers, comparators, units inside the value, text, and what is refused."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_app.standardization import Quantity, blood_pressure, everyday_quantity, parse_value


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("5.4", "5.4"),
        (" 5.4 ", "5.4"),
        ("-1.5", "-1.5"),
        ("−1.5", "-1.5"),
        (".5", "0.5"),
        ("６．１", "6.1"),
        ("5,4", "5.4"),
        ("70,5", "70.5"),
        ("0,125", "0.125"),
        ("58,3712345", "58.3712345"),
        ("1234,567", "1234.567"),
        ("1,234", "1234"),
        ("250,000", "250000"),
        ("1,234,567", "1234567"),
        ("1,234.5", "1234.5"),
        ("1.234", "1.234"),
        ("1.234,5", "1234.5"),
        ("1.234.567", "1234567"),
        ("1 234.5", "1234.5"),
        ("1\u00a0234,5", "1234.5"),
        ("1.2e3", "1200"),
        ("7e1", "70"),
        ("1.5E-2", "0.015"),
    ],
)
def test_reads_a_number_by_one_rule_for_its_marks(written, number):
    quantity = parse_value(written)

    assert quantity == Quantity(Decimal(number), None, None, written)


@pytest.mark.parametrize(
    ("written", "comparator", "number"),
    [
        ("<10", "<", "10"),
        ("< 10", "<", "10"),
        ("＜10", "<", "10"),
        ("≤10", "<=", "10"),
        ("<=10", "<=", "10"),
        (">500", ">", "500"),
        ("≥ 90", ">=", "90"),
        (">= 1,234", ">=", "1234"),
    ],
)
def test_keeps_the_comparator(written, comparator, number):
    quantity = parse_value(written)

    assert (quantity.comparator, quantity.number) == (comparator, Decimal(number))


@pytest.mark.parametrize(
    ("written", "number", "unit"),
    [
        ("5.4 mmol/L", "5.4", "mmol/L"),
        ("5.4mmol/L", "5.4", "mmol/L"),
        ("36.8℃", "36.8", "°C"),
        ("5.2x10^9/L", "5.2", "x10^9/L"),
        ("72 次/分", "72", "次/分"),
        ("98 %", "98", "%"),
        ("1 234 {steps}", "1234", "{steps}"),
    ],
)
def test_splits_off_a_known_unit(written, number, unit):
    quantity = parse_value(written)

    assert (quantity.number, quantity.unit, quantity.text) == (Decimal(number), unit, written)


def test_comparator_and_unit_together():
    assert parse_value("<0.5 mg/L") == Quantity(Decimal("0.5"), "<", "mg/L", "<0.5 mg/L")


@pytest.mark.parametrize(
    "written",
    [
        "negative", "NEG", "阴性", "阳性(+)", "未检出", "undetectable", "trace",
        "-", "+", "++", "±", "+1", "1+", "10<", "<", "120/80", "120/", "/80", "4-6", "4~6", "1:80", "1/2",
        "12,34,567", "1,23.4", "1e", "5.4 H", "5.4 L", "5.4 mmol/L high", "5.4 G/L", "2²", "½", "٣", "", "  ",
    ],
)  # fmt: skip
def test_everything_else_is_text(written):
    assert parse_value(written) == Quantity(None, None, None, written)


@pytest.mark.parametrize(
    ("written", "number", "unit"),
    [
        ("10 st 5 lb", "145", "[lb_av]"), ("10 st 5", "145", "[lb_av]"), ("10 st 5 lbs", "145", "[lb_av]"),
        ("10 stone 5.5 pounds", "145.5", "[lb_av]"), ("9st7", "133", "[lb_av]"),
        ("1m75", "175", "cm"), ("1 m 75", "175", "cm"), ("1m75cm", "175", "cm"), ("1 m 5 cm", "105", "cm"),
        ("1米75", "175", "cm"), ("１米７５", "175", "cm"), ("1米75厘米", "175", "cm"),
        ("5 ft 9", "69", "[in_i]"), ("5ft9in", "69", "[in_i]"), ("5'9\"", "69", "[in_i]"),
        ("7 h 30", "450", "min"), ("7h30m", "450", "min"), ("7小时30分钟", "450", "min"), ("5 min 30 s", "330", "s"),
        ("70 kg 500 g", "70.5", "kg"), ("70公斤500克", "70.5", "kg"), ("8 lb 3 oz", "131", "[oz_av]"),
        ("10 st 5 st", "145", "[lb_av]"), ("1m75 m", "175", "cm"),
    ],
)  # fmt: skip
def test_two_numbers_of_one_kind_are_added_up(written, number, unit):
    quantity = parse_value(written)

    assert (quantity.number, quantity.unit, quantity.text) == (Decimal(number), unit, written)


@pytest.mark.parametrize(
    "written",
    [
        "80 cm 5", "70 kg 500", "30m20", "10 m 50", "12 ft 9",
        "5 m-2", "5 ft-9", "70 kg 500 lb", "10 st 5 kg", "10 st 14 lb", "5 ft 12", "1m8", "1 m 8", "7 h 60",
        "8 lb 3", "180 lb 5", "5.4 mmol/L 3", "5.4 mmol/L3", "5 ft 9 cm", "7 h 30 kg", "5.4 mmol/L mg/dL",
        "70 kg 500 g 3", "kg 70", "3 kg2", "36 Cel 8", "98%5",
    ],
)  # fmt: skip
def test_a_number_after_a_unit_is_never_part_of_it(written):
    assert parse_value(written) == Quantity(None, None, None, written)


@given(
    st.sampled_from(["kg", "lb", "cm", "ft", "st", "h", "min", "mmol/L", "%", "mg/dL", "s", "g", "L", "kcal", "bpm"]),
    st.integers(min_value=0, max_value=9999),
    st.sampled_from(["{} {}", "{}{}", "{}.{}"]),
)
def test_no_unit_is_made_of_a_unit_and_a_number(unit, number, form):
    made = parse_value(f"7 {form.format(unit, number)}")

    assert made.unit is None or not any(character.isdigit() for character in made.unit)


@pytest.mark.parametrize(
    ("written", "number", "text"),
    [
        (5, "5", "5"),
        (5.0, "5", "5"),
        (31.0, "31", "31"),
        (0.1, "0.1", "0.1"),
        (-2.50, "-2.5", "-2.5"),
        (1e-7, "1E-7", "0.0000001"),
    ],
)
def test_a_json_number_has_a_plain_text(written, number, text):
    quantity = parse_value(written)

    assert (quantity.number, quantity.text) == (Decimal(number), text)


@pytest.mark.parametrize(
    "written",
    [
        float("nan"), float("inf"), float("-inf"), True, 1e300, 10**400, 1e-300,
        "NaN", "nan", "Infinity", "-inf", "1e400", "1e-400", "9" * 29, "x" * 2_001, "5\x004", "5.4\n", "\ud800",
    ],
    ids=lambda written: repr(written)[:12],
)  # fmt: skip
def test_refuses_what_is_no_value_without_repeating_it(written):
    with pytest.raises(ValueError, match=r"the (value|number)") as refusal:
        parse_value(written)

    assert str(written) not in str(refusal.value)


@pytest.mark.parametrize(
    ("written", "systolic", "diastolic"),
    [
        ("高压130低压85", 130, 85),
        ("高压130 低压85", 130, 85),
        ("收缩压：130，舒张压：85", 130, 85),
        ("17/11 kPa", 17, 11),
        ("17.3/9.5kPa", Decimal("17.3"), Decimal("9.5")),
        ("120/80", 120, 80),
        ("120 / 80", 120, 80),
        ("120-80", 120, 80),
        ("120／80", 120, 80),
        ("90/60 mmHg", 90, 60),
        ("210/110", 210, 110),
        ("80/120", 80, 120),
    ],
)
def test_blood_pressure_pairs(written, systolic, diastolic):
    pair = blood_pressure(written)

    assert pair is not None
    assert pair[:2] == (systolic, diastolic)


@pytest.mark.parametrize(
    "written",
    [
        "120/",
        "/80",
        "120/80/95",
        "120",
        "120/80 kg",
        "9/6",
        "低压85高压130",
        "高压130",
        "120.80",
        "1200/80",
        "high",
        "",
    ],
)
def test_no_blood_pressure_pair(written):
    assert blood_pressure(written) is None


@given(st.one_of(st.text(), st.floats(), st.integers()))
def test_any_value_is_read_or_refused(written):
    try:
        quantity = parse_value(written)
    except ValueError:
        return
    assert quantity.number is None or quantity.number.is_finite()


@given(st.text(alphabet="0123456789.,- <>=≤eE/%mLg ½²", max_size=14))
def test_any_number_like_text_is_read_or_refused(written):
    try:
        quantity = parse_value(written)
    except ValueError:
        return
    assert quantity.text == written


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=4))
def test_a_plain_number_is_read_as_itself(number):
    assert parse_value(format(number, "f")).number == number


@given(st.text())
def test_blood_pressure_never_fails(written):
    blood_pressure(written)


@given(st.text(alphabet="0123456789.- 斤市两度分st<高", max_size=10), st.sampled_from(["", "斤", "度", "kg", "℃"]))
def test_everyday_units_give_a_number_in_the_unit_of_what_is_measured_or_nothing(written, unit):
    for measured_in, told_in in (("kg", {"kg", "[stone_av]"}), ("Cel", {"Cel"}), ("mmol/L", set()), ("", set())):
        try:
            quantity = everyday_quantity(written, unit, measured_in)
        except ValueError:
            continue
        assert quantity is None or (quantity.unit in told_in and quantity.number is not None)
