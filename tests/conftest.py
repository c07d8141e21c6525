"""For all tests: failures inside the shipped contract suite show their values; what this machine lacks is said."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from disk import strace

pytest.register_assert_rewrite("dibs.testing")
MEMORY = "/dev/shm"


def pytest_report_header() -> str:
    found = "found: real system calls are traced and killed too" if strace.works() else "not usable: its tests are left out"
    return f"strace: {found}"


def pytest_ignore_collect(collection_path: object) -> bool | None:
    """Not a skip: on a machine without strace these tests do not exist, and the header says so."""
    return True if str(collection_path).endswith("_strace.py") and not strace.works() else None


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """In memory where the system has that: killing and refusing need no real disk, and syncing is free there."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    folder = tempfile.mkdtemp(prefix="dibs-test-", dir=MEMORY)
    yield Path(folder)
    shutil.rmtree(folder)
