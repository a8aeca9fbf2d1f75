"""Finds what happened to a person that a question names: a medicine, a diagnosis, a stay in hospital, a trip.

The words found go to the tools, which know what is recorded.
"""

import re

_EN = re.compile(
    r"\b(?P<drug>[a-z]*(?:statin|formin|sartan|dipine|pril|olol|gliptin|gliflozin|glutide|prazole|thiazide|mab"
    r"|thyroxine|parin|oxaban))s?\b"
    r"|\b(?P<illness>diabetes|hypertension|pneumonia|stroke|covid|asthma|anaemia|anemia|gout|cancer|depression"
    r"|bronchitis|surgery|operation|colonoscopy|gastroscopy|fracture)\b"
    r"|\b(?P<stay>hospital(?= stay)|(?<=in )hospital|hospitali[sz]\w+)\b"
    r"|\b(?P<flu>flu (?:shots?|jabs?|vaccin\w+)|vaccinat\w+|vaccines?)\b"
    r"|\b(?P<habit>smoking|drinking|exercise plan|diet)\b"
    r"|\btrip to (?P<trip>[A-Z][a-z]+)|\b(?P<place>[A-Z][a-z]+) trip\b|\bweeks? in (?P<stayed>[A-Z][a-z]+)",
    re.IGNORECASE,
)
_ZH = re.compile(
    r"(?P<drug>[\u4e00-\u9fff]{0,4}(?:他汀|双胍|沙坦|地平|普利|洛尔|列汀|列净|鲁肽|拉唑|噻嗪|华法林))"
    r"|(?P<illness>糖尿病|高血压|肺炎|中风|哮喘|贫血|痛风|抑郁|肠镜|胃镜|手术|骨折)"
    r"|(?P<stay>住院|住.{0,4}天院)|(?P<flu>流感疫苗|疫苗)|(?P<habit>戒烟|戒酒|锻炼计划)"
    r"|[去在](?P<trip>[\u4e00-\u9fff]{2,3}?)(?=那)"
)
_LEAD = re.compile(r"^.*(?:吃|服用?|换成|换用?|改用?|用|开始|刚|从|补)")
_SUPPLEMENT = re.compile(r"(?:补|补充)(?=维|[\u4e00-\u9fffA-Z])|supplements?", re.IGNORECASE)
_VITAMIN = re.compile(r"vitamin [A-Z]\d*|维(?:生素)?[A-Z]\d*", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(20\d\d)(?!\d)")
_DOSE = re.compile(r"\bdose\b|加量|增量|剂量", re.IGNORECASE)


def event_named(text: str) -> str:
    """The first event's words as the tools find them, "" for none; a vaccination with its year."""
    supplement, vitamin = _SUPPLEMENT.search(text), _VITAMIN.search(text)
    if supplement and vitamin:
        return re.sub(r"^维(?:生素)?", "vitamin ", vitamin[0])
    match = _ZH.search(text) or _EN.search(text)
    if match is None:
        return ""
    kind = match.lastgroup or ""
    if kind == "stay":
        return "hospital" if match[kind].isascii() else "住院"
    word = _LEAD.sub("", match[kind]) if kind == "drug" else match[kind]
    if kind == "flu":
        year = _YEAR.search(text)
        word = "influenza" if "flu" in word.lower() else "流感疫苗" if "疫苗" in word else "vaccination"
        return f"{word} {year[0]}" if year else word
    return word


def is_about_dose(text: str) -> bool:
    """Whether a change of the dose is meant, not the beginning."""
    return _DOSE.search(text) is not None
