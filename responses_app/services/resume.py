"""Whether a request's input fits the conversation it continues: the rules of resuming and of replaying. Writes nothing.

Source: the wire contract, section 6; messages, and the order they are checked in, are part of it.
"""

import json
from collections import Counter
from collections.abc import Sequence

from mirobody_site.tenancy.errors import InvalidRequestError, NotFoundError
from responses_app.protocol.items import FunctionCallItem
from responses_app.protocol.request import ResponseRequest


def check_resume(request: ResponseRequest, pending: Sequence[str]) -> None:
    """For a request that continues a response whose calls ``pending`` wait. Raises ``InvalidRequestError``."""
    if request.outputs:
        _check_outputs(request, pending)
    elif pending:
        raise _refusal(
            "previous response has pending function call(s) — provide function_call_output items for: "
            + ", ".join(pending)
        )
    else:
        _check_answered(request)


def check_replay(request: ResponseRequest) -> None:
    """For a request with its transcript in ``input``: calls and outputs pair. Raises ``InvalidRequestError``."""
    called = [item.call_id for item in request.items if isinstance(item, FunctionCallItem)]
    surplus = _surplus([item.call_id for item in request.outputs], called)
    if any(call_id not in called for call_id in surplus):
        raise _refusal(
            "function_call_output without matching function_call items — replay the full transcript, "
            "or resume via previous_response_id"
        )
    if surplus:
        raise _refusal(f"duplicate call_id(s): {_listed(surplus)}")
    _check_answered(request)


def already_resumed() -> InvalidRequestError:
    """Outputs for a response that is no handoff, or that was resumed already."""
    return _refusal("previous response has no pending function calls")


def previous_not_found(response_id: str) -> NotFoundError:
    """The response to continue is unknown, expired, deleted or another Subject's."""
    return NotFoundError(
        f"Previous response with id '{response_id}' not found.",
        code="previous_response_not_found",
        param="previous_response_id",
    )


def _check_outputs(request: ResponseRequest, pending: Sequence[str]) -> None:
    answered = [item.call_id for item in request.outputs]
    if len(answered) != len(request.items):
        raise _refusal("cannot mix message items with function_call_output when resuming via previous_response_id")
    if not pending:
        raise already_resumed()
    unknown = [call_id for call_id in dict.fromkeys(answered) if call_id not in pending]
    if unknown:
        raise _refusal(f"unknown call_id(s): {_listed(unknown)}")
    repeated = _surplus(answered, pending)
    if repeated:
        raise _refusal(f"duplicate call_id(s): {_listed(repeated)}")
    missing = [call_id for call_id in pending if call_id not in answered]
    if missing:
        raise _missing(missing)


def _check_answered(request: ResponseRequest) -> None:
    called = [item.call_id for item in request.items if isinstance(item, FunctionCallItem)]
    unanswered = _surplus(called, [item.call_id for item in request.outputs])
    if unanswered:
        raise _missing(unanswered)


def _surplus(more: Sequence[str], fewer: Sequence[str]) -> list[str]:
    """The ids that stand more often in ``more`` than in ``fewer``, each once."""
    return list(Counter(more) - Counter(fewer))


def _missing(call_ids: Sequence[str]) -> InvalidRequestError:
    return _refusal(f"missing function_call_output for call_id(s): {_listed(call_ids)}")


def _listed(call_ids: Sequence[str]) -> str:
    return json.dumps(call_ids, ensure_ascii=False)


def _refusal(message: str) -> InvalidRequestError:
    return InvalidRequestError(message, param="input")
