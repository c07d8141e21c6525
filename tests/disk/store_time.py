"""The file server's clock for tests in manual time: it stands still until they move it, however slow the machine is."""

import time

import pytest

from dibs.stores.files import FileStore
from dibs.testing import ManualClock


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    started = time.time()

    def now(store: FileStore) -> float:
        clock = store._clock
        return started + clock.advanced if isinstance(clock, ManualClock) else time.time()

    monkeypatch.setattr(FileStore, "now", now)
