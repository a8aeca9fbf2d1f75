"""Tells questions that are not about a value (greetings, help, general knowledge, the future) from the others.

It also knows the words that name no thing.
"""

import re
from collections.abc import Sequence
from datetime import date
from enum import Enum

from responses_app.llm.analyst.dates import Period
from responses_app.llm.analyst.text import word_set


class Kind(Enum):
    """A question that is answered without looking at a value."""

    EMPTY = "empty"
    GREETING = "greeting"
    THANKS = "thanks"
    HELP = "help"
    KNOWLEDGE = "knowledge"
    PREDICTION = "prediction"
    MEMBERS = "members"
    NONSENSE = "nonsense"


_GREETING = re.compile(
    r"^\W*(?:hi|hello|hey|hiya|greetings|good (?:morning|afternoon|evening|day)|你好|您好|嗨|哈喽|早上好|下午好"
    r"|晚上好|早|在吗)(?: there| everyone| doctor)?[\W_]*$",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|great|perfect|cool)\W+)?(?:thanks?(?: you)?|thx|cheers|谢谢|多谢|感谢"
    r"|好的?,?谢谢)(?: (?:so|very) much| a lot)?\W*$",
    re.IGNORECASE,
)
_HELP = re.compile(
    r"\b(?:what can (?:you|i) (?:do|ask)|how (?:do|can) (?:i|you) (?:use|help)|who are you|what are you"
    r"|help me understand what you|how does this work)\b"
    r"|^\W*help\W*$|你能做什么|你会什么|你是谁|怎么用|能帮我做什么|可以问(?:你)?什么|^\W*帮助\W*$|有什么功能",
    re.IGNORECASE,
)
_KNOWLEDGE = re.compile(
    r"\bwhat(?:'s| is| are| does| do) (?:an? |the )?(?:normal |healthy |ideal |good |reference |typical )*(?:range"
    r"|level|value)s? (?:of|for)\b(?!.*\bmy\b)"
    r"|\bwhat (?:does|do)\b.*\bmean\b|\bwhat causes\b|^\W*why\b|\bhow (?:can|do|should|could|to) (?:i |we |one "
    r"|you )?(?:lower|reduce|raise|improve|increase|treat|cure|prevent|fix|manage|control)\b"
    r"|\bwhat should i (?:eat|do|take)\b|\bis it (?:dangerous|safe|bad|ok|okay) to\b|\bshould i (?:take|eat|worry"
    r"|stop|start|see)\b|\bdo i have (?:diabetes|cancer|hypertension|covid|a disease)\b|\bam i (?:sick|ill|healthy"
    r"|diabetic|dying)\b"
    r"|是什么意思|什么是|为什么|为何|怎么(?:降低|降|提高|改善|治疗|预防|控制)|如何(?:降低|提高|改善|治疗|预防|控制)"
    r"|应该吃什么|该吃什么|正常(?:范围|值)(?:是|应该)|我(?:是不是)?(?:有|得了)(?:糖尿病|癌症|高血压)吗|会不会死",
    re.IGNORECASE,
)
_DEFINITION = re.compile(r"^\W*(?:what(?:'s| is| are)|explain|define)\s+(?:an? |the )?\ue000+\W*$", re.IGNORECASE)
_FUTURE = re.compile(
    r"\b(?:will|predict|forecast|estimate|going to be|gonna be|expect(?:ed)? to be|projected?)\b|预测|预计|预估"
    r"|将会|会是多少|会(?:变|升|降|达到|涨|有多)|以后会|未来",
    re.IGNORECASE,
)
_MEMBERS = re.compile(
    r"\bwho (?:shares|is sharing|has shared|can i see|else)|\b(?:list|show|which|what|see)\b.*\b(?:family members?"
    r"|relatives|people)\b|\bfamily members?\b.*\b(?:share|see|have)\b|\bmy family\b"
    r"|谁(?:分享|共享|和我|给我|把)|(?:哪些|有什么|有哪|列出|什么)(?:家人|家庭成员|亲属)|家庭成员|家人.{0,6}(?:分享"
    r"|共享|有哪|有谁)",
    re.IGNORECASE,
)


_NO_MEASURE = re.compile(
    r"\b(?:multiplied|divided) by\b|\bsquare root\b|\b(?:minus|plus) (?:my|the|an?|\d|tuesday)"
    r"|\b(?:colou?r|smell|taste|price)s?\b"
    r"|乘以|乘上|除以|平方根?|立方|颜色|味道|气味|价格|多少钱",
    re.IGNORECASE,
)
_LIMIT_WORD = re.compile(
    r"\b(?:above|below|over|under|greater than|less than|more than|higher than|lower than)\s+(?:an?\s+)?"
    r"(?!control)([A-Za-z]+)(?!['’A-Za-z])"
)


def _makes_no_sense(mask: str) -> bool:
    """Arithmetic with things, and limits that are no numbers ("above banana")."""
    limit = _LIMIT_WORD.search(mask)
    return bool(_NO_MEASURE.search(mask)) or (limit is not None and limit[1].lower() not in _EN_STOP)


def kind_of(text: str, mask: str, *, asks: bool, acts: bool, today: date, periods: Sequence[Period]) -> Kind | None:
    """The kind of a question that is not about a value, if it is one. ``mask`` hides what was recognised."""
    if not re.search(r"\w", text):
        return Kind.EMPTY
    if _GREETING.match(text):
        return Kind.GREETING
    if _THANKS.match(text):
        return Kind.THANKS
    return None if acts else _kind_of_question(text, mask, asks, any(p.start and p.start > today for p in periods))


def _kind_of_question(text: str, mask: str, asks: bool, ahead: bool) -> Kind | None:
    if _HELP.search(text):
        return Kind.HELP
    if _DEFINITION.match(mask) or _KNOWLEDGE.search(text):
        return Kind.KNOWLEDGE
    if asks and (ahead or _FUTURE.search(mask)):
        return Kind.PREDICTION
    if asks and _makes_no_sense(mask):
        return Kind.NONSENSE
    return Kind.MEMBERS if _MEMBERS.search(text) else None


_EN_STOP = word_set("""
    a an the my mine me i we our us you your it its he she his her they them their this that these those there
    here who whom whose which what when where how why is are was were be been being am do does did done doing
    have has had having can could will would shall should may might must of in on at for to from by with without
    about over under above below between into than then as and or but not no nor so if else only just also too
    very really quite much many more most less least few some any all each every both either neither one ones
    other another same such own please kindly thanks thank hi hello hey ok okay yes yeah well still yet already
    ever never always again soon ago since until till during before after while within per show tell give get
    let see look looking check find display list report summarise summarize summary pull fetch bring read know
    want need like help ask say said speak explain describe provide share compute calculate determine work
    figure latest last recent recently newest current currently now today yesterday tonight morning evening
    night day days week weeks month months year years quarter time times date dates period past previous next
    first earliest oldest average mean avg highest lowest maximum minimum max min peak total sum count number
    amount overall trend trends trending trended going gone go went goes up down rise rising risen rose fall
    falling fell increase increased increasing decrease decreased decreasing change changed changes changing
    compare compared comparison versus vs difference different better worse higher lower high low normal
    abnormal range chart plot graph history value values reading readings level levels result results
    measurement measurements measured measure test tests tested record records recorded data figures entry
    entries sample samples point points information info stats statistics status health lab labs blood body unit
    units taken take taking took walk walked walking run running sleep slept feel feeling looked come came out
    long far big large small great good bad fine usual usually typical typically exceed exceeded exceeds reach
    reached stay stayed s t m re ve ll d im whats hows id ill dont isnt wasnt havent didnt idea curious
    wondering wonder interested question quick briefly exactly roughly approximately around daily weekly monthly
    yearly across throughout whole entire complete full set sets panel profile averages stable steady improving
    improve improved worsening concerned worried latest-most logged log logs track tracked tracking got getting
    make made turn turned hit use used kind kinds type types sort sorts available exist exists stored file files
    anything something everything nothing thing things moment right place situation general case two three four
    five six seven eight nine ten once twice
""")
_ZH_STOP = re.compile(
    r"请问|请|帮我|帮忙|帮|麻烦|告诉|我们|我的|我|你们|你|您|他们|他|她|它|的|了|着|过|吗|呢|吧|啊|呀|么|嘛|是多少"
    r"|是什么|是否|是|在|有没有|有|没有|没|不|也|都|还|就|才|又|很|太|最近|最新|最后"
    r"|目前|现在|当前|今天|昨天|上次|上一次|这次|一次|一下|一个|一些|这个|那个|这|那|哪一?天|哪些|哪次|哪|几次|几"
    r"|多少|多大|多高|多低|多久|什么时候|什么|怎么样|怎样|怎么|如何|为什么|何时"
    r"|平均值?|均值|最高|最低|最大|最小|最多|最少|总共|总和|合计|一共|总|趋势|走势|变化|上升|下降|升高|降低|变高"
    r"|变低|比较|对比|相比|比|差别|差异|高于|低于|超过|高|低|大|小|多|少|正常|异常|情况|状况|结果"
    r"|数值|数据|记录|指标|读数|水平|检查|检测|化验|体检|测量|测得|测|值|次数|次|查询|查看|查|看看|看|显示|列出|给出"
    r"|给|把|想|要|知道|了解|想知道|能|可以|会|可能|应该|期间|时候|时间|日期|之间|之前|之后|以来|以前|以后"
    r"|从|到|至|和|与|跟|及|或者|或|以及|还是|并|且|对|对于|关于|里|中|内|上|下|前|后|年|月|日|号|周|天|小时|分钟"
    r"|每|全部|所有|历史|曾经|曾|身体|健康|报告|画|图表|图|曲线|说|说说|讲|一直|整体|总体|近期|期|段|这段|那段|处于"
    r"|属于|达到|达|起来|出来|得|地|被|让|为|以|用|这样|那样|个|条|份|项|种|单位",
)


def is_ordinary_word(word: str) -> bool:
    """Whether an English word, written small, names no thing."""
    return word in _EN_STOP


def stop_words_removed(text: str, most: int = 4) -> str:
    """The first telling words of a text: what is left, in a row, when words that name no thing are taken away."""
    for run in re.split(r"[^\w\s'-]+|_+", text):
        words: list[str] = []
        for word in run.split():
            if word.lower().strip("'-").split("'")[0] in _EN_STOP or not re.search(r"[^\W\d]", word):
                if words:
                    break
                continue
            telling = _ZH_STOP.sub("", word)
            if telling:
                words.append(telling)
        if words:
            return " ".join(words[:most])[:60]
    return ""
