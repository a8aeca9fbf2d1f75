"""Whatever is written is kept as written or refused by name, and writing back what was read changes nothing."""

import string
from typing import Any

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tools_app.records import rows
from tools_app.standardization import concepts

NUMBERISH = st.text(alphabet="0123456789.,- +<>=≤≥±/:~eEx×^%*()HL↑↓万'\"阴阳性mgdLol １２．", min_size=1, max_size=16)
TEXT = st.text(min_size=1, max_size=30)
VALUES = st.one_of(
    NUMBERISH, TEXT, st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none()
)
UNITS = st.one_of(
    st.sampled_from(["mmol/L", "mg/dL", "%", "10^9/L", "mmHg", "°F", "/HPF", "", "g/24h", "IU/mL", "1", "斤"]),
    st.text(max_size=12),
)
NAMES = st.one_of(
    st.sampled_from([name for concept in concepts() for name in concept.names]),
    st.text(alphabet=string.ascii_letters + "血糖压 ()（）-/%#", min_size=1, max_size=20),
    TEXT,
)
TIMES = st.one_of(
    st.datetimes().map(lambda moment: moment.isoformat()),
    st.dates().map(lambda day: day.isoformat()),
    st.sampled_from(["2026-03-01", "2026-03-01T08:00:00+08:00", "2026-03-01T08:00:00Z", "1066-10-14"]),
    st.text(max_size=20),
)
RECORDS = st.fixed_dictionaries(
    {"indicator": NAMES, "value": VALUES, "time": st.one_of(st.just("2026-03-01"), TIMES)},
    optional={"unit": UNITS, "reference_text": st.one_of(NUMBERISH, TEXT), "end_time": TIMES, "abnormal": TEXT},
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(RECORDS)
def test_a_record_is_kept_as_written_or_refused_by_name(api: httpx.Client, record: dict[str, Any]) -> None:
    user = "u-fuzz"
    api.delete("/v1/data", params={"user": user, "all": "true"})

    answer = api.post("/v1/data", json={"user": user, "retention": "permanent", "records": [record]})

    if answer.status_code == 400:
        param = answer.json()["error"]["param"]
        assert param is None or param.startswith("records[0]")
        return
    assert answer.status_code == 200, answer.text
    found = rows(api, user)
    assert len(found) == answer.json()["ingested"] in (1, 2)
    for row in found:
        assert row["indicator"] == record["indicator"]
        # A time without an offset is the Subject's, and shown with the offset it was read in.
        assert row["time"] in (record["time"], f"{record['time']}+00:00")
        assert _says(row["value"], record["value"], record.get("unit") or "")
        assert (row["reference_text"] or "") == (record.get("reference_text") or "")
    again = api.post("/v1/data", json={"user": user, "retention": "permanent", "records": found})
    assert (again.status_code, again.json()["ingested"]) == (200, 0)


def _says(shown: str, value: Any, unit: str) -> bool:
    """Whether a row's value is what was written with its unit; a number may be written out in full."""
    if isinstance(value, str):
        return shown in (value, f"{value} {unit}")
    return float(shown.removesuffix(unit).strip() or "nan") == float(value)
