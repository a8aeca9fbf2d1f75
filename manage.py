#!/usr/bin/env python
"""Django's command line for this project."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirobody_site.settings")
    from django.core.management import execute_from_command_line  # noqa: PLC0415 - Django needs the settings module named first

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
