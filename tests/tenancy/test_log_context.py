"""Which ids a line carries, and a line as JSON."""

import io
import json
import logging
from datetime import datetime

import pytest

from mirobody_site.tenancy.log import JsonFormatter, LogContextFilter
from mirobody_site.tenancy.log_context import log_context

CONTENT = "glucose 6.1"


@pytest.fixture
def written() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def logger(written: io.StringIO) -> logging.Logger:
    """A logger that writes the way the console does with ``LOG_FORMAT=json``."""
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(LogContextFilter())
    logger = logging.getLogger(f"{__name__}.{id(written)}")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    return logger


def test_a_line_is_an_object_with_what_is_known(logger: logging.Logger, written: io.StringIO) -> None:
    with log_context(request_id="req_1"):
        logger.info("turn %s", "completed", extra={"duration_ms": 12})
    line = json.loads(written.getvalue())
    assert datetime.fromisoformat(line.pop("time")).tzinfo is not None
    assert line == {
        "level": "INFO",
        "logger": logger.name,
        "request_id": "req_1",
        "message": "turn completed",
        "duration_ms": 12,
    }


def test_ids_add_up_inside_and_end_with_their_block(logger: logging.Logger, written: io.StringIO) -> None:
    with log_context(request_id="req_1", task_id=None), log_context(response_id="resp_1"):
        logger.info("inside")
    logger.info("outside")
    inside, outside = map(json.loads, written.getvalue().splitlines())
    assert (inside["request_id"], inside["response_id"], "task_id" in inside) == ("req_1", "resp_1", False)
    assert not {"request_id", "response_id", "task_id"} & outside.keys()


def test_no_content_and_one_line_whatever_is_logged(logger: logging.Logger, written: io.StringIO) -> None:
    try:
        float(CONTENT)
    except ValueError:
        logger.exception("turn failed\nwith %s", CONTENT)
    (line,) = written.getvalue().splitlines()
    assert CONTENT not in line
    assert json.loads(line)["message"] == "turn failed"
    assert json.loads(line)["exception"].startswith("ValueError at test_log_context.py:")
