"""What is known of the ways a model is to be asked in: bounded, and forgotten after a while."""

import pytest

from responses_app.engine import ways
from responses_app.engine.ways import ChoiceWay, KnownWays, Ways


def test_the_way_that_worked_is_begun_with_until_it_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    known = KnownWays()
    first = Ways(known, "a model", max(ChoiceWay))
    assert first.another()
    first.worked()
    assert Ways(known, "a model", max(ChoiceWay)).way == ChoiceWay.UNTHINKING
    assert Ways(known, "another model", max(ChoiceWay)).way == ChoiceWay.NATIVE
    now = ways.time.monotonic()
    monkeypatch.setattr(ways.time, "monotonic", lambda: now + 601)
    assert Ways(known, "a model", max(ChoiceWay)).way == ChoiceWay.NATIVE


def test_a_way_that_did_not_work_is_not_known() -> None:
    known = KnownWays()
    tried = Ways(known, "a model", max(ChoiceWay))
    assert [tried.another(), tried.another(), tried.another()] == [True, True, False]
    assert known.needed("a model") == 0


def test_only_so_many_are_known() -> None:
    known = KnownWays()
    for number in range(2000):
        known.note(number, 1)
    assert known.needed(0) == 0
    assert known.needed(1999) == 1
    assert sum(known.needed(number) for number in range(2000)) == 512
