"""Whose a response is: how the user is named, who sees what, and that nobody learns what is not theirs."""

from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User

from mirobody_site.tenancy.models import Subject
from mirobody_site.tenancy.services import create_api_key
from tests.responses_app.api.both_ways import accepted, refused
from tests.responses_app.api.conftest import create, create_stream, retrieve
from tests.support.server import Account

Json = dict[str, Any]

MADE_UP = "resp_" + "0" * 32
USER_HEADER = "X-Mirobody-User"
DIFFERENT_PEOPLE = ["alice", "Alice", " alice", "alice ", "é", "e\u0301", "李雷", "@default"]


def subjects_of(account: Account) -> list[str]:
    return sorted(Subject.objects.filter(account_id=account.id).values_list("user_key", flat=True))


def as_sent(name: str) -> list[tuple[bytes, bytes]]:
    """The user header as UTF-8, which httpx itself would refuse to write."""
    return [(USER_HEADER.encode(), name.encode())]


def told(answer: httpx.Response, response_id: str) -> tuple[int, str]:
    """Status and body, with the id that was asked for taken out: all that could tell two refusals apart."""
    return answer.status_code, answer.text.replace(response_id, "ID")


@pytest.mark.parametrize(
    ("body", "headers", "user"),
    [
        ({}, {}, None),
        ({"user": None}, {}, None),
        ({"user": ""}, {}, None),
        ({}, {USER_HEADER: ""}, None),
        ({"user": ""}, {USER_HEADER: ""}, None),
        ({"user": "alice"}, {}, "alice"),
        ({}, {USER_HEADER: "alice"}, "alice"),
        ({"user": None}, {USER_HEADER: "alice"}, "alice"),
        ({"user": ""}, {USER_HEADER: "alice"}, "alice"),
        ({"user": "alice"}, {USER_HEADER: ""}, "alice"),
        ({"user": "alice"}, {USER_HEADER: "alice"}, "alice"),
        ({"user": " alice "}, {}, " alice "),
    ],
    ids=str,
)
def test_how_the_user_is_named(
    api: httpx.Client, account: Account, body: Json, headers: dict[str, str], user: str | None
) -> None:
    assert accepted(api, {"input": "hi"} | body, headers)["user"] == user
    assert subjects_of(account) == [user or ""]


def test_body_and_header_that_differ(api: httpx.Client, account: Account) -> None:
    for body, header in (("alice", "bob"), ("alice", "Alice"), ("Bob", "bob")):
        refused(api, {"input": "hi", "user": body}, "invalid_value", "user", headers={USER_HEADER: header})
    assert subjects_of(account) == []


def test_names_are_compared_exactly_as_sent(api: httpx.Client, account: Account) -> None:
    responses = {user: create(api, input="hi", user=user) for user in DIFFERENT_PEOPLE}
    assert subjects_of(account) == sorted(DIFFERENT_PEOPLE)
    for user, response in responses.items():
        assert response["user"] == user
        for other in DIFFERENT_PEOPLE:
            answer = api.get(f"/v1/responses/{response['id']}", params={"user": other})
            assert answer.status_code == (200 if other == user else 404)


def test_a_name_outside_ascii_in_the_header(api: httpx.Client) -> None:
    answer = api.post("/v1/responses", json={"input": "hi"}, headers=as_sent("李雷"))  # type: ignore[arg-type]
    assert answer.json()["user"] == "李雷"
    assert retrieve(api, answer.json()["id"], user="李雷")["user"] == "李雷"


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("asker", [None, "bob", "Alice"])
def test_chaining_on_another_persons_response_is_like_chaining_on_none(
    api: httpx.Client, asker: str | None, store: bool
) -> None:
    alices = create(api, input="hi", user="alice")["id"]
    answers = []
    for response_id in (alices, MADE_UP):
        body = {"input": "go on", "previous_response_id": response_id, "user": asker, "store": store}
        said = refused(api, body, "previous_response_not_found", "previous_response_id", status=404)
        answers.append(said.replace(response_id, "ID"))
    assert answers[0] == answers[1]


def test_the_default_subjects_response_is_nobody_elses(api: httpx.Client) -> None:
    response_id = create(api, input="hi")["id"]
    body = {"input": "go on", "previous_response_id": response_id, "user": "alice"}
    refused(api, body, "previous_response_not_found", "previous_response_id", status=404)
    assert accepted(api, {"input": "go on", "previous_response_id": response_id, "user": ""})["user"] is None


def test_outputs_for_another_persons_response_are_refused_alike(api: httpx.Client) -> None:
    alices = create(api, input="hi", user="alice")["id"]
    answers = []
    for response_id in (alices, MADE_UP):
        output = {"type": "function_call_output", "call_id": "call_1", "output": "x"}
        body = {"input": [output], "previous_response_id": response_id, "user": "bob"}
        answers.append(told(api.post("/v1/responses", json=body), response_id))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("method", ["GET", "DELETE", "HEAD"])
@pytest.mark.parametrize("query", ["", "?stream=true", "?user=alice"])
def test_another_accounts_response_is_like_none(
    api: httpx.Client, other_account: Account, method: str, query: str
) -> None:
    response = create(api, input="hi", user="alice")
    create(api, input="hi")
    with other_account.client() as stranger:
        create(stranger, input="hi", user="alice")
        answers = [
            told(stranger.request(method, f"/v1/responses/{response_id}{query}"), response_id)
            for response_id in (response["id"], MADE_UP)
        ]
    assert answers[0][0] == 404
    assert answers[0] == answers[1]
    assert retrieve(api, response["id"]) == response


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("by_header", [True, False])
def test_a_named_person_sees_only_their_own_response(api: httpx.Client, method: str, by_header: bool) -> None:
    response = create(api, input="hi", user="alice")

    def ask(user: str, response_id: str) -> httpx.Response:
        named = {"headers": {USER_HEADER: user}} if by_header else {"params": {"user": user}}
        return api.request(method, f"/v1/responses/{response_id}", **named)  # type: ignore[arg-type]

    answers = [told(ask("bob", response_id), response_id) for response_id in (response["id"], MADE_UP)]
    assert answers[0][0] == 404
    assert answers[0] == answers[1]
    assert retrieve(api, response["id"]) == response
    assert ask("alice", response["id"]).status_code == 200


def test_query_and_header_that_name_different_people(api: httpx.Client) -> None:
    response_id = create(api, input="hi", user="alice")["id"]
    for asked in (response_id, MADE_UP):
        answer = api.get(f"/v1/responses/{asked}", params={"user": "alice"}, headers={USER_HEADER: "bob"})
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, "user")


def test_two_keys_of_one_account_see_the_same(account: Account, api: httpx.Client) -> None:
    _, second = create_api_key(User.objects.get(pk=account.id).username)
    response = create(api, input="hi", user="alice")
    with Account(account.id, second, account.base_url).client() as other_key:
        assert retrieve(other_key, response["id"]) == response
        assert accepted(other_key, {"input": "go on", "previous_response_id": response["id"], "user": "alice"})


def test_reads_deletions_and_refusals_make_no_subject(api: httpx.Client, account: Account) -> None:
    for method in ("GET", "DELETE"):
        for query in ("", "?user=never-seen", "?stream=true&user=never-seen"):
            api.request(method, f"/v1/responses/{MADE_UP}{query}")
    for bad in ({"input": ""}, {"input": "hi", "model": "x"}, {"input": "hi", "previous_response_id": MADE_UP}):
        assert api.post("/v1/responses", json=bad | {"user": "never-seen"}).status_code >= 400
    assert subjects_of(account) == []


@pytest.mark.parametrize("user", [None, "never-seen"])
def test_what_is_not_stored_makes_no_subject(api: httpx.Client, account: Account, user: str | None) -> None:
    create(api, input="hi", user=user, store=False)
    create_stream(api, input="hi", user=user, store=False)
    assert subjects_of(account) == []


def test_accounts_have_people_of_their_own(api: httpx.Client, account: Account, other_account: Account) -> None:
    with other_account.client() as theirs:
        create(theirs, input="hi", user="alice")
        assert subjects_of(account) == []
        create(api, input="hi", user="alice")
    assert subjects_of(account) == subjects_of(other_account) == ["alice"]
