"""The table of tools, and what a deployment may switch on."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from jsonschema_rs import meta
from pytest_django import Settings

from tools_app.registry import RESERVED_NAMES, TOOLS, enabled_tools


def test_each_tool_stands_under_its_own_reserved_name() -> None:
    assert [spec.name for spec in TOOLS.values()] == list(TOOLS)
    assert set(TOOLS) <= RESERVED_NAMES


@pytest.mark.parametrize("name", TOOLS)
def test_schemas_are_valid_closed_and_described(name: str) -> None:
    spec = TOOLS[name]
    meta.validate(spec.parameters)
    assert spec.parameters["additionalProperties"] is False
    assert spec.description
    assert all(schema["description"] for schema in spec.parameters["properties"].values())


@pytest.mark.parametrize(
    "name", ["search_medical_evidence", "fetch_url", "write_fhir_observation", "task", "eval", "grep"]
)
def test_names_of_tools_that_are_off_are_reserved_too(name: str) -> None:
    assert name in RESERVED_NAMES


def test_a_deployment_chooses_its_tools(settings: Settings) -> None:
    settings.BUILTIN_TOOLS = ["list_family_members"]
    assert [spec.name for spec in enabled_tools()] == ["list_family_members"]


def test_a_misspelt_tool_is_named(settings: Settings) -> None:
    settings.BUILTIN_TOOLS = ["query_health_data", "query_helth_data"]
    with pytest.raises(ImproperlyConfigured, match="query_helth_data"):
        enabled_tools()
