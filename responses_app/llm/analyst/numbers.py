"""Reads whole numbers, decimals and numerals out of a question: "200,000", "6,5", "1e1", "一万二", "ten thousand".

What a number is held against, and in which unit, is told in limits.py.
"""

import re

from tools_app.standardization import parse_value

_EN_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_EN_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_EN_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_EN_VALUES = {word: value for value, word in enumerate(_EN_SMALL)}
_EN_VALUES |= {word: 10 * value for value, word in enumerate(_EN_TENS, 2)}
_EN_WORD = "|".join(sorted([*_EN_VALUES, *_EN_SCALES], key=len, reverse=True))
_ZH_DIGITS = dict(zip("零一二三四五六七八九", range(10), strict=True)) | {"〇": 0, "两": 2}
_ZH_SCALES = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000}
_ZH_CHARACTERS = "".join([*_ZH_DIGITS, *_ZH_SCALES])

# 千克, 千帕 and 百分 are no thousands and hundreds.
_ZH_SCALE = r"(?:千(?![克卡米帕焦])|百(?!分)|万|亿)"
_DIGITS = r"(?:\d+(?:[.,]\d+)*|\.\d+)(?:e[+-]?\d{1,3}(?![A-Za-z0-9]))?"
_GROUPED = r"\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?![\d.,]*\d)"
_SCALED = rf"\d+(?:[.,]\d+)*(?:\s?{_ZH_SCALE}[\d{_ZH_CHARACTERS}]*|k(?![A-Za-z0-9/^]))"
_POINTED = r"\d+点\d+"
_SPOKEN_SCALE = rf"{_DIGITS}\s(?:{'|'.join(_EN_SCALES)})\b"
_EN = rf"(?:{_EN_WORD})\b(?:[\s-]+(?:and\s+)?(?:{_EN_WORD})\b|\s+point(?:\s+(?:{_EN_WORD})\b)+)*"
_ZH = (
    rf"(?:[{_ZH_CHARACTERS}]{{2,12}}(?!(?<=千)[克卡米帕焦])|[二三四五六七八九十])"
    r"(?:点[零〇一二三四五六七八九]{1,6})?(?!分之)"
)
NUMBER = rf"(?:{_SPOKEN_SCALE}|{_SCALED}|{_POINTED}|{_GROUPED}|{_DIGITS}|{_EN}|{_ZH})"
"""A number as a pattern without groups; ``read_number`` reads what it matches."""

_MIXED = re.compile(rf"(\d+(?:[.,]\d+)*)\s?([百千万亿])([\d{_ZH_CHARACTERS}]*)")
_THOUSANDS = re.compile(r"(.+?)\s?k", re.IGNORECASE)
_SPOKEN = re.compile(rf"(.+?)\s({'|'.join(_EN_SCALES)})", re.IGNORECASE)
_ONE_DIGIT = re.compile(r"\d|[一二三四五六七八九]")


def read_number(written: str) -> float | None:
    """The value of a number that ``NUMBER`` matches, or ``None`` when it cannot be read whole ("1.2.3")."""
    text = " ".join(written.split())
    if m := _THOUSANDS.fullmatch(text):
        return _times(_plain(m[1]), 1_000)
    if m := _MIXED.fullmatch(text):
        return _mixed(m[1], m[2], m[3])
    if text[0].isascii() and (text[0].isdigit() or text[0] == "."):
        m = _SPOKEN.fullmatch(text)
        return _times(_plain(m[1]), _EN_SCALES[m[2].lower()]) if m else _plain(text.replace("点", "."))
    return _english(text.lower()) if text.isascii() else _chinese(text)


def _plain(text: str) -> float | None:
    try:
        number = parse_value(text).number
    except ValueError:
        return None
    return None if number is None else float(number)


def _times(number: float | None, scale: int) -> float | None:
    return None if number is None else number * scale


def _mixed(number: str, scale: str, rest: str) -> float | None:
    """1.2万, 1万2千; 1万2 is 12,000."""
    head = _times(_plain(number), _ZH_SCALES[scale])
    if not rest or head is None:
        return head
    tail = _ending(rest, _ZH_SCALES[scale])
    return None if tail is None else head + tail


def _ending(text: str, scale: int) -> float | None:
    """What follows a scale: a lone digit counts the next smaller one."""
    if _ONE_DIGIT.fullmatch(text):
        return (_ZH_DIGITS.get(text) or int(text)) * scale / 10
    m = _MIXED.fullmatch(text)
    if m:
        return _mixed(m[1], m[2], m[3])
    return float(text) if text.isdecimal() else _chinese(text)


def _english(text: str) -> float | None:
    whole, _, decimals = text.partition(" point ")
    total, section = 0, 0
    for word in re.split(r"[\s-]+", whole):
        if word in _EN_VALUES:
            section += _EN_VALUES[word]
        elif word == "hundred":
            section = max(section, 1) * 100
        elif word in _EN_SCALES:
            total, section = total + max(section, 1) * _EN_SCALES[word], 0
    digits = [_EN_VALUES.get(word, 10) for word in decimals.split()]
    if any(digit > 9 for digit in digits):  # noqa: PLR2004 - decimals are read digit by digit
        return None
    return float(f"{total + section}.{''.join(map(str, digits)) or 0}")


def _chinese(text: str) -> float | None:
    whole, _, decimals = text.partition("点")
    number = _chinese_whole(whole)
    if number is None or any(c not in _ZH_DIGITS for c in decimals):
        return None
    return float(f"{number}.{''.join(str(_ZH_DIGITS[c]) for c in decimals) or 0}")


def _chinese_whole(text: str) -> int | None:
    if any(c not in _ZH_CHARACTERS for c in text):
        return None
    if all(c in _ZH_DIGITS for c in text):
        return int("".join(str(_ZH_DIGITS[c]) for c in text))
    total = section = digit = 0
    scale = 1
    for character in text:
        if character in _ZH_DIGITS:
            digit = _ZH_DIGITS[character]
            scale = 1 if character in "零〇" else scale
            continue
        scale = _ZH_SCALES[character]
        if scale >= _ZH_SCALES["万"]:
            total, section, digit = (total + section + (digit or (not section and not total))) * scale, 0, 0
        else:
            section, digit = section + (digit or 1) * scale, 0
    # 一万二 is 12,000, 一万零二 is 10,002.
    return total + section + digit * (scale // 10 if scale > 10 and digit else 1)  # noqa: PLR2004
