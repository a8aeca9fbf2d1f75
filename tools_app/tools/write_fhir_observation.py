"""The tool ``write_fhir_observation``: keeps one reading for the Subject, as ``POST /v1/data`` does. The only one that
writes.
"""

from dataclasses import asdict

from pydantic import ValidationError

from mirobody_site.tenancy.errors import InvalidRequestError
from mirobody_site.tenancy.models import Subject
from tools_app.contract import Arguments, ToolContext, ToolFailed, ToolResult, ToolSpec, TryDifferently
from tools_app.records.batch import MAX_UNIT_LENGTH, MAX_VALUE_LENGTH, Batch
from tools_app.records.models import MAX_INDICATOR_LENGTH
from tools_app.records.services import ingest

NAME = "write_fhir_observation"


def _run(context: ToolContext, arguments: Arguments) -> ToolResult:
    try:
        batch = Batch.model_validate({"retention": "permanent", "records": [{**arguments, "source": NAME}]})
        counts = ingest(context.account_id, _user(context), batch, context.now)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise TryDifferently(f"`{first['loc'][-1]}` {first['msg']}.") from None
    except InvalidRequestError as error:
        raise TryDifferently(error.message) from None
    return ToolResult({"status": "ok", **asdict(counts)})


def _user(context: ToolContext) -> str:
    """The name of the Subject, who may be new, or going."""
    if context.subject_id is None:
        if context.user is None:
            raise ToolFailed("Nothing can be kept for this person.")
        return context.user
    subject = Subject.objects.filter(pk=context.subject_id, account_id=context.account_id, erased_at=None).first()
    if subject is None:
        raise ToolFailed("Nothing can be kept for this person.")
    return subject.user_key


WRITE_FHIR_OBSERVATION = ToolSpec(
    name=NAME,
    description=(
        "Keeps one reading in this person's own records, for good. Only when the person asks for it, with exactly the "
        "value and unit they gave; never with something computed or guessed."
    ),
    parameters={
        "type": "object",
        "properties": {
            "indicator": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_INDICATOR_LENGTH,
                "description": "What was measured, such as 'fasting glucose'.",
            },
            "value": {
                "type": ["string", "number"],
                "maxLength": MAX_VALUE_LENGTH,
                "description": "The reading as given: a number, or text such as '120/80' or 'negative'.",
            },
            "unit": {
                "type": "string",
                "maxLength": MAX_UNIT_LENGTH,
                "description": "Its unit as given, if it has one.",
            },
            "time": {
                "type": "string",
                "maxLength": 40,
                "description": "When it was taken: an ISO 8601 date or date-time. Now when left out.",
            },
        },
        "required": ["indicator", "value"],
        "additionalProperties": False,
    },
    run=_run,
)
