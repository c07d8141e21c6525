"""Waiting for something, with an end."""

import time
from collections.abc import Callable

import pytest


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], None]:
    def wait(done: Callable[[], bool], seconds: float = 30.0) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < deadline, "it did not come to pass"
            time.sleep(0.01)

    return wait
