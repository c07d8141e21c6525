"""A folder that is one thing already does not become another too: one line says what it is, and nothing is written."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import dibs
from dibs.errors import FormatError


def queue_of_files(place: Path) -> None:
    with dibs.open(f"file:{place}") as queue:
        queue.push({"n": 1})


def lmdb_queue(place: Path) -> None:
    with dibs.open(f"lmdb:{place}") as queue:
        queue.push({"n": 1})


def index(place: Path) -> None:
    with dibs.Index(str(place)) as made:
        made.put("key", {"field": "1"})


def leases(place: Path) -> None:
    inputs = place.with_name("inputs")
    inputs.mkdir()
    (inputs / "a").touch()
    with dibs.open(f"dir:{inputs}?leases={place}&settle=0") as queue:
        assert queue.claim() is not None


def thesis(place: Path) -> None:
    place.mkdir()
    (place / "thesis.txt").write_text("all of it")


def as_files(place: Path) -> None:
    dibs.open(f"file:{place}").push({"n": 2})


def as_lmdb(place: Path) -> None:
    dibs.open(f"lmdb:{place}").push({"n": 2})


def as_inputs(place: Path) -> None:
    dibs.open(f"dir:{place}?settle=0").claim()


def as_leases(place: Path) -> None:
    inputs = place.with_name("others")
    inputs.mkdir(exist_ok=True)
    (inputs / "a").touch()
    dibs.open(f"dir:{inputs}?leases={place}&settle=0").claim()


def as_specs(place: Path) -> None:
    dibs.open(f"specs:{place}").push({"n": 2}, key="two")


def as_locks(place: Path) -> None:
    specs = place.with_name("specs")
    specs.mkdir(exist_ok=True)
    with dibs.open(f"specs:{specs}?locks={place}") as queue:
        queue.push({"n": 2}, key="two")
        assert queue.claim() is not None


def as_index(place: Path) -> None:
    with dibs.Index(str(place)) as made:
        made.put("another", {"field": "2"})


Act = Callable[[Path], None]
WHATS = {queue_of_files: "a queue", lmdb_queue: "LMDB", index: "an index", leases: "a ", thesis: "thesis.txt"}
EVERYTHING_ELSE: dict[Act, list[Act]] = {
    queue_of_files: [as_lmdb, as_inputs, as_leases, as_specs, as_locks, as_index],
    lmdb_queue: [as_files, as_inputs, as_leases, as_specs, as_locks, as_index],
    index: [as_files, as_lmdb, as_inputs, as_leases, as_specs, as_locks],
    leases: [as_files, as_lmdb, as_inputs, as_specs, as_index],
    thesis: [as_files, as_lmdb, as_index],
}


def tree(place: Path) -> dict[str, bytes]:
    paths = [Path(folder) / name for folder, _, names in os.walk(place) for name in names]
    return {str(path): path.read_bytes() for path in paths}


@pytest.mark.parametrize(
    ("there", "act"),
    [(there, act) for there, acts in EVERYTHING_ELSE.items() for act in acts],
    ids=lambda f: f.__name__,
)
def test_what_is_something_else_is_refused_and_left_alone(tmp_path: Path, there: Act, act: Act) -> None:
    place = tmp_path / "place"
    there(place)
    before, folders = tree(place), sorted(os.listdir(place))
    with pytest.raises(FormatError) as refused:
        act(place)
    said = str(refused.value)
    assert str(place) in said
    assert WHATS[there] in said
    assert "; " in said, "what to do"
    assert "\n" not in said
    assert (tree(place), sorted(os.listdir(place))) == (before, folders)


@pytest.mark.parametrize("act", [as_inputs, as_leases, as_specs, as_locks])
def test_what_lives_beside_others_files_still_does(tmp_path: Path, act: Act) -> None:
    place = tmp_path / "place"
    thesis(place)
    act(place)
    assert (place / "thesis.txt").read_text() == "all of it"


@pytest.mark.parametrize("act", [as_lmdb, as_index, as_files])
def test_an_empty_folder_may_become_anything(tmp_path: Path, act: Act) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / ".gitkeep").touch()
    act(place)
    act(place)


def test_an_lmdb_queue_whose_maker_died_is_made(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "grow.lock").touch()
    as_lmdb(place)


def test_a_look_for_an_lmdb_queue_says_what_is_there_instead(tmp_path: Path) -> None:
    place = tmp_path / "place"
    queue_of_files(place)
    with pytest.raises(FormatError, match=f"use file:{place}"):
        dibs.open(f"lmdb:{place}", create=False)


@pytest.mark.parametrize("act", [as_lmdb, as_leases, as_locks, as_index])
def test_a_file_in_the_way_is_said_to_be(tmp_path: Path, act: Act) -> None:
    place = tmp_path / "place"
    place.write_text("a file")
    with pytest.raises(dibs.StorageError, match="not a folder is in the way"):
        act(place)
    assert place.read_text() == "a file"


def test_inputs_may_be_lmdb_files_of_somebody_else(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "data.mdb").write_bytes(b"theirs")
    with dibs.open(f"dir:{place}?settle=0") as queue:
        lease = queue.claim()
        assert lease is not None
        assert lease.id == "data.mdb"
