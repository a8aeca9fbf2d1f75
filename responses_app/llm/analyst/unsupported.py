"""Finds wishes for figures that no tool computes: other statistics, the second highest, the three lowest."""

import re

_NUMBER = r"(?:\d{1,3}|two|three|four|five|six|seven|eight|nine|ten)"
_EXTREME = (
    r"(?:highest|lowest|largest|smallest|biggest|greatest|longest|shortest|heaviest|lightest|best|worst|maximum"
    r"|minimum)"
)
_EN = re.compile(
    r"\b(?:medians?|(?:the |a )mode\b|standard[ -]deviations?"
    r"|std\.?(?: dev\w*)?|variances?|variability|variation coefficient"
    r"|coefficients? of variation|percentiles?|\d+th percentile|quartiles?|quantiles?"
    r"|interquartile(?: range)?|correlat\w+"
    r"|regressions?|outliers?|(?:moving|rolling|weighted) (?:average|mean)|(?:geometric|harmonic) mean|z-?scores?"
    r"|histograms?|skewness|kurtosis|confidence intervals?|time in range"
    r"|root mean square)\b"
    rf"|\b(?:second|third|fourth|fifth|sixth|2nd|3rd|\d+th|next)[ -]{_EXTREME}\b"
    rf"|\b(?:top|bottom|{_EXTREME})\s+{_NUMBER}\b|\b{_NUMBER}\s+{_EXTREME}\b",
    re.IGNORECASE,
)
_ZH = re.compile(
    r"中位数|中位值|众数|标准差|方差|变异系数|百分位|四分位|相关(?:性|系数)|离群|异常点|移动平均|滑动平均|加权平均"
    r"|几何平均|直方图|置信区间"
    r"|第[二三四五六七八九十\d]+(?:个)?(?:高|低|大|小|多|少|长|短|重|轻)|次[高低大小](?:值|的)|倒数第[一二三四五\d]+(?:高|低|大|小)"
    r"|最(?:高|低|大|小|多|少|长|短|重|轻)的?(?:前)?\s*(?:[2-9]|\d{2,3}|[两二三四五六七八九十])\s*(?:次|个|条|项|天|晚)"
    r"|前\s*(?:\d{1,3}|[两二三四五六七八九十])\s*(?:高|低|大|小|名)"
)


def unsupported_wish(text: str) -> str:
    """The first such wish as it is written, "" when there is none. Indicators and dates in ``text`` must be masked."""
    m = _EN.search(text) or _ZH.search(text)
    return m[0].strip() if m else ""
