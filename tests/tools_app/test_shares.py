"""``/v1/shares``: who lets whom see what, until when, and what the audit keeps of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from mirobody_site.tenancy.models import Subject
from tests.support.envelope import assert_error
from tests.support.server import Account
from tests.tools_app.records import record, written
from tools_app.contract import NotPermitted, ToolContext, ToolResult
from tools_app.records.models import ShareEvent
from tools_app.registry import TOOLS
from tools_app.runner import run_tool

Json = dict[str, Any]
PATH = "/v1/shares"
TODAY = datetime.now(UTC).date()
DAY = timedelta(days=1)


def shared(api: httpx.Client, user: str | None = "bob", other: str = "ann", **more: Any) -> Json:
    answer = api.post(PATH, json={"user": user, "with": other, "scope": "all"} | more)
    assert answer.status_code == 200, answer.text
    share: Json = answer.json()
    return share


def shares(api: httpx.Client, user: str) -> list[Json]:
    data: list[Json] = api.get(PATH, params={"user": user}).json()["data"]
    return data


def asks(account: Account, user: str, tool: str = "query_health_data", **arguments: Any) -> ToolResult:
    subject = Subject.objects.filter(account_id=account.id, user_key=user).first()
    return run_tool(TOOLS[tool], ToolContext(account.id, subject.pk if subject else None, datetime.now(UTC)), arguments)


def sees(account: Account, user: str = "ann", member: str = "bob") -> bool:
    """Whether the tools show the member to the user; both tools must agree."""
    listed = [one["member"] for one in asks(account, user, "list_family_members").data["members"]]
    try:
        asks(account, user, member=member)
    except NotPermitted:
        assert member not in listed
        return False
    assert member in listed
    return True


def events(account: Account) -> list[tuple[str, str]]:
    rows = ShareEvent.objects.filter(account_id=account.id).order_by("id")
    return list(rows.values_list("action", "tool"))


def test_a_share_lets_the_other_see(api: httpx.Client, account: Account) -> None:
    written(api, record(), user="bob")
    assert not sees(account)
    share = shared(api)
    created = share.pop("created_at")
    assert datetime.fromisoformat(created).tzinfo is not None
    assert share == {
        "object": "share", "user": "bob", "with": "ann", "scope": "all", "start": None, "end": None, "active": True,
    }  # fmt: skip
    assert sees(account)
    assert not sees(account, "bob", "ann")
    assert shares(api, "ann") == shares(api, "bob") == [share | {"created_at": created}]


def test_it_ends_when_it_is_revoked(api: httpx.Client, account: Account) -> None:
    shared(api)
    answer = api.delete(PATH, params={"user": "bob", "with": "ann"})
    assert answer.json() == {"status": "ok", "deleted": 1, "subject": "bob"}
    assert not sees(account)
    assert shares(api, "bob") == []
    assert api.delete(PATH, params={"user": "bob", "with": "ann"}).json()["deleted"] == 0
    assert api.delete(PATH, params={"user": "never", "with": "seen"}).json()["deleted"] == 0


def test_only_the_giver_takes_it_back(api: httpx.Client, account: Account) -> None:
    shared(api)
    assert api.delete(PATH, params={"user": "ann", "with": "bob"}).json()["deleted"] == 0
    assert sees(account)


@pytest.mark.parametrize(
    ("days", "active"),
    [
        ({"start": TODAY, "end": TODAY}, True),
        ({"start": TODAY + DAY}, False),
        ({"end": TODAY - DAY}, False),
    ],
    ids=["today", "later", "over"],
)
def test_it_holds_on_its_days(api: httpx.Client, account: Account, days: Json, active: bool) -> None:
    share = shared(api, **{name: str(day) for name, day in days.items()})
    assert share["active"] is active
    assert sees(account) is active


def test_the_same_again_is_the_same_and_another_takes_its_place(api: httpx.Client, account: Account) -> None:
    first = shared(api)
    assert shared(api) == first
    assert shared(api, scope="clinical")["scope"] == "clinical"
    (only,) = shares(api, "bob")
    assert only["scope"] == "clinical"
    assert events(account) == [("granted", ""), ("revoked", ""), ("granted", "")]


def test_the_default_subject_shares_and_is_shared_with(api: httpx.Client, account: Account) -> None:
    assert shared(api, user=None)["user"] is None
    assert shared(api, user="bob", other="@default")["with"] == "@default"
    assert sees(account, "ann", "@default")
    assert sees(account, "", "bob")
    assert api.delete(PATH, params={"with": "ann"}).json()["deleted"] == 1


def test_shares_stay_within_the_account(api: httpx.Client, account: Account, other_account: Account) -> None:
    shared(api)
    with other_account.client() as stranger:
        assert shares(stranger, "bob") == []
        assert stranger.delete(PATH, params={"user": "bob", "with": "ann"}).json()["deleted"] == 0
    assert not sees(other_account)
    assert sees(account)


def test_the_audit_says_who_looked_with_what(api: httpx.Client, account: Account) -> None:
    shared(api)
    asks(account, "ann", "list_family_members")
    for tool in ("query_health_data", "list_clinical_records", "summarize_health_data"):
        asks(account, "ann", tool, member="bob")
        asks(account, "ann", tool)
    with pytest.raises(NotPermitted):
        asks(account, "bob", member="ann")
    api.delete("/v1/subjects/bob")
    looks = ["list_family_members", "query_health_data", "list_clinical_records", "summarize_health_data"]
    assert events(account) == [("granted", ""), *(("accessed", tool) for tool in looks), ("revoked", "")]
    event = ShareEvent.objects.filter(account_id=account.id, action="accessed").earliest("id")
    assert event.viewer_id == Subject.objects.get(account_id=account.id, user_key="ann").pk


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"with": None}, "missing_required_parameter", "with"),
        ({"with": ""}, "missing_required_parameter", "with"),
        ({"with": 7}, "invalid_type", "with"),
        ({"with": "bob"}, "invalid_value", "with"),
        ({"with": "a\x00"}, "invalid_value", "with"),
        ({"with": "x" * 257}, "value_too_long", "with"),
        ({"user": 7}, "invalid_type", "user"),
        ({"scope": None}, "missing_required_parameter", "scope"),
        ({"scope": "everything"}, "invalid_value", "scope"),
        ({"scope": ["all"]}, "invalid_type", "scope"),
        ({"start": 7}, "invalid_type", "start"),
        ({"start": "2026-03"}, "invalid_value", "start"),
        ({"end": "2026-03-01T08:00:00Z"}, "invalid_value", "end"),
        ({"start": "2026-03-02", "end": "2026-03-01"}, "invalid_value", "end"),
    ],
)
def test_what_cannot_be_shared(api: httpx.Client, account: Account, body: Json, code: str, param: str) -> None:
    answer = api.post(PATH, json={"user": "bob", "with": "ann", "scope": "all"} | body)
    assert_error(answer, 400, code, param)
    assert not Subject.objects.filter(account_id=account.id).exists()


def test_whom_to_take_it_back_from_must_be_said(api: httpx.Client) -> None:
    assert_error(api.delete(PATH, params={"user": "bob"}), 400, "missing_required_parameter", "with")


def test_reading_makes_no_subject(api: httpx.Client, account: Account) -> None:
    assert shares(api, "bob") == []
    assert not Subject.objects.filter(account_id=account.id).exists()
