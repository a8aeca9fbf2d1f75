"""Single cases that the state machine came upon, in plain words."""

from datetime import timedelta

import httpx
import pytest
from django.utils import timezone

from responses_app.models import Response
from tests.responses_app.api.conftest import create, write_record
from tools_app.records.models import HealthRecord

pytestmark = pytest.mark.usefixtures("scripted_model")


def test_an_erasure_does_not_count_what_had_expired(api: httpx.Client) -> None:
    expired = create(api, input="One", user="eve")
    create(api, input="Two", user="eve")
    for value in ("5.4 mmol/L", "5.5 mmol/L"):
        write_record(api, "glucose", value, user="eve")
    past = timezone.now() - timedelta(seconds=1)
    Response.objects.filter(pk=expired["id"]).update(expires_at=past)
    eves = Response.objects.get(pk=expired["id"]).subject
    HealthRecord.objects.filter(subject=eves, value__startswith="5.4").update(expires_at=past)
    erased = api.delete("/v1/subjects/eve").json()
    assert erased["deleted"] == {"records": 1, "files": 0, "conversations": 1}
