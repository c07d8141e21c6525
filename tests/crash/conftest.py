"""A folder in memory where the system has one: killing processes needs no real disk, and syncing is free there."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = "/dev/shm"


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    folder = tempfile.mkdtemp(prefix="dibs-test-", dir=MEMORY)
    yield Path(folder)
    shutil.rmtree(folder)
