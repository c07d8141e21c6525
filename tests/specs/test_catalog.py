"""A folder of specs: what is listed, what is broken, and a cache that never tells anything but the truth."""

import json
import os
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from dibs.errors import BadInput, TaskNotFound
from dibs.specs import reading
from dibs.specs.cache import VERSION, Entry, place_of
from dibs.specs.catalog import CACHE_FROM, Catalog
from dibs.specs.spec import Broken, Spec
from dibs.specs.statuses import Status
from dibs.testing.clock import ManualClock

MANY = CACHE_FROM + 6


def later() -> ManualClock:
    """A clock so far ahead that no file counts as just changed."""
    return ManualClock(wall=time.time() + 60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "specs"
    made.mkdir()
    return made


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "specs"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all files that were really read."""
    seen: list[str] = []
    real = reading.read_entries

    def read(names: Sequence[str], folder: int, now: float) -> dict[str, Entry]:
        seen.extend(names)
        return real(names, folder, now)

    monkeypatch.setattr(reading, "read_entries", read)
    return seen


def write(folder: Path, name: str, front: str = "status: pending", body: str = "# Title\n") -> Path:
    path = folder / f"{name}.md"
    path.write_text(f"---\n{front}\n---\n{body}")
    return path


def fill(folder: Path, count: int = MANY) -> None:
    for number in range(count):
        write(folder, f"spec-{number:03}", f"priority: {number}\ndepends_on: [spec-{number // 2:03}]\nextra: {number}")


def plain(folder: Path) -> list[Spec | Broken]:
    return list(Catalog(str(folder), cache=None).specs())


def test_all_markdown_files_and_nothing_else(folder: Path) -> None:
    write(folder, "b")
    write(folder, "a", "status: completed")
    (folder / ".hidden.md").write_text("---\n---\n")
    (folder / "notes.txt").write_text("---\n---\n")
    (folder / "README.md").write_text("# How we work\n")
    (folder / "folder.md").mkdir()
    (folder / "archive").mkdir()
    write(folder / "archive", "old")
    specs = Catalog(str(folder), cache=None).specs()
    assert [spec.id for spec in specs] == ["a", "b"]
    first = specs.get("a")
    assert isinstance(first, Spec)
    assert (first.status, first.title, first.path) == (Status.COMPLETED, "Title", str(folder / "a.md"))
    assert specs.find("b.md") == specs.get("b")
    with pytest.raises(TaskNotFound):
        specs.get("old")


def test_an_empty_folder_and_none(folder: Path) -> None:
    assert len(Catalog(str(folder)).specs()) == 0
    with pytest.raises(BadInput, match=r"no folder of specs at .*/nowhere; `dibs specs init` makes one"):
        Catalog(str(folder / "nowhere")).specs()
    write(folder, "a")
    with pytest.raises(BadInput, match="no folder of specs"):
        Catalog(str(folder / "a.md")).specs()


def test_what_cannot_be_read_is_broken_and_disturbs_nobody(folder: Path) -> None:
    outside = folder.parent / "secret.md"
    outside.write_text("---\nstatus: pending\n---\n# Secret\n")
    write(folder, "good")
    write(folder, "bad-field", "a: 1\nstatus: nonsense")
    (folder / "no-front.md").write_text("# x\n")
    (folder / "not-utf8.md").write_bytes(b"---\nstatus: pending\nx: \xff\n---\n")
    (folder / "out.md").symlink_to("../secret.md")
    (folder / "out-absolute.md").symlink_to(outside)
    (folder / "alias.md").symlink_to("good.md")
    (folder / "dangling.md").symlink_to("nowhere.md")
    os.mkfifo(folder / "pipe.md")
    found = {spec.id: spec for spec in Catalog(str(folder), cache=None).specs()}
    broken = {name: spec for name, spec in found.items() if isinstance(spec, Broken)}
    assert found.keys() - broken.keys() == {"good"}
    assert broken["bad-field"].line == 3
    assert broken["no-front"].line == 1
    assert broken["not-utf8"].line == 3
    for name in ("out", "out-absolute"):
        assert "leads out of the folder" in broken[name].reason
    assert broken["alias"].reason == "it is a symbolic link to good.md; a spec is one file under one name"
    assert "symbolic link" in broken["dangling"].reason
    assert broken["pipe"].reason == "it is not a regular file"
    assert Catalog(str(folder), cache=None).specs().broken() == [broken[name] for name in sorted(broken)]


HOSTILE = [b"-rf", b"a\nb", b"a\x1b[2J", b"\xff\xfe", b"back\\slash", b" blank", "\u202eflip".encode(), b"x" * 220]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_broken_and_its_file_not_opened(folder: Path, cache: Path, name: bytes) -> None:
    path = os.fsencode(folder) + b"/" + name + b".md"
    with open(path, "wb") as file:
        file.write(b"---\nstatus: pending\n---\n")
    os.chmod(path, 0)
    fill(folder)
    for _ in range(3):
        (only,) = Catalog(str(folder), cache=str(cache), clock=later()).specs().broken()
        assert only.reason.startswith("its name ")
        assert os.fsencode(only.path) == path


def test_a_very_long_file_is_read_only_at_its_beginning(folder: Path) -> None:
    with open(folder / "long.md", "wb") as file:
        file.write(b"---\nstatus: paused\n---\n# Long\n")
        file.truncate(1 << 33)
    (spec,) = Catalog(str(folder), cache=None).specs()
    assert isinstance(spec, Spec)
    assert (spec.title, spec.status) == ("Long", Status.PAUSED)


def test_the_second_look_reads_nothing(folder: Path, cache: Path, reads: list[str]) -> None:
    fill(folder)
    write(folder, "broken", "status: nonsense")
    (folder / "folder.md").mkdir()
    (folder / "Readme.md").write_text("# x\n")
    (folder / "link.md").symlink_to("spec-000.md")
    first = list(Catalog(str(folder), cache=str(cache), clock=later()).specs())
    assert len(reads) == MANY + 2
    assert first == plain(folder)
    reads.clear()
    for look in (Catalog(str(folder), cache=str(cache), clock=later()),) * 2:
        assert list(look.specs()) == first
    assert reads == []


def test_only_what_changed_is_read_again(folder: Path, cache: Path, reads: list[str]) -> None:
    fill(folder)
    kept = Catalog(str(folder), cache=str(cache), clock=later())
    kept.specs()
    reads.clear()
    write(folder, "spec-003", "status: completed")
    write(folder, "new")
    (folder / "spec-004.md").unlink()
    (folder / "spec-005.md").rename(folder / "spec-005b.md")
    changed = ["new.md", "spec-003.md", "spec-005b.md"]
    assert list(Catalog(str(folder), cache=str(cache), clock=later()).specs()) == plain_without(folder, reads)
    assert sorted(reads) == changed
    reads.clear()
    assert list(kept.specs()) == plain_without(folder, reads)
    assert sorted(reads) == changed
    reads.clear()
    assert len(Catalog(str(folder), cache=str(cache), clock=later()).specs()) == MANY
    assert reads == []


def plain_without(folder: Path, reads: list[str]) -> list[Spec | Broken]:
    """What is there, read without a cache and without being counted."""
    counted = list(reads)
    found = plain(folder)
    reads[:] = counted
    return found


def test_changes_that_keep_size_and_modification_time_are_seen(folder: Path, cache: Path) -> None:
    fill(folder)
    path = write(folder, "same", "status: pending")
    os.utime(path, ns=(10**18, 10**18))
    Catalog(str(folder), cache=str(cache), clock=later()).specs()
    path.write_text(path.read_text().replace("pending", "blocked"))
    os.utime(path, ns=(10**18, 10**18))
    spec = Catalog(str(folder), cache=str(cache), clock=later()).specs().get("same")
    assert isinstance(spec, Spec)
    assert spec.status is Status.BLOCKED


def test_a_file_that_just_changed_is_read_again(folder: Path, cache: Path, reads: list[str]) -> None:
    """Its stamp could stay the same at the next change: within one tick of the file system's clock."""
    fill(folder)
    now = (folder / "spec-000.md").stat().st_ctime
    for number in range(MANY):
        now = max(now, (folder / f"spec-{number:03}.md").stat().st_ctime)
    clock = ManualClock(wall=now)
    for _ in range(2):
        Catalog(str(folder), cache=str(cache), clock=clock).specs()
        assert f"spec-{MANY - 1:03}.md" in reads
        reads.clear()
    Catalog(str(folder), cache=str(cache), clock=later()).specs()
    reads.clear()
    Catalog(str(folder), cache=str(cache), clock=clock).specs()
    assert reads == []


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _zeroed(data: bytes) -> bytes:
    return bytes(len(data))


def _older(data: bytes) -> bytes:
    head, rest = data.split(b"\n", 1)
    return json.dumps(json.loads(head) | {"version": VERSION - 1}).encode() + b"\n" + rest


def _elsewhere(data: bytes) -> bytes:
    head, rest = data.split(b"\n", 1)
    return json.dumps(json.loads(head) | {"folder": "/elsewhere 1"}).encode() + b"\n" + rest


def _listed(data: bytes) -> bytes:
    return b"[]\n" + data


def _nested(data: bytes) -> bytes:
    return b"[" * 100_000 + data


DAMAGES: list[Callable[[bytes], bytes]] = [_cut, _zeroed, _older, _elsewhere, _listed, _nested, lambda data: b""]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_cache_that_is_no_good_is_made_anew(folder: Path, cache: Path, damage: Callable[[bytes], bytes]) -> None:
    fill(folder)
    wanted = list(Catalog(str(folder), cache=str(cache), clock=later()).specs())
    good = cache.read_bytes()
    cache.write_bytes(damage(good))
    assert list(Catalog(str(folder), cache=str(cache), clock=later()).specs()) == wanted
    assert cache.read_bytes() == good


def test_no_flipped_bit_is_believed(folder: Path, cache: Path) -> None:
    fill(folder)
    wanted = list(Catalog(str(folder), cache=str(cache), clock=later()).specs())
    good = cache.read_bytes()
    rng = random.Random(4)
    for _ in range(60):
        bad = bytearray(good)
        bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        cache.write_bytes(bad)
        assert list(Catalog(str(folder), cache=str(cache), clock=later()).specs()) == wanted


def test_a_cache_that_cannot_be_written_is_done_without(folder: Path, tmp_path: Path) -> None:
    fill(folder)
    (tmp_path / "file").write_text("in the way")
    wanted = plain(folder)
    for place in (tmp_path / "file" / "cache", Path("/proc/nowhere/cache"), folder):
        assert list(Catalog(str(folder), cache=str(place), clock=later()).specs()) == wanted
    assert not [name for name in os.listdir(folder.parent) if "tmp" in name]


def test_a_small_folder_leaves_no_cache(folder: Path, cache: Path) -> None:
    fill(folder, 5)
    Catalog(str(folder), cache=str(cache), clock=later()).specs()
    assert not cache.exists()


def test_times_past_64_bits_are_cached_too(folder: Path, cache: Path, reads: list[str]) -> None:
    fill(folder)
    for name, seconds in (("spec-001.md", 15_000_000_000), ("spec-002.md", -2_000_000_000)):
        os.utime(folder / name, (seconds, seconds))
    Catalog(str(folder), cache=str(cache), clock=later()).specs()
    reads.clear()
    Catalog(str(folder), cache=str(cache), clock=later()).specs()
    assert reads == []


def test_the_usual_place_is_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    fill(folder)
    Catalog(str(folder), clock=later()).specs()
    (made,) = (tmp_path / "mine" / "dibs").iterdir()
    assert str(made) == place_of(str(folder))
    assert made.stat().st_mode & 0o777 == 0o600
    assert len(os.listdir(folder)) == MANY
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert place_of(str(folder)) is None


def test_two_folders_do_not_share_a_cache_though_it_has_one_name(tmp_path: Path, cache: Path) -> None:
    for name, priority in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        for number in range(MANY):
            write(tmp_path / name, f"s{number}", f"priority: {priority}")
    for _ in range(2):
        for name, priority in (("one", 1), ("two", 2)):
            specs = Catalog(str(tmp_path / name), cache=str(cache), clock=later()).specs()
            assert {spec.priority for spec in specs.specs()} == {priority}
