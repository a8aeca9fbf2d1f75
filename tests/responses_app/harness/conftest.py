"""What tests of the agent's own tools share: the scripted model behind the server, and turns that call one tool."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.utils import timezone
from pytest_django import Settings

from responses_app.protocol.catalogue import catalogue
from tests.responses_app.api.conftest import Ask, Json, Script, ask, create, script, scripted_model
from tests.support.server import Account
from tests.support.upstream import Call, Step
from tests.tools_app.fhir_bundles import Patient, written
from tools_app.fhir.importing import import_file
from tools_app.records.clinical import ClinicalRecord

__all__ = ["Ask", "ask", "script", "scripted_model"]

Uses = Callable[..., Json]
Document = Callable[..., str]


@pytest.fixture
def uses(api: httpx.Client, script: Script) -> Uses:
    """The response of a turn whose model makes these calls, one after the other, and then answers."""

    def used(*calls: Call, **body: Any) -> Json:
        mark = script(*(Step(calls=[call]) for call in calls), Step(text=["Done."]))
        return create(api, input=f"Work {mark}", **body)

    return used


@pytest.fixture
def document(account: Account, tmp_path: Path) -> Document:
    """Gives a Subject a document and its record's id."""

    def given(user: str | None, title: str, text: str) -> str:
        patient = Patient(seed=len(title) + len(text))
        resource = patient.about(
            "DocumentReference",
            status="current",
            type={"text": title},
            date="2026-03-01T08:00:00Z",
            content=[{"attachment": {"contentType": "text/plain", "data": base64.b64encode(text.encode()).decode()}}],
        )
        before = set(ClinicalRecord.objects.values_list("public_id", flat=True))
        import_file(written(tmp_path, resource), account.id, user or "", timezone.now(), dry_run=False)
        [made] = set(ClinicalRecord.objects.values_list("public_id", flat=True)) - before
        return str(made)

    return given


def result(response: Json, index: int = -1) -> Any:
    """The result of one of the response's tool steps."""
    return response["tool_steps"][index]["result"]


def statuses(response: Json) -> list[str]:
    """How each tool step ended."""
    return [step["status"] for step in response["tool_steps"]]


def told(request: Any) -> list[Json]:
    """What the model was told by the tools of its turn."""
    return [json.loads(output) for output in request.tool_outputs]


@pytest.fixture(autouse=True)
def wide_window(settings: Settings) -> None:
    """The model's context window is no limit here: the bounds of files are."""
    settings.MODEL_CATALOGUE = catalogue({"mirobody-flash": {"context_window": 100_000_000}})
