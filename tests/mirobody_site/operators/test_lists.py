"""The lists: found by what a caller has in hand, without a look at the whole table."""

import re

import httpx
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from mirobody_site.tenancy.models import Subject
from responses_app.models import Response
from tests.mirobody_site.operators.conftest import Script, SignIn
from tests.mirobody_site.operators.test_timeline import many_turns
from tests.responses_app.api.conftest import LOOKUP, calls_of, create, write_record
from tests.support.server import Account
from tests.support.upstream import Call, Step

RESPONSES = reverse("admin:responses_app_response_changelist")


def listed(text: str) -> set[str]:
    """The responses that the list links to."""
    return {f"resp_{digits}" for digits in re.findall(r"/response/resp_5F([0-9a-f]{32})/change/", text)}


def test_a_response_is_found_by_whatever_a_caller_has(
    api: httpx.Client, account: Account, script: Script, signed_in: SignIn
) -> None:
    write_record(api, "weight", "70 kg", user="bob")
    look = Step(calls=[Call("query_health_data", {})])
    handed = Step(text=["Call."], calls=[Call(LOOKUP["name"], {"name": "x"})])
    given = {"X-Request-Id": f"trace-{account.id}-7"}
    turn = create(
        api, headers=given, input=script(look, handed), tools=[LOOKUP], user="bob", session_id=f"visit {account.id}"
    )
    create(api, input=script(Step(text=["Another."])), user="ann")
    subject = Subject.objects.get(account_id=account.id, user_key="bob")
    terms = [
        *(turn["id"], turn["output"][0]["id"], calls_of(turn)[0]["call_id"], turn["tool_steps"][0]["call_id"]),
        *(given["X-Request-Id"], f"visit {account.id}", str(subject.pk), subject.key_hash, f"  {turn['id']} "),
    ]
    support = signed_in("support")
    for term in terms:
        assert listed(support.get(RESPONSES, {"q": term}).text) == {turn["id"]}, term
    for nothing in ("nobody", "resp_" + "0" * 32, "call_" + "0" * 32, "9" * 30, "0" * 64, "%"):
        assert listed(support.get(RESPONSES, {"q": nothing}).text) == set(), nothing


@pytest.mark.parametrize(
    "query", ["", "?status=failed", "?status=completed", "?p=2", "?q=nobody", "?_facets=True", "?o=2"]
)
def test_no_list_counts_or_reads_its_table(account: Account, signed_in: SignIn, query: str) -> None:
    subject = Subject.objects.create(account_id=account.id, user_key="many")
    many_turns(subject, 60)
    support = signed_in("support")
    with CaptureQueriesContext(connection) as queries:
        assert support.get(f"{RESPONSES}{query}").status_code == 200
    about = [one["sql"] for one in queries if '"responses_app_response"' in one["sql"]]
    assert about
    assert not [sql for sql in about if "COUNT(" in sql or "DISTINCT" in sql or "LIKE" in sql]
    assert all("LIMIT" in sql for sql in about)
    assert not [sql for sql in about if 'ORDER BY "responses_app_response"."status"' in sql]
    assert not [sql for sql in about if '"responses_app_response"."body"' in sql]
    assert len(queries) <= 12


def test_every_list_pages_without_counting(account: Account, signed_in: SignIn) -> None:
    subject = Subject.objects.create(account_id=account.id, user_key="many")
    many_turns(subject, 60)
    administrator = signed_in("administrator")
    names = [
        *("responses_app_response", "responses_app_conversation", "responses_app_session", "responses_app_pendingcall"),
        *("tenancy_subject", "tenancy_apikey", "tenancy_usageofday", "tools_app_healthrecord"),
        *("tools_app_clinicalrecord", "tools_app_share", "tools_app_shareevent", "operators_auditentry"),
    ]
    for name in names:
        with CaptureQueriesContext(connection) as queries:
            assert administrator.get(reverse(f"admin:{name}_changelist")).status_code == 200, name
        assert not [one["sql"] for one in queries if "COUNT(" in one["sql"]], name
        assert len(queries) <= 14, name
        with CaptureQueriesContext(connection) as searched:
            assert administrator.get(reverse(f"admin:{name}_changelist") + "?q=nobody").status_code == 200, name
        assert not [one["sql"] for one in searched if "COUNT(" in one["sql"] or "LIKE" in one["sql"]], name


def test_the_first_page_shows_what_happened_and_what_waits(
    api: httpx.Client, account: Account, script: Script, signed_in: SignIn
) -> None:
    handed = Step(calls=[Call(LOOKUP["name"], {"name": "x"})])
    create(api, input=script(handed), tools=[LOOKUP])
    support = signed_in("support")
    index = reverse("admin:index")
    support.get(index)
    with CaptureQueriesContext(connection) as queries:
        page = support.get(index).text
    assert len(queries) <= 30
    for title in ("Turns a day", "Seconds a turn takes", "Tokens a day", "USD a day"):
        assert f"<figcaption>{title}" in page
    assert page.count("data-chart=") == 4
    open_handoffs = re.search(r"<dt>Open handoffs</dt><dd>.*?>(\d+|more than \d+)<", page)
    assert open_handoffs is not None
    assert open_handoffs[1] != "0"


def test_the_first_page_says_nothing_to_whom_it_is_not_for(account: Account, signed_in: SignIn) -> None:
    assert signed_in("caller").get(reverse("admin:index")).status_code == 403
    assert Response.objects.filter(account_id=account.id).count() == 0
