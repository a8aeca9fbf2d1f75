"""Commands of ``manage.py`` as a shell runs them."""

from django.core.management import get_commands, load_command_class


def manage(*arguments: str) -> int:
    """The exit code of ``manage.py`` with these arguments."""
    app = get_commands()[arguments[0]]
    assert isinstance(app, str)
    try:
        load_command_class(app, arguments[0]).run_from_argv(["manage.py", *arguments])
    except SystemExit as end:
        return int(end.code or 0)
    return 0
