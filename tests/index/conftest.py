"""An index in memory, in a folder and in a bucket: what holds for one holds for all."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from dibs.index.index import Index
from servers.server import Server

Make = Callable[..., Index]


@pytest.fixture(scope="session")
def index_bucket(seaweed: Server) -> str:
    return seaweed.bucket()


@pytest.fixture
def bucket_url(seaweed: Server, index_bucket: str) -> str:
    return seaweed.url(index_bucket, f"indexes/{uuid4().hex}")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "index")


@pytest.fixture(params=["memory", "folder", "bucket"])
def url(request: pytest.FixtureRequest) -> str:
    kinds = {"memory": lambda: "memory:", "folder": lambda: request.getfixturevalue("folder")}
    return str(kinds.get(request.param, lambda: request.getfixturevalue("bucket_url"))())


@pytest.fixture
def index(url: str) -> Iterator[Index]:
    with Index(url, shards=16, fields=["title", "status"]) as index:
        yield index


@pytest.fixture
def here(folder: str) -> Iterator[Index]:
    """In a folder."""
    with Index(folder, shards=16, fields=["title", "status"]) as index:
        yield index


def values(index: Index, key: str) -> tuple[Any, ...] | None:
    record = index.get(key)
    return None if record is None else tuple(record[name] for name in index.schema.own)
