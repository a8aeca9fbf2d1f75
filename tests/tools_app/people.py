"""People with records for the tool tests, and running a tool about them. What is right is computed by the tests."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from mirobody_site.tenancy.models import Subject
from mirobody_site.tenancy.services import get_or_create_subject
from tests.tools_app.records import Record
from tools_app.contract import ToolContext, ToolResult
from tools_app.records.batch import Batch
from tools_app.records.models import Share
from tools_app.records.services import ingest
from tools_app.registry import TOOLS
from tools_app.runner import run_tool

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Person:
    """One Subject of an account, and the tools as they run about it."""

    account_id: int
    user: str

    @property
    def subject(self) -> Subject:
        return get_or_create_subject(self.account_id, self.user)

    @property
    def context(self) -> ToolContext:
        return ToolContext(self.account_id, self.subject.pk, NOW)

    def has(self, *records: Record, retention: str = "permanent") -> "Person":
        for start in range(0, len(records), 500):
            batch = {"retention": retention, "records": records[start : start + 500]}
            ingest(self.account_id, self.user, Batch.model_validate(batch), NOW)
        return self

    def shares_with(self, other: "Person", **limits: Any) -> None:
        Share.objects.create(subject=self.subject, with_subject=other.subject, **limits)

    def run(self, tool: str = "query_health_data", **arguments: Any) -> ToolResult:
        return run_tool(TOOLS[tool], self.context, arguments)

    def ask(self, **arguments: Any) -> dict[str, Any]:
        """The data of query_health_data."""
        return self.run(**arguments).data

    def one(self, **arguments: Any) -> dict[str, Any]:
        """The only result of query_health_data."""
        (result,) = self.ask(**arguments)["results"]
        assert isinstance(result, dict)
        return result
