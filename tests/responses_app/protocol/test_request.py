"""What reading a request costs when it is full of faults."""

from typing import Any

import pytest
from pydantic import ValidationError

from responses_app.protocol.request import ResponseRequest

FULL_OF_FAULTS: dict[str, Any] = {
    "parts": {"input": [{"role": "user", "content": [5] * 1000}]},
    "items": {"input": [5] * 1000},
    "summary": {"input": [{"type": "reasoning", "summary": [5] * 1000}]},
    "include": {"input": "hi", "include": [5] * 1000},
    "tools": {"input": "hi", "tools": [5] * 60},
    "builtin_tools": {"input": "hi", "builtin_tools": [5] * 1000},
    "metadata": {"input": "hi", "metadata": {str(number): 5 for number in range(1000)}},
}


@pytest.mark.parametrize("body", FULL_OF_FAULTS.values(), ids=FULL_OF_FAULTS.keys())
def test_reading_stops_at_the_first_fault(body: dict[str, Any]) -> None:
    """A body of the largest size, with every fault collected, takes a minute and gigabytes."""
    with pytest.raises(ValidationError) as refused:
        ResponseRequest.model_validate(body)
    assert refused.value.error_count() == 1
