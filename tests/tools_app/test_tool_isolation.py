"""A tool sees its Subject and those who share with it, whatever its arguments say."""

from datetime import date, timedelta

import pytest

from tests.support.server import Account
from tests.tools_app.people import NOW, Person
from tests.tools_app.records import record
from tools_app.contract import NotPermitted, ToolContext
from tools_app.records.models import HealthRecord, Share
from tools_app.registry import TOOLS
from tools_app.runner import run_tool

HOSTILE = [
    "%",
    "_",
    "*",
    "",
    "\x00",
    "\ud800",
    "' OR 1=1 --",
    "potassium' UNION SELECT * --",
    "u-001",
    "rec_%",
    "𝕡" * 90,
]


@pytest.fixture
def ann(account: Account) -> Person:
    return Person(account.id, "ann").has(record("weight", 60, "kg"))


@pytest.fixture
def bob(account: Account) -> Person:
    return Person(account.id, "bob").has(record("potassium", 7.7, "mmol/L"), record("odd measure", 7.7, "kg"))


def refusal(person: Person, member: str) -> str:
    with pytest.raises(NotPermitted) as caught:
        person.ask(member=member)
    return str(caught.value)


def test_another_user_s_records_are_not_found(ann: Person, bob: Person) -> None:
    data = ann.ask(indicators=["potassium", "odd measure"])
    assert (data["results"], data["not_found"]) == ([], ["potassium", "odd measure"])
    assert [result["indicator"] for result in ann.ask(operation="overview")["results"]] == ["Body weight"]


@pytest.mark.parametrize("name", [name for name in HOSTILE if name])
def test_hostile_names_find_nothing(ann: Person, bob: Person, name: str) -> None:
    ann.has(record("own odd measure", 1, "kg"))
    data = ann.ask(indicators=[name], operation="readings")
    assert (data["results"], data["not_found"]) == ([], [name])


def test_whoever_does_not_share_is_refused_in_the_same_words(ann: Person, bob: Person, other_account: Account) -> None:
    stranger = Person(other_account.id, "cat").has(record("potassium", 7.7, "mmol/L"))
    stranger.shares_with(Person(other_account.id, "ann"))
    ann.shares_with(bob)
    names = ["bob", "ann", "cat", "nobody", "@default", str(bob.subject.pk), *HOSTILE]
    assert len({refusal(ann, name) for name in names}) == 1


def test_a_sharer_is_listed_and_can_be_asked_about(ann: Person, bob: Person) -> None:
    bob.shares_with(ann)
    (listed,) = ann.run("list_family_members").data["members"]
    assert listed == {"member": "bob", "display_name": "bob", "scope": "all"}
    assert ann.one(indicators=["potassium"], member=listed["member"])["readings"][0]["value"] == 7.7
    assert bob.run("list_family_members").data == {"members": []}


def test_a_sharer_may_be_named_by_the_name_shown(ann: Person, bob: Person) -> None:
    type(bob.subject).objects.filter(pk=bob.subject.pk).update(display_name="Bob (brother)")
    bob.shares_with(ann)
    assert ann.ask(indicators=["potassium"], member="bob (brother)")["results"]


def test_the_default_subject_shares_under_a_name_of_its_own(account: Account, ann: Person) -> None:
    Person(account.id, "").has(record("sodium", 140, "mmol/L")).shares_with(ann)
    (listed,) = ann.run("list_family_members").data["members"]
    assert ann.ask(member=listed["member"])["results"][0]["indicator"] == "Sodium"


TODAY = NOW.date()
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("days", "held"),
    [
        ({"start": TODAY, "end": TODAY}, True),
        ({"start": TODAY + DAY}, False),
        ({"end": TODAY - DAY}, False),
        ({"start": TODAY - DAY, "end": TODAY + DAY}, True),
    ],
    ids=str,
)
def test_a_share_holds_on_its_days_alone(ann: Person, bob: Person, days: dict[str, date], held: bool) -> None:
    bob.shares_with(ann, **days)
    assert bool(ann.run("list_family_members").data["members"]) is held
    if held:
        assert ann.ask(indicators=["potassium"], member="bob")["results"]
    else:
        refusal(ann, "bob")


def test_the_days_of_a_share_are_the_givers(ann: Person, bob: Person) -> None:
    # It is noon in UTC, and tomorrow already in Kiritimati.
    type(bob.subject).objects.filter(pk=bob.subject.pk).update(time_zone="Pacific/Kiritimati")
    bob.shares_with(ann, end=TODAY)
    refusal(ann, "bob")


def test_a_share_of_an_unknown_scope_shows_nothing(ann: Person, bob: Person) -> None:
    bob.shares_with(ann, scope="future")
    assert ann.run("list_family_members").data == {"members": []}
    refusal(ann, "bob")


def test_a_revoked_share_ends_at_once(ann: Person, bob: Person) -> None:
    bob.shares_with(ann)
    ann.ask(member="bob")
    Share.objects.filter(subject=bob.subject).delete()
    refusal(ann, "bob")


def test_expired_records_are_invisible_to_tools(ann: Person, bob: Person) -> None:
    bob.shares_with(ann)
    HealthRecord.objects.filter(subject=bob.subject).update(expires_at=NOW)
    assert bob.ask(operation="overview")["results"] == []
    assert ann.ask(operation="overview", member="bob")["results"] == []


def test_a_subject_never_written_to_has_nothing(account: Account) -> None:
    context = ToolContext(account.id, None, NOW)
    asked = run_tool(TOOLS["query_health_data"], context, {"indicators": ["weight"]})
    assert (asked.data["not_found"], asked.empty) == (["weight"], True)
    assert run_tool(TOOLS["list_family_members"], context, {}).data == {"members": []}


def test_a_subject_of_another_account_is_nobody(ann: Person, other_account: Account) -> None:
    context = ToolContext(other_account.id, ann.subject.pk, NOW)
    assert run_tool(TOOLS["query_health_data"], context, {"operation": "overview"}).data["results"] == []
