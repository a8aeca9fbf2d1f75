"""Whose data a question is about: a name is read as one wherever it stands, and never answered with one's own data."""

import pytest

from tests.responses_app.llm.analyst.conversation import TODAY, Arguments, ask, latest, query_result

MEMBERS = [
    {"member": "u_frank", "display_name": "Frank"},
    {"member": "u_martin", "display_name": "Martin Lee"},
    {"member": "u_wang", "display_name": "王芳"},
]


def looked_up(question: str) -> set[str | None]:
    turn = ask(question, query_result(latest(6.4, TODAY)), members=MEMBERS)
    return {arguments.get("member") for arguments in turn.lookups}


@pytest.mark.parametrize(
    ("question", "member"),
    [
        ("martin 的血压怎么样？", "u_martin"),
        ("frank 的空腹血糖是多少？", "u_frank"),
        ("frank的空腹血糖是多少？", "u_frank"),
        ("Frank 最近的体重", "u_frank"),
        ("Frank最近体重", "u_frank"),
        ("Frank 昨天的体重", "u_frank"),
        ("Frank体重", "u_frank"),
        ("告诉我 Frank 的体重", "u_frank"),
        ("我想知道 Frank 体重", "u_frank"),
        ("王芳血压怎么样", "u_wang"),
        ("王芳昨天的血压", "u_wang"),
        ("frank fasting glucose", "u_frank"),
        ("Frank weight?", "u_frank"),
        ("Frank: weight", "u_frank"),
        ("weight frank", "u_frank"),
        ("tell me frank weight", "u_frank"),
        ("I want to see Frank weight", "u_frank"),
        ("Martin Lee blood pressure", "u_martin"),
        ("how much does frank weigh", "u_frank"),
        ("how many steps did frank take yesterday", "u_frank"),
        ("What is my friend Frank's weight?", "u_frank"),
    ],
)
def test_a_name_is_a_person_wherever_it_stands(question: str, member: str) -> None:
    assert looked_up(question) == {member}


@pytest.mark.parametrize(
    "question",
    [
        "George 的体重是多少？",
        "Alexander的体重",
        "张伟血压",
        "张伟昨天的体重",
        "George weight?",
        "george weight",
        "José weight",
        "What is Max's weight?",
        "how many steps did george take",
        "If george fasting glucose is above 7, tell me",
    ],
)
def test_an_unknown_name_is_never_answered_with_ones_own_data(question: str) -> None:
    turn = ask(question, query_result(latest(6.4, TODAY)), members=MEMBERS)
    assert turn.lookups == []
    assert "shares data with you" in turn.text or "共享数据" in turn.text


@pytest.mark.parametrize(
    "question",
    [
        "HbA1c 的趋势",
        "LDL 最近",
        "我的 Apple Watch 步数",
        "random glucose",
        "resting heart rate overnight",
        "Analyze fasting glucose",
        "Does poor sleep raise my blood pressure?",
        "Any unusual resting heart rate days?",
        "运动后心率",
        "这段时间血压怎么样",
        "白天的血压",
        "tell me the latest weight",
        "我想知道最近体重",
    ],
)
def test_other_words_beside_an_indicator_are_no_names(question: str) -> None:
    assert looked_up(question) == {None}


@pytest.mark.parametrize(
    "question",
    [
        "Compare my weight with Frank's",
        "Compare my weight with Frank weight",
        "Is Frank's or my fasting glucose higher?",
        "Is my weight higher than Frank's?",
        "Is Frank heavier than me?",
        "What is Frank's and my weight?",
        "我的体重和Frank的体重比怎么样",
        "我和Frank的体重",
        "我的体重和Frank的哪个高",
    ],
)
def test_a_question_about_two_is_answered_about_both(question: str) -> None:
    def data(arguments: Arguments) -> object:
        return query_result(latest(81.5 if arguments.get("member") else 64.5, TODAY, "Body weight", "kg"))

    turn = ask(question, data, members=MEMBERS)
    assert {arguments.get("member") for arguments in turn.lookups} == {None, "u_frank"}
    assert "81.5" in turn.text
    assert "64.5" in turn.text


@pytest.mark.parametrize(
    "question", ["Compare Frank's and Martin's weight", "Show Frank and Martin weight", "Frank 和 Martin 的体重"]
)
def test_two_others_are_both_told_of(question: str) -> None:
    assert looked_up(question) == {"u_frank", "u_martin"}


def test_a_namesake_is_not_told_of() -> None:
    namesakes = [
        {"member": "u_lee", "display_name": "Martin Lee"},
        {"member": "u_wong", "display_name": "Martin Wong"},
    ]
    turn = ask("What is Martin Lee's weight?", query_result(latest(6.4, TODAY)), members=namesakes)
    assert [arguments["member"] for arguments in turn.lookups] == ["u_lee"]
