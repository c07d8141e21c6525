"""An index that is taken for a queue, or a queue for an index, is called what it is, and left as it was."""

import os
from pathlib import Path

import pytest

import dibs
from dibs.errors import FormatError
from dibs.index.index import Index


@pytest.fixture(params=["folder", "bucket_url"])
def place(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@pytest.mark.parametrize("create", [True, False])
def test_an_index_is_no_queue(place: str, create: bool) -> None:
    with Index(place, shards=16, fields=["title"]) as index:
        index.put("a", {"title": "A"})
        with pytest.raises(FormatError, match="is an index, not a queue; `dibs index` works on it"):
            dibs.open(place, create=create).stats()
        assert index.get("a") is not None


def test_nothing_is_made_in_an_index_that_was_taken_for_a_queue(folder: str) -> None:
    with Index(folder, shards=16, fields=["title"]):
        before = sorted(os.listdir(folder))
        with pytest.raises(FormatError):
            dibs.open(folder).push(1)
        assert sorted(os.listdir(folder)) == before


def test_a_queue_is_no_index(place: str) -> None:
    with dibs.open(place) as queue:
        queue.push(1)
        with pytest.raises(FormatError, match="is a queue, not an index; name another place"):
            Index(place, shards=16, fields=["title"]).put("a", {"title": "A"})
        with pytest.raises(FormatError, match="is a queue, not an index"):
            Index(place).get("a")
        assert queue.claim() is not None


def test_what_is_neither_is_still_called_damaged(folder: str) -> None:
    dibs.open(folder).push(1)
    Path(f"{folder}/dibs.json").write_text('{"shards": 64}')
    with pytest.raises(FormatError, match="is damaged"):
        dibs.open(folder).stats()
    with pytest.raises(FormatError, match="is damaged"):
        Index(folder).get("a")
