"""Finds a word that gives an indicator to someone without grammar that says so ("Frank weight", "martin 的血压").

A word that names no thing and is no qualifier of a measurement may be a name, so the asker's own data is no answer.
Whether somebody has that name is not known here.
"""

import re
from collections.abc import Sequence

from responses_app.llm.analyst.people import Person
from responses_app.llm.analyst.small_talk import is_ordinary_word
from responses_app.llm.analyst.text import has_han, word_set

_LETTER = "A-Za-zÀ-ɏ"
_WORD = rf"[{_LETTER}][{_LETTER}0-9_-]*(?:['’][{_LETTER}]+)?"
_TOKEN = re.compile(rf"{_WORD}|[\u4e00-\u9fff]+|[^\s]")
_LATIN = re.compile(rf"[{_LETTER}]{{2}}")
_AT_END = re.compile(rf"\ue000[\s:：-]*({_WORD}(?:\s{_WORD})?)\s*[?？.。!！]*\s*$")
_SUBJECT = re.compile(rf"\b(?:did|does|has|is|was)\s+({_WORD})", re.IGNORECASE)
_BESIDE = re.compile(rf"\ue000.*?(?:和|与|跟|比|还是)\s*({_WORD})\s*(?:的|比|谁|哪|相|[?？]|$)")
# Said on the way to a question; the asker is not whose data is asked for.
_ASKING = re.compile(
    r"\b(?:tell|show|give|let|get|send|help|for) me\b|\bi(?:'d like| would like| want| need| wonder"
    r"| am asking|'m asking| am interested|'m interested| am curious|'m curious)\b"
    r"|\b(?:can|could|may) i (?:see|know|get|have|look|ask|view|need|want)\b"
    r"|(?:告诉|帮|给|替|让)我|我(?:很|就|只)?(?:想|要|需要|可以|能|来|有)",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:my|mine|i|me|our|we|i['’](?:m|ve|d))\b|我|咱", re.IGNORECASE)
_OWN_BEFORE = re.compile(r"\b(?:my|our)\s+(?:[\w-]+\s+){0,3}$|[我咱]们?(?:的|用|在|戴)?[\s\w]{0,12}$", re.IGNORECASE)
# Words that say how, where or by what a measurement was made, and words of asking that name no thing.
_HARMLESS = word_set("""
    random fasting resting sitting standing lying seated postprandial preprandial postmeal premeal nighttime overnight
    nightly daytime nocturnal bedtime waking wake plasma serum capillary venous arterial urine saliva fingerstick
    fingertip finger home office clinic clinical hospital doctor doc doctors nurse ambulatory baseline exercise
    exercising workout workouts training gym cardio active activity breakfast lunch dinner supper meal meals food
    eating eaten sleepless watch smartwatch phone app device devices monitor monitoring meter sensor tracker wearable
    wearables ring band scale scales cuff apple fitbit garmin omron oura withings whoop polar iphone android samsung
    xiaomi huawei dexcom libre cgm google ios analyse analyze analysis interpret interpretation assess evaluate
    evaluation review overview breakdown break graph graphs visualise visualize draw insight insights detail details
    detailed correct accurate exact precise estimated real actual true medical personal individual single separate
    respective respectively respect regard regarding concerning relation related relative consumer control controlled
    uncontrolled target targets goal goals limit limits threshold ideal optimal optimum acceptable healthy unhealthy
    elevated raised reduced lowered dropped drop drops dropping fluctuate fluctuates fluctuating fluctuated
    fluctuation fluctuations spike spikes spiked spiking vary varied varies variation variability steadily gradually
    slowly quickly rapidly suddenly significantly slightly considerably consistently constantly generally
    normally regularly often frequently sometimes occasionally rarely though although because however therefore whether
    even except apart during including included include includes excluding exclude only once twice hour hours minute
    minutes second seconds decade season weekend weekends weekday weekdays workday workdays midnight noon dawn dusk
    evening evenings mornings nights afternoon afternoons monday tuesday wednesday thursday friday saturday sunday
    january february march april june july august september october november december jan feb mar apr jun jul aug sep
    sept oct nov dec spring summer autumn fall winter am pm ago anymore anyway somehow maybe perhaps probably possibly
    likely hopefully actually basically simply clearly honestly seriously sure certain certainly definitely obviously
    alright nice new old older younger newer odd weird strange similar comparable equal equals opposite half double
    triple percent percentage per ratio rate rates number numbers index score scores marker markers measuring
    monitored checked check-up checkup screening screenings physical exam examination examined appointment visit
    profile panels reports finding findings outcome outcomes standard reference out-of-range in-range within-range
    non so-called follow-up followup question answer answers respond reply mention mentioned regards dear sir madam
    buddy friend assistant bot ai doing did happening happened happen worse worst best better progress progressed
    progression development developed develop evolve evolved evolution pattern patterns movement moved moving move
    dynamics line timeline curve table tables chart charts bullet list lists json csv markdown english chinese
    kg lb lbs mmol mg dl mmhg bpm kcal km miles cm unit-wise
    sum min max med std vs etc eg ie via
    flag flagged critical borderline outside inside beyond near nearly almost roughly approx least
    zero unusual unusually cumulative poor plausible extra recording recordings longest shortest gap gaps median mode
    plot plots worthy suspicious suspiciously behind consecutive stretch diabetes start top bottom biggest smallest
    major minor sudden unexpected strongest weakest fastest slowest greatest least fewest excessive sufficient enough
    proper regular irregular additional separate combined mixed rank ranked sort sorted exercises diet vitamin
    plan plans began begin begun jump jumps diagnosis diagnosed detection
    possible impossible concerning worrying dangerous risky safe serious severe mild moderate
    remarkable noticeable significant consistent constant continuous
    person patient user users someone somebody anyone anybody nobody everybody everyone people human adult man woman
    men women male female self own ours yours theirs himself herself themselves
    post pre meds pills medication medicine insulin metformin statin statins coffee alcohol stress
""")
_SURNAME = (
    "王李张刘陈杨黄赵吴徐孙朱胡郭何林罗郑梁谢宋唐许韩邓冯曹彭曾肖田董潘袁蔡蒋余杜叶魏苏吕丁卢姚沈钟姜崔谭陆范汪廖贾"
    "邹熊孟秦邱侯江尹薛闫雷黎贺郝龚邵覃戴莫小老阿"
)
_ZH_NAME = re.compile(rf"[{_SURNAME}][\u4e00-\u9fff]{{1,2}}")
_MOST_WORDS = 2


def compared_with(mask: str) -> Person | None:
    """A name in Latin letters that a Chinese question sets beside an indicator ("我的体重和Frank的哪个高")."""
    found = (m for m in _BESIDE.finditer(mask) if _may_be_name(m[1]))
    return next((Person(m[1], "", m.start(1), m.end(1)) for m in found), None)


def unclear_owner(
    mask: str, clause: tuple[int, int], places: Sequence[int], stop_words: re.Pattern[str]
) -> Person | None:
    """A word beside an indicator that may be the name of whom it is of.

    ``places`` are where the indicators of a clause begin in the masked question.
    """
    begin, stop = clause
    for place in places:
        before = mask[begin:place]
        found = _latin(before, begin) or _han(before, begin, stop_words)
        if found:
            return found
    return _after(mask[begin:stop], begin) if places else None


def _after(clause: str, begin: int) -> Person | None:
    """A name as the last word ("weight frank") or after a verb ("how many steps did frank take")."""
    if _FIRST_PERSON.search(_ASKING.sub("", clause)):
        return None
    found = (m for pattern in (_AT_END, _SUBJECT) for m in [pattern.search(clause)] if m)
    return next(
        (Person(m[1], "", begin + m.start(1), begin + m.end(1)) for m in found if all(map(_may_be_name, m[1].split()))),
        None,
    )


def _latin(before: str, begin: int) -> Person | None:
    asked = _ASKING.sub(lambda m: " " * len(m[0]), before)
    tokens = list(_TOKEN.finditer(asked))
    own = _FIRST_PERSON.search(asked) is not None
    for i in range(len(tokens) - 1, -1, -1):
        word = tokens[i]
        if _FIRST_PERSON.fullmatch(word[0]):
            return None
        if not _may_be_name(word[0]):
            continue
        first = max((j for j in range(i, max(i - _MOST_WORDS, -1), -1) if _joined(tokens[j : i + 1], asked)), key=_less)
        start = tokens[first].start()
        if _OWN_BEFORE.search(asked[:start]) or (own and not (word[0][0].isupper() or has_han(before))):
            return None
        return Person(asked[start : word.end()], "", begin + start, begin + word.end())
    return None


def _less(index: int) -> int:
    return -index


def _joined(tokens: Sequence[re.Match[str]], text: str) -> bool:
    """Whether all of some words may be one name: "Martin Lee"."""
    return all(_may_be_name(t[0]) for t in tokens) and not re.search(
        r"[^\w\s'’-]", text[tokens[0].start() : tokens[-1].end()]
    )


def _may_be_name(word: str) -> bool:
    plain = re.sub(r"['’]\w*$", "", word).lower()
    return _LATIN.match(word) is not None and not all(_is_harmless(part) for part in re.split(r"[-_]+", plain))


def _is_harmless(word: str) -> bool:
    return not word or any(is_ordinary_word(w) or w in _HARMLESS for w in (word, word.removesuffix("s")))


def _han(before: str, begin: int, stop_words: re.Pattern[str]) -> Person | None:
    for m in re.finditer(r"[\u4e00-\u9fff]+", before):
        left = stop_words.sub("", _ASKING.sub("", m[0]))
        if "我" not in left and _ZH_NAME.fullmatch(left):
            return Person(left, "", begin + m.start(), begin + m.end())
    return None
