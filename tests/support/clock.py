"""A clock for tests that the whole process tells the time by, the in-process server included."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone


class Clock:
    """Runs as ever until it is made to stand."""

    def __init__(self) -> None:
        self._running = timezone.now
        self._standing: datetime | None = None

    def now(self) -> datetime:
        return self._standing or self._running()

    def stand_at(self, moment: datetime) -> None:
        """From here on it is this moment, and stays it."""
        self._standing = moment

    def stand_just_before(self, moment: datetime) -> None:
        """The last moment before this one."""
        self._standing = moment - timedelta(microseconds=1)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The process's clock for one test."""
    moved = Clock()
    monkeypatch.setattr("django.utils.timezone.now", moved.now)
    return moved
