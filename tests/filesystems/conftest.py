"""Only with DIBS_FILESYSTEMS=1, which `make test-filesystems` sets: mounting needs root and takes minutes."""

import os
from pathlib import Path

import pytest

from filesystems.mounting import CannotMountError

LONGEST = ("[nfs]", "[smb]", "[vfat]", "[s3fs]", "two_mounts[sshfs]", "chaos")
_CANNOT = "cannot be mounted here: "


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return None if os.environ.get("DIBS_FILESYSTEMS") else True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Far apart from each other, as the processes that run them each begin with a part of the list."""
    ours = [item for item in items if "filesystems" in item.path.parts]
    long = [item for mark in LONGEST for item in ours if mark in item.nodeid and "test_queues" not in item.nodeid]
    if len(ours) < len(items) or not long:
        return
    short = [item for item in ours if item not in long]
    step = -(-len(short) // len(long))
    items[:] = [item for n, one in enumerate(long) for item in (one, *short[n * step : (n + 1) * step])]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item):  # type: ignore[no-untyped-def]
    """What this machine cannot mount is skipped, with the reason, which the last lines of the run show."""
    outcome = yield
    if outcome.excinfo is not None and isinstance(outcome.excinfo[1], CannotMountError):
        outcome.force_exception(pytest.skip.Exception(f"{_CANNOT}{outcome.excinfo[1]}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in terminalreporter.stats.get("skipped", []):
        reason = str(report.longrepr[-1]).removeprefix("Skipped: ")
        if reason.startswith(_CANNOT):
            name = report.nodeid.rpartition("[")[2].removesuffix("]")
            terminalreporter.write_line(f"{name} {' '.join(reason.split())}")
