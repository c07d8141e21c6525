"""The servers as fixtures: started when a test first asks, one of each for the whole run."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers import shared
from servers.server import Server


def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for all workers of pytest-xdist, whose base folders stand side by side."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "servers"


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with shared.use("seaweed", run_folder(tmp_path_factory)) as server:
        yield server


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with shared.use("moto", run_folder(tmp_path_factory)) as server:
        yield server


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with shared.use("redis", run_folder(tmp_path_factory)) as server:
        yield server


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with shared.use("valkey", run_folder(tmp_path_factory)) as server:
        yield server


@pytest.fixture(scope="module")
def rclone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with shared.use("rclone", run_folder(tmp_path_factory)) as server:
        yield server


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with shared.use("postgres", run_folder(tmp_path_factory)) as server:
        yield server
