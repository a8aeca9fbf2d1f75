"""Questions about allergies, medications, diagnoses and so on are answered from the clinical records."""

from typing import Any

import pytest

from responses_app.engine.conversation import Message
from responses_app.engine.ports import CallMade
from tests.responses_app.llm.analyst.conversation import FAMILY, QUERY, Arguments, ask, earlier_turn, infer, said

MEMBERS = [{"member": "u_frank", "display_name": "Frank"}, {"member": "u_wang", "display_name": "王芳"}]


def entry(name: str, kind: str = "allergy", **more: Any) -> dict[str, Any]:
    return {
        "id": "clin_1",
        "kind": kind,
        "name": name,
        "status": "active",
        "time": "2024-03-05",
        "end_time": None,
    } | more


def listing(*entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"member": None, "count": len(entries), "results": list(entries), "undated": 0} | more


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("Do I have allergies?", ["allergy"]),
        ("What am I allergic to?", ["allergy"]),
        ("Do I have a penicillin allergy?", ["allergy"]),
        ("我对什么过敏？", ["allergy"]),
        ("What medications do I take?", ["medication"]),
        ("What blood pressure medication do I take?", ["medication"]),
        ("List my medication for asthma", ["medication"]),
        ("我在吃什么药？", ["medication"]),
        ("What conditions do I have?", ["condition"]),
        ("What have I been diagnosed with?", ["condition"]),
        ("我有什么病？", ["condition"]),
        ("Which vaccinations did I get?", ["immunization"]),
        ("我打过哪些疫苗？", ["immunization"]),
        ("Have I ever had surgery?", ["procedure"]),
        ("我做过什么手术？", ["procedure"]),
        ("Show my hospital visits", ["encounter"]),
        ("我的就诊记录", ["encounter"]),
        ("List my medical reports", ["report"]),
        ("What documents do I have?", ["document"]),
        ("allergies and medications", ["allergy", "medication"]),
    ],
)
def test_what_is_recorded_is_listed(question: str, kinds: list[str]) -> None:
    turn = ask(question, listing(entry("Penicillin", kinds[0])))
    assert [arguments["kinds"] for arguments in turn.clinical] == [kinds]
    assert turn.lookups == []
    assert "Penicillin" in turn.text
    assert "2024-03-05" in turn.text


@pytest.mark.parametrize(
    ("question", "member"),
    [
        ("What is Frank allergic to?", "u_frank"),
        ("What medications does Frank take?", "u_frank"),
        ("Frank's diagnoses", "u_frank"),
        ("frank allergies", "u_frank"),
        ("frank 对什么过敏？", "u_frank"),
        ("王芳在吃什么药？", "u_wang"),
        ("王芳对什么过敏？", "u_wang"),
    ],
)
def test_a_family_members_records_are_theirs(question: str, member: str) -> None:
    turn = ask(question, listing(entry("Penicillin")), members=MEMBERS)
    assert [arguments["member"] for arguments in turn.clinical] == [member]
    assert ("Frank" if member == "u_frank" else "王芳") in turn.text


@pytest.mark.parametrize("question", ["What is George allergic to?", "George 对什么过敏？"])
def test_someone_who_shares_nothing_gets_no_ones_records(question: str) -> None:
    assert ask(question, listing(entry("Penicillin")), members=MEMBERS).clinical == []


def test_both_are_told_when_both_are_asked_about() -> None:
    def data(arguments: Arguments) -> object:
        return listing(entry("Peanut" if arguments.get("member") else "Penicillin"))

    text = ask("Which allergies are my and Frank's allergies?", data, members=MEMBERS).text
    assert "Penicillin" in text
    assert "Peanut" in text


def test_a_period_is_asked_of_the_tool_and_undated_records_are_counted() -> None:
    turn = ask("Which vaccinations did I get last year?", listing(undated=2))
    assert [(a["start"], a["end"]) for a in turn.clinical] == [("2025-01-01", "2025-12-31")]
    assert "no record" in turn.text
    assert "2 without a date" in turn.text


@pytest.mark.parametrize(
    ("question", "none"),
    [("Do I have allergies?", "no record of your allergies"), ("我对什么过敏？", "没有您的过敏记录")],
)
def test_no_record_is_said_when_the_tool_has_none(question: str, none: str) -> None:
    assert none in ask(question, listing()).text


@pytest.mark.parametrize("output", [{"error": "Service down."}, {"results": "?"}, []])
def test_a_failed_look_up_is_never_told_as_no_record(output: object) -> None:
    text = ask("Do I have allergies?", output).text
    assert "could not look up" in text
    assert "no record" not in text


def test_a_long_list_is_cut_and_says_so() -> None:
    text = ask("What medications do I take?", listing(*[entry(f"Drug {i}") for i in range(20)], count=33)).text
    assert "… and 13 more" in text


def test_names_from_records_cannot_break_the_list() -> None:
    text = ask("Do I have allergies?", listing(entry("a\nb`c`" + "x" * 500))).text
    assert len(text.splitlines()) == 2
    assert len(text) < 300


def test_without_the_tool_it_is_said() -> None:
    events = infer([Message("user", "Do I have allergies?")], [QUERY, FAMILY])
    assert not [event for event in events if isinstance(event, CallMade)]
    assert "cannot look up allergies" in said(events)


@pytest.mark.parametrize("question", ["And Frank's?", "What about Frank?"])
def test_a_follow_up_about_someone_else_keeps_to_the_records(question: str) -> None:
    turn = ask(question, listing(entry("Peanut")), earlier=earlier_turn("Do I have allergies?"), members=MEMBERS)
    assert [(a["member"], a["kinds"]) for a in turn.clinical] == [("u_frank", ["allergy"])]


@pytest.mark.parametrize("question", ["Can I take ibuprofen with my medication?", "What is my weight since surgery?"])
def test_other_questions_list_no_records(question: str) -> None:
    assert ask(question, listing()).clinical == []
