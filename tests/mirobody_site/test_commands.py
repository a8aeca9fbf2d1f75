"""``--help`` of every command teaches: what it does, how it ends, an example that can be typed."""

import re
import shlex

import pytest
from django.core.management import get_commands, load_command_class

OURS = {name: app for name, app in get_commands().items() if app in ("mirobody_site.operators", "mirobody_site.tenancy",
                                                                     "responses_app", "tools_app")}  # fmt: skip
RUN_BY_MAKE = {"fail_abandoned_turns"}


def test_the_commands_that_operators_need_are_there() -> None:
    assert set(OURS) - RUN_BY_MAKE == {
        "create_api_key", "revoke_api_key", "purge_subject", "sweep_expired", "export_subject", "import_fhir",
        "seed_demo", "show_response", "usage_report", "doctor",
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(OURS) - RUN_BY_MAKE))
def test_its_help_teaches(name: str) -> None:
    command = load_command_class(str(OURS[name]), name)
    parser = command.create_parser("manage.py", name)
    told = " ".join(str(parser.description).split())
    assert re.search(r"Exit codes: 0 .*, 2 wrong arguments", told)
    example = re.search(rf"Example: .*?manage\.py {name} ?([^|)]*)", told)
    assert example
    # What cannot be parsed ends the test.
    parser.parse_args(shlex.split(example[1]))
    assert all(action.help for action in parser._actions)
