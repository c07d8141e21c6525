"""Damaged and foreign files, anywhere in a queue: it goes on, and deletes none of them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import dibs
from dibs.errors import FormatError
from dibs.queues.files.layout import FOLDERS
from dibs.testing import ManualClock
from disk.shifted import ShiftedFs

ID = "01970000000070008000000000000000"
MD5 = "d41d8cd98f00b204e9800998ecf8427e"
STRANGERS = [
    ".DS_Store",
    "Thumbs.db",
    "#notes#",
    "notes.txt~",
    ".notes.swp",
    "-rf",
    "*",
    "a\nb",
    "²",
    "é🦀",
    "x" * 255,
    f"{MD5}.tar.gz",
    f"{MD5}.x86_64.linux.tar.gz",
    f"{ID}",
    f"{ID}.",
    f"{ID}.0.0.0",
    f"{ID}.0.0.0.50.bak",
    f"{ID}.0.0.0.50~",
    f"{ID}.0.0.0.50 (copy)",
    f"{ID}.00.0.0.50",
    f"{ID}.-1.0.0.50",
    f"{ID}.0.0.0.²",
    f"{ID}.0.0.0.99999",
    f"{ID}.0.0.0.50-zz",
    f".{ID}.0.0.0.50",
    f"{ID.upper()}A.0.0.0.50",
    f"{ID}.0.0.0.50.1.2",
    "bad.json",
]


def strew(folder: Path, content: bytes = b'{"half": ') -> None:
    for name in STRANGERS:
        (folder / name).write_bytes(content)
    (folder / "empty folder").mkdir()
    (folder / "folder.json").mkdir()
    (folder / "folder.json" / "inside").write_bytes(content)
    os.symlink("/nonexistent", folder / "dangling")
    os.symlink("loop", folder / "loop")
    os.symlink("/etc", folder / "etc.json")
    os.mkfifo(folder / "fifo.json")


def snapshot(root: Path) -> dict[str, bytes | None]:
    """Every foreign thing below the root, with its content."""
    found: dict[str, bytes | None] = {}
    for folder, folders, names in os.walk(root):
        for name in folders + names:
            if name in STRANGERS or name in (
                "empty folder",
                "folder.json",
                "inside",
                "dangling",
                "loop",
                "etc.json",
                "fifo.json",
            ):
                path = Path(folder, name)
                plain = path.is_file() and not path.is_symlink()
                found[str(path.relative_to(root))] = path.read_bytes() if plain else None
    return found


def live_a_life(root: Path, clock: ManualClock) -> None:
    """Every verb and view, with upkeep and tidying in between."""

    def opened() -> dibs.Queue:
        return dibs.open(f"{root}?sync=off", clock=clock, fs=ShiftedFs(clock))

    queue = opened()
    tasks = [queue.push({"n": n}, key=f"k{n}", project="p", labels=["l"], priority=n * 20) for n in range(4)]
    later = queue.push("later", delay=5.0)
    after = queue.push("after", after=[tasks[0].id, "k1"])
    for _ in range(3):
        lease = opened().claim(project="p", labels=["l"], max_priority=200, ttl=10)
        assert lease is not None
        clock.advance(11)
    for task in queue.tasks():
        assert task.id in {one.id for one in (*tasks, later, after)}
    assert queue.stats().total == 6
    done = set()
    for _ in range(20):
        clock.advance(70)
        for lease in opened().claim_many(10, ttl=600):
            lease.renew()
            lease.complete({"result": 1})
            done.add(lease.id)
        opened().claim()
    assert done == {task.id for task in (*tasks, later, after)}
    assert queue.claimed() == []
    for task in (*tasks, later, after):
        assert queue.detail(task.id).result == {"result": 1}
        assert "completed" in queue.why(task.id).text
    queue.pause("x")
    assert queue.paused == "x"
    queue.resume()
    clock.advance(100 * 86400)
    assert queue.purge("completed", older_than=0) == 6
    assert queue.stats().total == 0
    cancelled = queue.push("cancelled")
    queue.cancel(cancelled.id)
    queue.retry(cancelled.id)
    queue.cancel(cancelled.id)
    for _ in range(3):
        clock.advance(100 * 86400)
        assert opened().claim() is None


@pytest.mark.parametrize("folder", FOLDERS)
def test_strangers_in_every_folder(folder: str, tmp_path: Path) -> None:
    """Directly in it, and in the folders of priority, shard, hour and minute below it."""
    root = tmp_path / "q"
    dibs.open(f"{root}?sync=off&shards=1")
    below = {
        "pending": ["0050", "0050/00", "0060/00"],
        "scheduled": ["2020-01-01T00", "2020-01-01T00/00"],
        "leased": ["00"],
        "completed": ["00"],
        "failed": ["00"],
        "cancelled": ["00"],
        "blocked": ["00"],
        "notes": ["00"],
        "waits": ["00"],
        "keys": ["00"],
    }
    for part in ["", *below.get(folder, [])]:
        place = root / folder / part
        place.mkdir(parents=True, exist_ok=True)
        strew(place)
    before = snapshot(root)
    assert len(before) > 30
    live_a_life(root, ManualClock())
    after = snapshot(root)
    missing = {name for name in before if name not in after}
    assert missing == set()
    assert after == before


DAMAGED = [
    b"",
    b"{",
    b'{"id": "x"}',
    b"\x00\xff\xfe",
    b"null",
    b"[]",
    b'"text"',
    b"[" * 100_000,
    b'{"id":"%s"}',
    b'{"id":"%s","payload":1,"key":5}',
    b'{"id":"%s","payload":1,"max_attempts":"x"}',
    b'{"id":"%s","payload":1,"after":[5]}',
    b'{"id":"%s","payload":1,"labels":7}',
    b'{"id":"%s","payload":1,"max_runtime":"x"}',
]


@pytest.mark.parametrize("content", DAMAGED, ids=lambda content: repr(content[:50]))
def test_a_damaged_task_goes_to_failed_with_the_reason(content: bytes, tmp_path: Path) -> None:
    queue = dibs.open(f"{tmp_path}/q?sync=off&shards=1")
    good = [queue.push({"n": n}).id for n in range(2)]
    damaged = Path(tmp_path, "q/pending/0050/00", f"{ID}.0.0.0.50")
    content = content.replace(b"%s", ID.encode())
    damaged.write_bytes(content)
    listed = {task.id: task for task in queue.tasks()}
    assert "damaged" in str(listed[ID].payload)
    served = {lease.id for lease in queue.claim_many(10)}
    assert served == set(good)
    detail = queue.detail(ID)
    assert detail.task.state == "failed"
    assert "damaged" in detail.error
    assert "damaged" in queue.why(ID).text
    (kept,) = Path(tmp_path, "q/failed/00").glob(f"{ID}.*")
    assert kept.read_bytes() == content
    kept.write_bytes(b'{"id":"%s","payload":"mended"}' % ID.encode())
    queue.retry(ID)
    lease = queue.claim()
    assert lease is not None
    assert lease.payload == "mended"


def _directory(path: Path) -> None:
    path.mkdir()
    (path / "inside").write_bytes(b"x")


ODD: dict[str, Callable[[Path], object]] = {
    "directory": _directory,
    "fifo": os.mkfifo,
    "dangling link": lambda path: os.symlink("/nonexistent", path),
    "loop": lambda path: os.symlink(path.name, path),
    "link out of the queue": lambda path: os.symlink("/etc/passwd", path),
}


@pytest.mark.parametrize("odd", ODD)
def test_what_has_a_task_s_name_but_is_no_file_stops_nobody(odd: str, tmp_path: Path) -> None:
    clock = ManualClock()
    queue = dibs.open(f"{tmp_path}/q?sync=off&shards=1", clock=clock)
    good = [queue.push({"n": n}).id for n in range(3)]
    ODD[odd](Path(tmp_path, "q/pending/0050/00", f"{ID}.0.0.0.50"))
    secret = Path("/etc/passwd").read_bytes()
    done = []
    for _ in range(4):
        clock.advance(100)
        other = dibs.open(queue.url, clock=clock)
        list(other.tasks())
        other.stats()
        for lease in other.claim_many(2, ttl=50):
            assert lease.id != ID
            if len(done) < 3:
                lease.complete()
                done.append(lease.id)
    assert sorted(done) == sorted(good)
    left = [path for path in Path(tmp_path, "q").rglob(f"{ID}.*") if "notes" not in path.parts]
    assert len(left) == 1, "it was deleted, or doubled"
    assert Path("/etc/passwd").read_bytes() == secret
    task = queue.push("still works")
    lease = queue.claim()
    assert lease is not None
    assert lease.id == task.id


RECORD = (
    '{"session":"x","worker":"x","host":"h","machine":"m","boot":%(boot)s,"space":%(space)s,"pid":%(pid)s,'
    '"start":%(start)s,"ttl":%(ttl)s,"beat":%(beat)s,"since":0}'
)


WRONG = [
    *({"pid": pid} for pid in ('"abc"', "1e400", str(2**70), "-5", "[]", "true")),
    *({"ttl": ttl} for ttl in ("NaN", '"x"', "null", "-1")),
    *({"beat": beat} for beat in ("NaN", "Infinity", "[]")),
    {"start": "5"},
    {"boot": "7"},
    {"space": "null"},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_damaged_worker_record_stops_nobody(wrong: dict[str, str], tmp_path: Path) -> None:
    queue = dibs.open(f"{tmp_path}/q?sync=off")
    ours = {"boot": f'"{queue.host.boot}"', "space": f'"{queue.host.space}"'}
    fields = {**ours, "pid": "1", "start": '""', "ttl": "1", "beat": "0", **wrong}
    record = Path(tmp_path, "q/workers/x.json")
    record.write_text(RECORD % fields)
    queue.push("a task")
    lease = dibs.open(queue.url).claim()
    assert lease is not None
    assert len(queue.claimed()) == 1
    assert queue.stats().total == 1


MARKERS = [
    "",
    "{",
    "[]",
    "null",
    '{"format": 1}',
    '{"format": "x", "shards": 64, "retention": 1}',
    *(f'{{"format": 1, "shards": {shards}, "retention": 1}}' for shards in ("3", '"x"', "0", "null")),
]


@pytest.mark.parametrize("text", MARKERS)
def test_a_damaged_marker_is_named(text: str, tmp_path: Path) -> None:
    dibs.open(f"{tmp_path}/q?sync=off")
    Path(tmp_path, "q/dibs.json").write_text(text)
    with pytest.raises(FormatError, match=r"dibs\.json|format"):
        dibs.open(f"{tmp_path}/q")


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    dibs.open(f"{tmp_path}/q?sync=off")
    Path(tmp_path, "q/dibs.json").write_text('{"format": 99, "shards": 64, "retention": 1}')
    with pytest.raises(FormatError, match=r"format 99.*upgrade"):
        dibs.open(f"{tmp_path}/q")


def test_a_folder_of_other_files_is_no_queue(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"meow")
    with pytest.raises(FormatError, match=r"no dibs queue.*dir:"):
        dibs.open(f"{tmp_path}/photos")
    assert os.listdir(tmp_path / "photos") == ["cat.jpg"]
