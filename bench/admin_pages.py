"""How fast the admin's lists and a conversation's timeline are over a million responses.

Run: DATABASE_URL=postgres://… python bench/admin_pages.py. Makes a test database beside the named one and takes it away
again: a million responses of a thousand Subjects in 100,000 conversations, and one conversation of 500 turns. Each page
is asked for through Django's client once to warm up and then five times; the median is told, with the number of
queries. Ends with 1 if a page takes longer than the limit.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirobody_site.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")
FOLDER = tempfile.TemporaryDirectory()
os.environ |= {"DATA_DIR": FOLDER.name, "ENV_FILE": os.devnull}

import django

django.setup()

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, setup_databases, setup_test_environment, teardown_databases
from django.utils import timezone

from mirobody_site.tenancy.models import ApiKey, Subject
from mirobody_site.tenancy.services import create_api_key
from responses_app.models import Conversation, Response
from responses_app.protocol.ids import new_response_id
from responses_app.protocol.request import ResponseRequest
from responses_app.protocol.response import Identity, message_item, new_response

MOST_MS = 300
RESPONSES, CONVERSATIONS, SUBJECTS = 1_000_000, 100_000, 1000
TURNS = 500

_FILL_CONVERSATIONS = """
INSERT INTO responses_app_conversation (subject_id, created_at)
SELECT (SELECT min(id) FROM tenancy_subject), now() FROM generate_series(1, %s)
"""
_FILL = """
INSERT INTO responses_app_response (id, account_id, api_key_id, subject_id, conversation_id, status, side_channel,
    request, input, added, body, created_at, started_at, ended_at, lease_until, expires_at, request_id)
SELECT 'resp_' || md5(n::text), %(account)s, %(key)s, s.ids[1 + n %% array_length(s.ids, 1)],
    c.first + n %% %(conversations)s, CASE WHEN n %% 500 = 0 THEN 'failed' ELSE 'completed' END, true,
    '{}', '"?"', '[]', '{}', now() - n * interval '2.5 seconds', now() - n * interval '2.5 seconds',
    now() - n * interval '2.5 seconds' + interval '3 seconds', now(), now() + interval '20 days',
    'req_' || md5('r' || n::text)
FROM generate_series(1, %(responses)s) AS n,
    (SELECT array_agg(id) AS ids FROM tenancy_subject) AS s,
    (SELECT min(id) AS first FROM responses_app_conversation) AS c
"""


@contextmanager
def database() -> Iterator[None]:
    """A test database of its own."""
    setup_test_environment()
    previous = setup_databases(verbosity=0, interactive=False)
    try:
        yield
    finally:
        teardown_databases(previous, verbosity=0)


def fill(key: ApiKey) -> Subject:
    """A million responses, and a Subject of its own for the long conversation."""
    Subject.objects.bulk_create(
        Subject(account_id=key.account_id, user_key=f"s{number}", key_hash=f"{number:064x}")
        for number in range(SUBJECTS)
    )
    with connection.cursor() as cursor:
        given = {"account": key.account_id, "key": key.pk, "conversations": CONVERSATIONS, "responses": RESPONSES}
        cursor.execute(_FILL_CONVERSATIONS, [CONVERSATIONS])
        cursor.execute(_FILL, given)
        cursor.execute("VACUUM ANALYZE responses_app_response")
    return Subject.objects.create(account_id=key.account_id, user_key="long")


def long_conversation(subject: Subject, key: ApiKey) -> Conversation:
    """A chain of ``TURNS`` finished turns, each with an answer of some length."""
    conversation = Conversation.objects.create(subject=subject)
    request = ResponseRequest.model_validate({"model": "mirobody-flash", "input": "x"})
    now, previous = timezone.now(), None
    rows = []
    for number in range(TURNS):
        response_id = new_response_id()
        text = f"Answer **{number}**: " + "your glucose was 5.4 mmol/L. " * 40
        body = new_response(Identity(response_id, int(now.timestamp()), None), request)
        body |= {"status": "completed", "output_text": text, "output": [message_item("msg_x", "completed", text)]}
        rows.append(
            Response(
                id=response_id,
                account_id=subject.account_id,
                api_key=key,
                subject=subject,
                conversation=conversation,
                previous_id=previous,
                status="completed",
                side_channel=True,
                request="{}",
                input=json.dumps(f"Question {number}"),
                added="[]",
                body=json.dumps(body),
                created_at=now + timedelta(seconds=number),
                lease_until=now,
            )
        )
        previous = response_id
    Response.objects.bulk_create(rows)
    return conversation


def measured(client: Client, address: str) -> tuple[float, int]:
    """The median of five in milliseconds, and how many queries one takes."""
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(address)
    if answer.status_code != HTTPStatus.OK:
        raise SystemExit(f"{address} answers {answer.status_code}")
    count, times = len(queries), []
    for _ in range(5):
        begun = perf_counter()
        client.get(address)
        times.append((perf_counter() - begun) * 1000)
    return median(times), count


def main() -> int:
    with database():
        key, _ = create_api_key("bench")
        begun = perf_counter()
        subject = fill(key)
        conversation = long_conversation(subject, key)
        print(f"filled in {perf_counter() - begun:.0f} s", flush=True)
        client = Client()
        client.force_login(User.objects.create_superuser("bench-root"))
        some = Response.objects.exclude(subject=subject).order_by("created_at")[1000]
        responses, timeline = (
            "/admin/responses_app/response/",
            f"/admin/responses_app/conversation/{conversation.pk}/change/",
        )
        pages = {
            "responses": responses,
            "responses, page 20": f"{responses}?p=20",
            "responses that failed": f"{responses}?status=failed",
            "responses that were cancelled (none)": f"{responses}?status=cancelled",
            "a response by its id": f"{responses}?q={some.pk}",
            "by a call's id": f"{responses}?q=call_{some.pk[5:21]}{'0' * 16}",
            "by a request's id": f"{responses}?q={some.request_id}",
            "by a Subject's hash": f"{responses}?q={some.subject.key_hash}",
            "by a Subject's number": f"{responses}?q={some.subject_id}",
            "by what nobody has": f"{responses}?q=nobody",
            "conversations": "/admin/responses_app/conversation/",
            "Subjects": "/admin/tenancy/subject/",
            "first page": "/admin/",
            "500 turns, first page": timeline,
            "500 turns, last page": f"{timeline}?page=25",
        }
        slow = 0
        for name, address in pages.items():
            milliseconds, queries = measured(client, address)
            slow += milliseconds > MOST_MS
            print(f"{name:40} {milliseconds:6.0f} ms {queries:4} queries", flush=True)
        return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
