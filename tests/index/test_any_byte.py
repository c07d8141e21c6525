"""Damage anywhere in a file goes one road: it is kept aside with a report, its good records stay, the others go on."""

import os
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pytest
from tests.index.test_commands import dibs
from tests.index.test_damage import at, fill, shard_with

from dibs.errors import FormatError, StorageError
from dibs.index import block
from dibs.index.block import pack, unpack
from dibs.index.compactor import MERGED, NOTHING, REFUSED
from dibs.index.index import Index
from dibs.index.layout import SHARDS, file_of, inbox_of
from dibs.index.parts import open_part
from dibs.index.usv import END, line_of

FIELDS = ("key", "updated_at", "title", "status")


def lines_of(index: Index, shard: str) -> list[bytes]:
    """Records with escapes, a missing field and a deletion, all of one shard."""
    keys = [key for key in (f"k{number}" for number in range(999)) if index.site.shard_of(key) == shard][:6]
    found = [line_of([key, "2026-01-02", "a\\b\n", None]) for key in keys]
    found[1] = line_of([keys[1], "2026-01-02", None, None]).replace(b"\x1f", b"\x1f\\D", 1)
    return sorted(found)


@pytest.mark.parametrize("path", ["shards/7.usv", "inbox/7/0123456789abcdef0123456789abcdef.usv"])
def test_whatever_byte_is_changed_at_most_one_record_is_lost(here: Index, path: str) -> None:
    lines = lines_of(here, "7")
    data = pack(FIELDS, lines, "0123456789abcdef")
    for place in range(len(data)):
        for changed in (data[place] ^ 1, data[place] ^ 16, 0):
            broken = data[:place] + bytes([changed]) + data[place + 1 :]
            if broken == data:
                continue
            part = open_part(here.site, path, "7", broken)
            assert part.damage is not None and part.error is None, place
            assert len(set(lines) - set(part.block.all())) <= 1, (place, changed)


@pytest.mark.parametrize("count", [1, 4, 20, 60, 4096])
def test_what_a_lost_block_leaves_is_kept(here: Index, count: int) -> None:
    lines = lines_of(here, "7")
    data = pack(FIELDS, lines, "0123456789abcdef")
    part = open_part(here.site, "shards/7.usv", "7", (b"\0" * count + data[count:])[: len(data)])
    assert count > 20 or (part.damage is not None and part.damage.bad == 0)
    left = data[count:].partition(END)[2] if count < data.index(END) else data[count:]
    assert part.damage is not None and part.block.all() == [line for line in lines if line in left.split(END)]


def test_garbage_for_a_head_does_not_make_it_another_dialect(here: Index) -> None:
    lines = lines_of(here, "7")
    data = pack(FIELDS, lines, "0123456789abcdef")
    for path in ("shards/7.usv", "inbox/7/0123456789abcdef0123456789abcdef.usv"):
        part = open_part(here.site, path, "7", b"?" * data.index(END) + data[data.index(END) :])
        assert part.damage is not None and part.block.all() == lines


def test_a_head_without_a_check_is_read_as_before(here: Index) -> None:
    lines = lines_of(here, "7")
    body = END.join(lines) + END

    def written(form: int = 1, deletions: int = 1) -> bytes:
        units = ["#usv", str(form), str(len(lines)), str(deletions), f"{crc32(body):08x}", "0123456789abcdef", *FIELDS]
        return "\x1f".join(units).encode() + END + body

    found = unpack(written(), "test")
    assert found is not None and found.all() == lines
    assert unpack(written(deletions=0), "test") is None and unpack(written(form=3), "test") is None


def test_a_file_of_a_later_dibs_stays_where_it_is(here: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(here)
    shard = here.waiting()[0]
    with monkeypatch.context() as later:
        later.setattr(block, "FORMAT", 2)
        data = pack(FIELDS, lines_of(here, shard), "n")
    path = f"{inbox_of(shard)}{'f' * 32}.usv"
    at(here, path).write_bytes(data)
    done = here.compact()
    assert {damage.path for one in done for damage in one.damages} == {path}
    assert here.waiting() == [shard] and at(here, path).read_bytes() == data
    assert len(list(here.scan())) == 60
    assert [(finding.kind, finding.path) for finding in here.verify()] == [("damaged", path)]
    with pytest.raises(FormatError, match="upgrade dibs"):
        here.get(next(f"k{number}" for number in range(99) if here.site.shard_of(f"k{number}") == shard))


Hurt = Callable[[bytes], bytes]
HURTS: dict[str, Hurt] = {
    "zeros": lambda data: b"\0" * 20 + data[20:],
    "a zero": lambda data: b"\0" + data[1:],
    "a field": lambda data: data.replace(b"title", b"tytle", 1),
    "the format": lambda data: data.replace(b"#usv\x1f1", b"#usv\x1f3", 1),
    "the mark": lambda data: data.replace(b"#usv", b"#us?", 1),
}


@pytest.mark.parametrize("hurt", HURTS)
@pytest.mark.parametrize("where", ["shard", "inbox"])
def test_a_pass_goes_on_and_loses_nothing(here: Index, folder: str, hurt: str, where: str) -> None:
    fill(here)
    if where == "shard":
        here.compact()
        shard = shard_with(here)
        path = file_of(shard)
        here.put_many({"key": f"new{number}", "title": "", "status": ""} for number in range(200))
    else:
        shard = here.waiting()[0]
        (path,) = here._inbox.names(shard)
    count = len(list(here.scan()))
    broken = HURTS[hurt](at(here, path).read_bytes())
    at(here, path).write_bytes(broken)
    with Index(folder) as other:
        assert len(list(other.scan())) == count and [damage.path for damage in other.damages] == [path]
        assert [(finding.kind, finding.path) for finding in other.verify()] == [("damaged", path)]
    said = dibs("compact", folder, "--all", code=1)
    assert f"{path} is damaged" in said
    (aside,) = at(here, f"damaged/{shard}").iterdir()
    assert aside.read_bytes() == broken
    assert here.waiting() == [] and here.verify() == [] and len(list(here.scan())) == count


def test_a_deletion_stays_one_though_the_head_says_there_are_none(here: Index) -> None:
    fill(here)
    here.delete("k3")
    here.compact()
    path = at(here, file_of(here.site.shard_of("k3")))
    head, end, body = path.read_bytes().partition(END)
    units = head.split(b"\x1f")
    assert units[3] == b"1"
    path.write_bytes(b"\x1f".join([*units[:3], b"0", *units[4:]]) + end + body)
    assert "k3" not in {record["key"] for record in here.scan()} and here.get("k3") is None
    assert [finding.kind for finding in here.verify()] == ["damaged"]
    here.repair()
    assert here.verify() == [] and here.get("k3") is None and len(list(here.scan())) == 59


def unreadable(path: Path) -> Callable[[], None]:
    """A link to itself: nobody can open it, root neither. How to make it good again."""
    data = path.read_bytes()
    path.unlink()
    os.symlink(path.name, path)

    def mend() -> None:
        path.unlink()
        path.write_bytes(data)

    return mend


def test_a_shard_that_cannot_be_read_holds_up_no_other(here: Index, folder: str) -> None:
    fill(here)
    here.compact()
    shard = shard_with(here)
    key = next(f"k{number}" for number in range(60) if here.site.shard_of(f"k{number}") == shard)
    here.put_many({"key": f"k{number}", "title": "new", "status": ""} for number in range(60))
    mend = unreadable(at(here, file_of(shard)))
    outcomes = {done.shard: done.outcome for done in here.compact_all()}
    assert outcomes.pop(shard) == REFUSED and set(outcomes.values()) <= {MERGED, NOTHING}
    assert here.waiting() == [shard]
    assert [(finding.kind, finding.path) for finding in here.verify()] == [("unreadable", file_of(shard))]
    said = dibs("compact", folder, "--once", code=1)
    assert "cannot be used" in said and said.count(file_of(shard)) <= 2
    assert "left" in dibs("repair", folder, code=1)
    assert "is left out" in dibs("scan", folder, code=1)
    with pytest.raises(StorageError):
        here.get(key)
    mend()
    assert {done.outcome for done in here.compact_all()} <= {MERGED, NOTHING}
    assert here.verify() == [] and {record["title"] for record in here.scan()} == {"new"}


def test_an_inbox_file_that_cannot_be_read_waits_and_the_others_go_on(here: Index) -> None:
    fill(here)
    shard = here.waiting()[0]
    (path,) = here._inbox.names(shard)
    fill(here, 200)
    mend = unreadable(at(here, path))
    done = here.compact()
    assert {damage.path for one in done for damage in one.damages} == {path}
    assert here.waiting() == [shard] and here._inbox.listed(shard) == [path]
    assert ("unreadable", path) in [(finding.kind, finding.path) for finding in here.verify()]
    mend()
    here.compact()
    assert here.waiting() == [] and here.verify() == [] and len(list(here.scan())) == 200


@pytest.mark.parametrize("content", [b"\0" * 200, b"\0", b"garbage", b'{"state":', b'{"a":1}\0torn'])
def test_a_damaged_lock_is_named_and_taken_at_once(here: Index, folder: str, content: bytes) -> None:
    fill(here)
    here.compact()
    fill(here, 200)
    shard = shard_with(here)
    lock = at(here, f"{SHARDS}{shard}.lock")
    lock.write_bytes(content)
    assert [(finding.kind, finding.path) for finding in here.verify()] == [("lock", f"{SHARDS}{shard}.lock")]
    assert dibs("stats", folder)
    dibs("compact", folder, "--once")
    assert here.waiting() == [] and here.verify() == [] and len(list(here.scan())) == 200
    lock.write_bytes(content)
    assert "repaired" in dibs("repair", folder) and here.verify() == []


def test_a_repair_that_did_nothing_does_not_say_that_it_did(here: Index) -> None:
    fill(here)
    here.compact()
    shard = shard_with(here)
    unreadable(at(here, file_of(shard)))
    assert [finding.kind for finding in here.repair()] == ["left"]


def test_a_count_that_is_wrong_in_the_manifest_is_found(here: Index) -> None:
    fill(here)
    here.delete("k3")
    here.compact()
    lock = at(here, f"{SHARDS}{here.site.shard_of('k3')}.lock")
    kept = lock.read_bytes()
    for wrong in (b'"deletions":9', b'"deletions":"x"'):
        lock.write_bytes(kept.replace(b'"deletions":1', wrong))
        assert [finding.kind for finding in here.verify()] == ["manifest"]
        assert here.stats().shards == 16
    here.repair()
    assert here.verify() == [] and here.stats().deletions == 1


@pytest.mark.parametrize("bad", [b"yesterday\x1f\\N", b"2026-01-03\x1f{nonsense"])
def test_a_line_that_is_none_in_a_sound_file_holds_up_its_shard_alone(folder: str, bad: bytes) -> None:
    with Index(folder, fields=["title"], shards=16, merge="fields") as index:
        index.put_many({"key": f"k{number}", "title": "x"} for number in range(60))
        index.compact()
        index.put_many({"key": f"k{number}", "title": "y"} for number in range(60))
        shard = index.site.shard_of("k1")
        path = f"{inbox_of(shard)}{'f' * 32}.usv"
        index.site.store.create(path, pack(index.schema.fields, [b"k1\x1f" + bad + b"\x1fz"], "n"))
        outcomes = {done.shard: done.outcome for done in index.compact_all()}
        assert outcomes.pop(shard) == REFUSED and set(outcomes.values()) <= {MERGED, NOTHING}
        assert [(finding.kind, finding.path) for finding in index.verify()] == [("misplaced", path)]
        assert "dibs index repair" in dibs("compact", folder, "--all", code=1)
        index.repair()
        assert index.verify() == [] and {record["title"] for record in index.scan()} == {"y"}
