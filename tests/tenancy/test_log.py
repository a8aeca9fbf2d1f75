"""Log lines hold no content, even where a library puts it into one."""

import io
import logging

import pytest

from mirobody_site.tenancy.log import ContentFreeFormatter, TaskResultFilter

CONTENT = "glucose 6.1"


@pytest.fixture
def written() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def logger(written: io.StringIO) -> logging.Logger:
    """A logger that writes the way the console does."""
    handler = logging.StreamHandler(written)
    handler.setFormatter(ContentFreeFormatter("%(levelname)s %(message)s"))
    logger = logging.getLogger(f"{__name__}.{id(written)}")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    return logger


def test_an_exception_is_its_type_and_place(logger: logging.Logger, written: io.StringIO) -> None:
    try:
        float(CONTENT)
    except ValueError:
        logger.exception("turn failed")
    first, second = written.getvalue().splitlines()
    assert first == "ERROR turn failed"
    assert second.startswith("ValueError at test_log.py:")
    assert CONTENT not in second


def test_further_lines_of_a_message_are_left_out(logger: logging.Logger, written: io.StringIO) -> None:
    logger.error("Task exception was never retrieved\nfuture: ValueError('%s')", CONTENT)
    assert written.getvalue() == "ERROR Task exception was never retrieved\n"


def test_celery_lines_name_no_result_and_no_exception(logger: logging.Logger, written: io.StringIO) -> None:
    logger.addFilter(TaskResultFilter())
    logger.info("Task %(name)s succeeded: %(return_value)s", {"name": "run", "return_value": CONTENT})
    logger.error("Task %(name)s raised: %(exc)s\n%(traceback)s", {"name": "run", "exc": CONTENT, "traceback": CONTENT})
    assert written.getvalue() == "INFO Task run succeeded: \nERROR Task run raised: \n"
