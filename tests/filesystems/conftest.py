"""Only with DIBS_FILESYSTEMS=1, which `make test-filesystems` sets: mounting needs root and takes minutes."""

import os
from pathlib import Path

import pytest

from filesystems.mounting import CannotMountError


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return None if os.environ.get("DIBS_FILESYSTEMS") else True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item):  # type: ignore[no-untyped-def]
    """What this machine cannot mount is skipped, with the reason, which the last lines of the run show."""
    outcome = yield
    if outcome.excinfo is not None and isinstance(outcome.excinfo[1], CannotMountError):
        outcome.force_exception(pytest.skip.Exception(f"cannot be mounted here: {outcome.excinfo[1]}"))
