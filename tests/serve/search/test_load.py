"""The index gives way to what the daemon is there for."""

import pytest

from dibs.serve.search import load
from dibs.serve.search.load import BUSY, CALM, Load
from dibs.testing import ManualClock


def test_busy_and_calm(monkeypatch: pytest.MonkeyPatch) -> None:
    used, clock = 0.0, ManualClock()
    monkeypatch.setattr(load, "_used", lambda: used)
    watched = Load(clock)
    assert watched.share() == BUSY  # nobody knows yet
    clock.advance(1)
    assert watched.share() == CALM
    used += 0.1
    clock.advance(1)
    assert watched.share() == CALM
    used += 0.9
    assert watched.share() == CALM  # too soon for another look
    clock.advance(1)
    assert watched.share() == BUSY
