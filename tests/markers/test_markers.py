"""How a queue comes to have markers, who may use it then, and what becomes of markers that are left."""

import errno
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import dibs
from children import environment
from dibs.errors import BadInput, FormatError, StorageError
from dibs.host import this_host
from dibs.queues.files.cells import Cells
from dibs.queues.files.fs import LocalFs
from dibs.queues.files.layout import Layout
from dibs.queues.files.marked import MarkedCells
from dibs.queues.files.markers import GIVE_UP_SECONDS, LEFTOVER_SECONDS, STALE_SECONDS, Markers
from dibs.testing import ManualClock
from disk.os_seam import told
from disk.shifted import ShiftedFs

SOURCE = "pending/0050/00/" + "0" * 32 + ".0.0.0.50"
ALL = "?steps=marker&sync=off"


def about(place: Path) -> dict[str, object]:
    record: dict[str, object] = json.loads((place / "dibs.json").read_text())
    return record


def test_a_queue_stays_as_it_was_made(tmp_path: Path) -> None:
    dibs.open(f"{tmp_path}/q{ALL}").push({})
    assert about(tmp_path / "q")["steps"] == "marker"
    with dibs.open(f"{tmp_path}/q") as queue:
        assert type(queue._parts.cells) is MarkedCells
    with pytest.raises(BadInput, match=r"made with steps=marker, not steps=rename.*dibs move"):
        dibs.open(f"{tmp_path}/q?steps=rename")
    dibs.open(f"{tmp_path}/plain").push({})
    assert "steps" not in about(tmp_path / "plain")
    with pytest.raises(BadInput, match=r"dibs move file:.*\?steps=marker"):
        dibs.open(f"{tmp_path}/plain?steps=marker")
    with pytest.raises(BadInput, match="use steps=rename"):
        dibs.open(f"{tmp_path}/other?steps=links")


def test_who_does_not_know_markers_stays_away(tmp_path: Path) -> None:
    """By the format, which is all that an older dibs looks at; and nobody guesses what the record does not say."""
    dibs.open(f"{tmp_path}/plain")
    dibs.open(f"{tmp_path}/q{ALL}")
    assert (about(tmp_path / "plain")["format"], about(tmp_path / "q")["format"]) == (1, 2)
    made = about(tmp_path / "q")
    for change in ({"format": 1}, {"steps": "rename"}, {"steps": "links"}, {"steps": ["marker"]}):
        (tmp_path / "q/dibs.json").write_text(json.dumps({**made, **change}))
        with pytest.raises(FormatError, match="damaged: steps"):
            dibs.open(f"{tmp_path}/q")


def test_a_new_queue_goes_by_what_the_doctor_found_above_it(tmp_path: Path) -> None:
    (tmp_path / ".dibs-doctor.json").write_text('{"steps": "marker"}')
    (tmp_path / "other").mkdir()
    (tmp_path / "other/.dibs-doctor.json").write_text('{"steps": "rename"}')
    new = dibs.open(f"{tmp_path}/some/q")
    assert new.advised and about(tmp_path / "some/q")["steps"] == "marker"
    assert not dibs.open(f"{tmp_path}/some/q").advised
    assert "steps" not in about(Path(dibs.open(f"{tmp_path}/other/q").root))
    assert "steps" not in about(Path(dibs.open(f"{tmp_path}/asked?steps=rename").root))


def test_tasks_can_be_moved_into_a_queue_with_markers(tmp_path: Path) -> None:
    """The way for a queue that was made without."""
    from dibs.moving import move

    plain, marked = dibs.open(f"{tmp_path}/plain?sync=off"), dibs.open(f"{tmp_path}/marked{ALL}")
    ids = {plain.push({"n": n}).id for n in range(3)}
    move(plain, marked)
    assert {task.id for task in marked.tasks()} == ids and not list(plain.tasks())


def test_without_markers_a_task_costs_not_one_system_call_more(tmp_path: Path) -> None:
    calls: list[str] = []
    with told(lambda name, _: calls.append(name)):
        queue = dibs.open(f"{tmp_path}/q?sync=off")
        queue.push_many([{}, {}])
        for _ in range(2):  # the second one's folders and session are there
            calls.clear()
            lease = queue.claim()
            assert lease is not None
            lease.complete()
    assert calls == ["rename", "rename"]


class Ground:
    """Bare markers on a real folder."""

    def __init__(self, folder: Path, clock: ManualClock, fs: LocalFs | None = None) -> None:
        self.folder = folder
        self.fs = fs or ShiftedFs(clock)
        self.layout = Layout(str(folder), 1)
        os.makedirs(folder / "tmp", exist_ok=True)
        self.markers = Markers(
            self.fs, self.layout, clock, this_host(), random.Random(1),
            lambda: self.fs.server_time(f"{folder}/tmp/clock"), self.fs.mkdir,
        )  # fmt: skip
        self.source = f"{folder}/{SOURCE}"

    def names(self) -> list[str]:
        return sorted(path.name.rpartition(".")[2] for path in (self.folder / "markers").rglob("*") if path.is_file())


def test_one_at_a_time_and_the_next_number_past_a_stale_one(tmp_path: Path) -> None:
    clock = ManualClock()
    one, two, three = (Ground(tmp_path, clock).markers for _ in range(3))
    ground = Ground(tmp_path, clock)
    first = one.take(ground.source)
    assert first is not None and two.take(ground.source) is None
    clock.advance(GIVE_UP_SECONDS)
    assert not one.in_time(first) and two.take(ground.source) is None
    clock.advance(STALE_SECONDS - GIVE_UP_SECONDS)
    second = two.take(ground.source)
    assert second is not None and three.take(ground.source) is None
    one.drop(first)  # too late: it removes nothing
    assert ground.names() == ["1", "2"]
    two.drop(second)
    assert ground.names() == []
    assert three.take(ground.source) is not None


def test_a_marker_that_was_never_written_goes_stale_too(tmp_path: Path) -> None:
    clock = ManualClock()
    ground = Ground(tmp_path, clock)
    hold = ground.markers.take(ground.source)
    assert hold is not None
    os.truncate(hold.paths[0], 0)
    other = Ground(tmp_path, clock, LocalFs()).markers  # one that sees no server's time move: it watches
    assert other.take(ground.source) is None
    clock.advance(STALE_SECONDS + 3)
    assert other.take(ground.source) is not None


def test_what_is_left_of_steps_that_were_taken_is_tidied(tmp_path: Path) -> None:
    clock = ManualClock()
    ground = Ground(tmp_path, clock)
    hold = ground.markers.take(ground.source)
    assert hold is not None
    ground.fs.mark(hold.paths[0][:-1] + "3", b"")  # of one who died while it removed them
    ground.markers.tidy()
    assert ground.names() == ["1", "3"]
    clock.advance(LEFTOVER_SECONDS + 1)
    fresh = ground.markers.take(ground.source.replace("pending", "blocked"))
    ground.markers.tidy()
    assert fresh is not None and ground.names() == ["1"]


@pytest.mark.parametrize(("code", "left"), [(errno.EIO, ["1"]), (errno.ENOSPC, [])])
def test_a_rename_that_may_yet_arrive_keeps_its_marker(tmp_path: Path, code: int, left: list[str]) -> None:
    class Failing(LocalFs):
        def rename(self, source: str, target: str) -> None:  # type: ignore[override]
            raise OSError(code, os.strerror(code))

    ground = Ground(tmp_path, ManualClock(), Failing())
    Path(ground.source).parent.mkdir(parents=True)
    Path(ground.source).touch()
    cells: Cells = MarkedCells(ground.fs, ground.layout, ManualClock(), ground.markers, sync=False)
    with pytest.raises(OSError):
        cells.move(ground.source, f"{tmp_path}/leased/x")
    assert ground.names() == left


def test_a_queue_that_is_gone_is_told_as_such(tmp_path: Path) -> None:
    import shutil

    queue = dibs.open(f"{tmp_path}/q{ALL}")
    queue.push({})
    lease = queue.claim()
    assert lease is not None
    shutil.rmtree(tmp_path / "q")
    with pytest.raises((StorageError, dibs.LeaseLost)):
        lease.complete()


def test_it_is_said_once_that_a_new_queue_has_markers(tmp_path: Path) -> None:
    (tmp_path / ".dibs-doctor.json").write_text('{"steps": "marker"}')
    words = [sys.executable, "-m", "dibs", "push", f"{tmp_path}/q", "{}"]
    first, second = (subprocess.run(words, env=environment(), capture_output=True, text=True) for _ in range(2))
    assert first.returncode == second.returncode == 0
    assert "by markers" in first.stderr and "markers" not in second.stderr
