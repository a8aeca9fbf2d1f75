"""A stored tool result goes when a record it came from is deleted, erased or expires; the answer's text stays."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.utils import timezone

from responses_app.models import RecordSource, Response
from responses_app.services.sweeping import sweep_expired
from tests.responses_app.api.conftest import Script, create, create_stream, follow, retrieve, write_record
from tests.support.grammar import check_stream
from tests.support.server import Account
from tests.support.upstream import Call, Step, Upstream
from tests.tools_app.fhir_bundles import Patient, written
from tools_app.fhir.importing import import_file
from tools_app.records.models import HealthRecord

LATEST = Call("query_health_data", {"indicators": ["ferritin"]})
WEIGHT = Call("query_health_data", {"indicators": ["weight"]})
GONE = {"gone": True, "records": 1}


def asked(api: httpx.Client, script: Script, *calls: Call, **body: Any) -> dict[str, Any]:
    mark = script(Step(calls=list(calls)), Step(text=["Your ferritin is 51.5 ng/mL."]))
    return create(api, input=f"Look {mark}", **body)


def results(response: dict[str, Any]) -> list[Any]:
    return [step["result"] for step in response["tool_steps"]]


def record_ids(api: httpx.Client, **params: str) -> list[str]:
    return [row["id"] for row in api.get("/v1/data", params=params).json()["data"]]


def test_a_deleted_record_takes_its_results_along(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    write_record(api, "ferritin", "51.5 ng/mL")
    write_record(api, "weight", "70 kg")
    response = asked(api, script, LATEST, WEIGHT)
    api.delete("/v1/data", params={"indicator": "ferritin"})
    shown = retrieve(api, response["id"])
    assert results(shown) == [GONE, results(response)[1]]
    assert [item["data"] for item in shown["health_records"]] == results(shown)
    assert shown["output_text"] == response["output_text"]
    mark = script(Step(text=["Fine."]))
    create(api, input=f"And? {mark}", previous_response_id=response["id"])
    contents = [message["content"] for message in upstream.requests(mark)[0].messages if message["role"] == "tool"]
    assert contents[0] == '{"gone":true,"records":1}'
    assert "70" in contents[1]


def test_a_replayed_stream_does_not_show_it_either(api: httpx.Client, script: Script) -> None:
    write_record(api, "ferritin", "51.5 ng/mL")
    mark = script(Step(calls=[LATEST]), Step(text=["Fine."]))
    response = create_stream(api, input=mark).response
    api.delete("/v1/data", params={"all": "true"})
    stream = check_stream(follow(api, response["id"]))
    assert results(stream.response) == [GONE]
    assert b"51.5" not in follow(api, response["id"])


def test_an_expired_record_takes_its_results_along_at_once(api: httpx.Client, script: Script) -> None:
    body = {"retention": "1h", "records": [{"indicator": "ferritin", "value": "51.5 ng/mL"}]}
    api.post("/v1/data", json=body)
    response = asked(api, script, LATEST)
    HealthRecord.objects.filter(public_id__in=record_ids(api)).update(expires_at=timezone.now() - timedelta(seconds=1))
    move_expiry(response["id"])
    assert results(retrieve(api, response["id"])) == [GONE]


def move_expiry(response_id: str) -> None:
    """What the clock would do: the result's own note of the expiry passes with the record's."""
    RecordSource.objects.filter(response_id=response_id).update(expires_at=timezone.now() - timedelta(seconds=1))


def test_the_sweep_takes_it_out_of_the_row(api: httpx.Client, script: Script) -> None:
    write_record(api, "ferritin", "51.5 ng/mL")
    response = asked(api, script, LATEST)
    api.delete("/v1/data", params={"all": "true"})
    sweep_expired()
    row = Response.objects.get(pk=response["id"])
    assert "51.5" not in row.added.replace("Your ferritin is 51.5", "")
    assert row.body == row.body.replace('"value": 51.5', "")
    assert results(retrieve(api, response["id"])) == [GONE]


def test_a_result_over_many_readings_goes_with_any_of_them(api: httpx.Client, script: Script) -> None:
    write_record(api, "ferritin", "51.5 ng/mL", time="2026-01-01")
    write_record(api, "ferritin", "60 ng/mL", time="2026-01-02")
    trend = Call("query_health_data", {"indicators": ["ferritin"], "operation": "aggregate"})
    response = asked(api, script, trend)
    api.delete("/v1/data", params={"id": record_ids(api)[0]})
    assert results(retrieve(api, response["id"])) == [{"gone": True, "records": 2}]


def test_what_was_written_after_a_deletion_stays(api: httpx.Client, script: Script) -> None:
    write_record(api, "ferritin", "51.5 ng/mL")
    api.delete("/v1/data", params={"all": "true"})
    write_record(api, "ferritin", "60 ng/mL")
    response = asked(api, script, LATEST)
    sweep_expired()
    assert retrieve(api, response["id"]) == response


def test_an_erased_relatives_values_and_name_go(api: httpx.Client, script: Script) -> None:
    write_record(api, "ferritin", "51.5 ng/mL", user="marvin")
    write_record(api, "weight", "70 kg", user="ann")
    share(api, "marvin", "ann")
    theirs = Call("query_health_data", {"indicators": ["ferritin"], "member": "marvin"})
    response = asked(api, script, Call("list_family_members"), theirs, WEIGHT, user="ann")
    assert "marvin" in str(response["tool_steps"])
    assert api.delete("/v1/subjects/marvin").status_code == 200
    shown = retrieve(api, response["id"])
    assert results(shown) == [{"gone": True, "records": 0}, GONE, results(response)[2]]
    assert "marvin" not in str(shown["tool_steps"])


def share(api: httpx.Client, owner: str, viewer: str, **more: str) -> None:
    answer = api.post("/v1/shares", json={"user": owner, "with": viewer, "scope": "all"} | more)
    assert answer.status_code == 200, answer.text


THEIRS = Call("query_health_data", {"indicators": ["ferritin"], "member": "marvin"})


def test_a_revoked_share_takes_what_was_seen_through_it(api: httpx.Client, script: Script, upstream: Upstream) -> None:
    write_record(api, "ferritin", "51.5 ng/mL", user="marvin")
    write_record(api, "weight", "70 kg", user="ann")
    share(api, "marvin", "ann")
    share(api, "marvin", "zoe")
    response = asked(api, script, Call("list_family_members"), THEIRS, WEIGHT, user="ann")
    others = asked(api, script, THEIRS, user="zoe")
    own = asked(api, script, LATEST, Call("summarize_health_data"), user="marvin")
    api.delete("/v1/shares", params={"user": "marvin", "with": "ann"})
    shown = retrieve(api, response["id"])
    assert results(shown) == [{"gone": True, "records": 0}, GONE, results(response)[2]]
    assert "marvin" not in str(shown["tool_steps"])
    mark = script(Step(text=["Fine."]))
    create(api, input=f"And? {mark}", previous_response_id=response["id"], user="ann")
    assert "marvin" not in str([m for m in upstream.requests(mark)[0].messages if m["role"] == "tool"])
    for untouched in (others, own):
        assert retrieve(api, untouched["id"]) == untouched
    sweep_expired()
    assert "marvin" not in Response.objects.get(pk=response["id"]).added
    assert [retrieve(api, one["id"]) for one in (response, others, own)] == [shown, others, own]


def test_what_was_seen_through_a_new_share_stays(api: httpx.Client, script: Script) -> None:
    write_record(api, "ferritin", "51.5 ng/mL", user="marvin")
    share(api, "marvin", "ann")
    api.delete("/v1/shares", params={"user": "marvin", "with": "ann"})
    share(api, "marvin", "ann")
    response = asked(api, script, THEIRS, user="ann")
    assert retrieve(api, response["id"]) == response


def test_a_share_that_is_narrowed_takes_what_it_showed(api: httpx.Client, script: Script) -> None:
    write_record(api, "ferritin", "51.5 ng/mL", user="marvin")
    share(api, "marvin", "ann")
    response = asked(api, script, THEIRS, user="ann")
    share(api, "marvin", "ann", scope="clinical")
    assert results(retrieve(api, response["id"])) == [GONE]


def test_a_share_that_ends_takes_what_it_showed(api: httpx.Client, script: Script) -> None:
    write_record(api, "ferritin", "51.5 ng/mL", user="marvin")
    share(api, "marvin", "ann", end=timezone.now().date().isoformat())
    response = asked(api, script, THEIRS, user="ann")
    (source,) = RecordSource.objects.filter(response_id=response["id"])
    midnight = (timezone.now() + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    assert source.expires_at == midnight
    move_expiry(response["id"])
    assert results(retrieve(api, response["id"])) == [GONE]


@pytest.mark.parametrize(
    ("zone", "end", "stays"),
    [
        ("Pacific/Kiritimati", 3, False),
        ("America/Los_Angeles", 3, True),
        ("Pacific/Kiritimati", None, True),
    ],
)
def test_a_share_that_ends_earlier_in_another_zone_takes_what_it_showed(
    api: httpx.Client, script: Script, zone: str, end: int | None, stays: bool
) -> None:
    write_record(api, "ferritin", "51.5 ng/mL", user="marvin")
    days = {} if end is None else {"end": (timezone.now().date() + timedelta(days=end)).isoformat()}
    share(api, "marvin", "ann", **days)
    response = asked(api, script, THEIRS, user="ann")
    assert api.patch("/v1/subjects/marvin", json={"time_zone": zone}).status_code == 200
    assert results(retrieve(api, response["id"])) == (results(response) if stays else [GONE])


def test_a_deleted_clinical_record_takes_its_results_along(
    api: httpx.Client, account: Account, script: Script, tmp_path: Path
) -> None:
    patient = Patient()
    path = written(tmp_path, patient.condition(), *patient.others())
    import_file(path, account.id, "", timezone.now(), dry_run=False)
    several = [Call("list_clinical_records", {"kinds": [kind]}) for kind in ("condition", "medication")]
    response = asked(api, script, *several, Call("summarize_health_data"))
    (condition,) = results(response)[0]["results"]
    assert api.delete("/v1/data", params={"id": condition["id"]}).json()["deleted"] == 1
    shown = retrieve(api, response["id"])
    assert results(shown) == [GONE, results(response)[1], {"gone": True, "records": 8}]
    sweep_expired()
    assert "Diabetes" not in Response.objects.get(pk=response["id"]).added
