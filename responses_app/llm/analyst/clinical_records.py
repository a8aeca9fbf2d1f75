"""Lists clinical records (allergies, medications, diagnoses and so on): the call, and what is told of its output.

Who may see what is the tool's to say.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from responses_app.llm.analyst.dates import Period
from responses_app.llm.analyst.facts import failure_of, read_json
from responses_app.llm.analyst.plan import Subject
from responses_app.llm.analyst.text import shown
from responses_app.llm.analyst.wording import Wording

CLINICAL_TOOL = "list_clinical_records"
_LISTED = 20
_NAME_LENGTH = 120
# English and Chinese.
_NAMES = {
    "allergy": ("allergies", "过敏"),
    "medication": ("medications", "用药"),
    "condition": ("conditions", "疾病诊断"),
    "immunization": ("immunizations", "疫苗接种"),
    "procedure": ("procedures", "手术和操作"),
    "encounter": ("visits", "就诊"),
    "report": ("reports", "报告"),
    "document": ("documents", "文档"),
}


def clinical_call(kinds: Sequence[str], subject: Subject, period: Period | None) -> dict[str, Any]:
    """The arguments that list one person's records of some kinds."""
    arguments: dict[str, Any] = {"kinds": list(kinds), "limit": _LISTED}
    if subject.member is not None:
        arguments["member"] = subject.member
    if period is not None and period.start is not None:
        arguments["start"] = period.start.isoformat()
    if period is not None and period.end is not None:
        arguments["end"] = period.end.isoformat()
    return arguments


def kinds_named(kinds: Sequence[str], say: Wording) -> str:
    """Kinds of clinical records in running text."""
    return say.listed([say.pick(*_NAMES[kind]) for kind in kinds])


def no_clinical_tool(kinds: Sequence[str], say: Wording) -> str:
    """When the turn has no tool for clinical records."""
    what = kinds_named(kinds, say)
    return say.pick(
        f"I cannot look up {what} in this turn, because no tool for clinical records is available to me.",
        f"当前没有可用于查询临床记录的工具，无法查询{what}。",
    )


def tell_clinical(
    output: str, failed: bool, kinds: Sequence[str], subject: Subject, period: Period | None, say: Wording
) -> str:
    """One person's records as the tool gave them; "no record" only when the tool says that there is none."""
    data = read_json(output)
    what, whose, when = kinds_named(kinds, say), say.whose(subject), say.period(period)
    rows = data.get("results") if isinstance(data, dict) else None
    if failed or not isinstance(data, dict) or not isinstance(rows, list):
        why = failure_of(data, output)
        return say.pick(f"I could not look up {whose}{what}. {why}", f"无法查询{whose}{what}。{why}").strip()
    undated = _undated(data, say)
    entries = [row for row in rows[:_LISTED] if isinstance(row, dict)]
    if not entries:
        none = say.pick(f"There is no record of {whose}{what}{when}.", f"没有{whose}{what}记录{when}。")
        return none + undated
    total = max(_count(data.get("count")), len(entries))
    heading = say.pick(f"Recorded {what} ({whose.strip()}){when}:", f"{whose}{what}记录{when}：")
    if subject.member is None:
        heading = say.pick(f"Your recorded {what}{when}:", heading)
    lines = [f"- {_entry(row, len(kinds) > 1, say)}" for row in entries]
    if total > len(entries):
        lines.append(say.pick(f"… and {total - len(entries)} more.", f"……另有 {total - len(entries)} 条。"))
    return "\n".join([heading, *lines]) + undated


def _entry(row: Mapping[str, Any], with_kind: bool, say: Wording) -> str:
    name = shown(row.get("name") or row.get("text") or say.pick("(without a name)", "（无名称）"), _NAME_LENGTH)
    kind = str(row.get("kind"))
    known = [kinds_named([kind], say)] if with_kind and kind in _NAMES else []
    begin, end = _day(row.get("time")), _day(row.get("end_time"))
    span = say.pick(f"{begin or '?'} to {end}", f"{begin or '?'} 至 {end}") if end and end != begin else begin
    told = [*known, span or say.pick("no date", "无日期"), shown(row.get("status") or "", 40)]
    detail = say.pick(", ", "，").join(part for part in told if part)
    return say.pick(f"**{name}** ({detail})", f"**{name}**（{detail}）")


def _undated(data: Mapping[str, Any], say: Wording) -> str:
    count = _count(data.get("undated"))
    if not count:
        return ""
    return "\n" + say.pick(f"Left out: {count} without a date.", f"未计入 {count} 条无日期的记录。")


def _day(time: object) -> str:
    return shown(time, 40)[:10] if isinstance(time, str) else ""


def _count(number: object) -> int:
    return number if isinstance(number, int) and not isinstance(number, bool) and number > 0 else 0
