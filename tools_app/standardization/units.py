"""Written units → UCUM codes. The spellings are in unit_table.py; conversion.py does the arithmetic."""

import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from tools_app.standardization.unit_table import AMBIGUOUS, ANY_CASE, WRITTEN_AS

if TYPE_CHECKING:
    from lark import Lark

MAX_LENGTH = 40

_SUPERSCRIPT_POWER = re.compile(r"10([⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_POWER_OF_TEN = re.compile(r"^[x*]?10[\^*](?=\d)")
_SAME_CHARACTER = str.maketrans({"μ": "u", "×": "x", "∗": "*", "⋅": ".", "·": ".", "•": ".", "∕": "/", "⁄": "/"})
_LITRE = re.compile(r"(?<![A-Za-z\[])([munpfcd]?)l(?![A-Za-z\]])")
# Mega, giga and the like before an amount are a slip of the shift key in health data, and 10^9 off.
_HUGE_PREFIX = re.compile(r"(?<![A-Za-z\[])[MGTPEZY](?:mol|g|L|l|m|eq|osm|U|\[IU\]|\[iU\]|s|kat)(?![A-Za-z])")
# Gauss, coulomb, henry and their kin: in health data a capital alone is a mis-spelled g, C, h …
_LONE_CAPITAL = re.compile(r"(?<![A-Za-z\[_])[A-IM-TX-Z](?![A-Za-z\]_])")
# "mg/d" and "ng/m" are what a narrow field leaves of "mg/dL" and "ng/mL".
_CUT_OFF_LITRE = re.compile(r"(?:g|mol|eq|U|\])/[dmunpf]$")
# Digits of a unit: a power of ten, a length to the 2nd or 3rd, a reciprocal in a product, a name in brackets.
# Any other is a number that stands beside the unit: "m75", "st5", "kg.500".
_DIGITS_OF_UNITS = re.compile(
    r"(?<![A-Za-z\d])10[*^]-?\d{1,2}(?!\d)|(?<![A-Za-z\[])[kdcmunp]?m[23](?![\dA-Za-z])"
    r"|(?<=[./])s2(?![\dA-Za-z])|(?<=\.)[A-Za-z]+-[123](?![\dA-Za-z])|\[[^\[\]]*\]"
)
_DIGIT = re.compile(r"\d")
_NUMBER_AFTER_WORD = re.compile(r"[^\W\d]+\s+\d+")
_HAS_SYMBOL = re.compile(r"[A-Za-z%{\[]")
_ANNOTATION = re.compile(r"\{[^{}]*\}")


def ucum_unit(written: str | None) -> str | None:
    """The UCUM code of a unit as people and laboratories write it: ``mmHg``, ``x10^9/L``, ``次/分``, ``μmol/L`` …

    Explicit spellings come first; text that is valid UCUM already is kept, with ``L`` for litre and ``10*`` for powers.
    ``None`` when nothing was written, when the text is unknown, or when it could mean two things (``G/L``, ``Mmol/L``,
    ``mg/d``, ``斤``), or when a number stands in it (``m75``, ``ft 9``): a unit is never guessed. Raises nothing.
    """
    if written is None or len(written) > MAX_LENGTH or _NUMBER_AFTER_WORD.fullmatch(written.strip()):
        return None
    return _ucum_unit(written)


@lru_cache(maxsize=4096)
def _ucum_unit(written: str) -> str | None:
    unit = _plain_form(written)
    known = _spellings().get(unit)
    if known is not None:
        return known
    unit = _LITRE.sub(r"\1L", _POWER_OF_TEN.sub("10*", unit)).replace("[iU]", "[IU]")
    known = _spellings().get(unit)
    if known is not None:
        return known
    if _is_doubtful(unit) or not _is_valid_ucum(unit):
        return None
    return unit


def _plain_form(written: str) -> str:
    powers_kept = _SUPERSCRIPT_POWER.sub(r"10*\1", written)
    return "".join(unicodedata.normalize("NFKC", powers_kept).translate(_SAME_CHARACTER).split())


@cache
def _spellings() -> dict[str, str]:
    spellings = {unit: unit for unit in WRITTEN_AS}
    for unit in ANY_CASE:
        spellings |= {unit: unit, unit.upper(): unit, unit.lower(): unit}
    for unit, forms in WRITTEN_AS.items():
        spellings |= dict.fromkeys(forms, unit)
    return spellings


def _is_doubtful(unit: str) -> bool:
    if unit in AMBIGUOUS or not unit.isascii() or not _HAS_SYMBOL.search(unit):
        return True
    bare = _ANNOTATION.sub("", unit)
    return bool(
        _HUGE_PREFIX.search(bare)
        or _LONE_CAPITAL.search(bare)
        or _CUT_OFF_LITRE.search(bare)
        or _DIGIT.search(_DIGITS_OF_UNITS.sub("", bare))
    )


def _is_valid_ucum(unit: str) -> bool:
    from lark.exceptions import LarkError  # noqa: PLC0415 - reading UCUM costs a third of a second to import

    try:
        _ucum_parser().parse(unit)
    except LarkError:
        return False
    return True


@cache
def _ucum_parser() -> "Lark":
    from ucumvert import get_ucum_parser  # noqa: PLC0415 - see above

    parser: Lark = get_ucum_parser()
    return parser
