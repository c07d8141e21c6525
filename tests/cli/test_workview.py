"""What `dibs work` says in plain lines."""

import pytest

from dibs.cli.workview import PlainView, event_line, progress_line, summary
from dibs.worker.board import Tally
from dibs.worker.progress import Snapshot


def snapshot(elapsed: float = 10.0, left: int | None = 500, rate: float = 50.0, failed: int = 0) -> Snapshot:
    return Snapshot(Tally(1200, failed, 0, 0.0, 0.0), elapsed, rate, left, [], False)


class Progress:
    def __init__(self) -> None:
        self.elapsed = 0.0

    def snapshot(self) -> Snapshot:
        return snapshot(self.elapsed)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({"event": "completed", "id": "i", "epoch": 1}, ""),
        ({"event": "released", "id": "i", "epoch": 1}, ""),
        ({"event": "failed", "id": "i", "key": "k", "epoch": 2, "error": "bad\nTraceback"}, "failed: k (epoch 2): bad"),
        ({"event": "lost", "id": "i", "epoch": 1, "pid": 7}, "refused: i (epoch 1) by worker 7: the lease is lost"),
        ({"event": "trouble", "error": "disk full"}, "storage: disk full"),
    ],
)
def test_event_lines(event: dict[str, object], words: str) -> None:
    assert event_line(event) == words


def test_progress_line() -> None:
    assert progress_line(snapshot()) == "1,200 completed, 50.0/s, 500 left, about 10 s"
    assert progress_line(snapshot(left=None, failed=3)) == "1,200 completed, 3 failed, 50.0/s"
    assert progress_line(snapshot(rate=0.0)) == "1,200 completed, 0.0/s, 500 left"
    assert summary(snapshot(failed=3)) == "done: 1,200 completed, 3 failed in 10 s (120.3/s)"


def test_a_line_now_and_then_and_few_failures_between(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    view = PlainView(progress, every=10.0)  # type: ignore[arg-type]
    view.tick()
    for number in range(100):
        view.event({"event": "failed", "id": f"task-{number}", "epoch": 1, "error": "x\x1b[2J"})
    for _ in range(3):
        view.event({"event": "trouble", "error": "disk full"})
    progress.elapsed = 10.5
    view.tick()
    view.event({"event": "failed", "id": "next", "epoch": 1, "error": "y"})
    out, err = capsys.readouterr()
    said = err.splitlines()
    assert out == ""
    assert len(said) == 5 + 1 + 1 + 1
    assert said[0] == "failed: task-0 (epoch 1): x\\x1b[2J"
    assert said[5:] == [
        "storage: disk full",
        "1,200 completed, 50.0/s, 500 left, about 10 s",
        "failed: next (epoch 1): y",
    ]


def test_events_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    view = PlainView(Progress(), json=True)  # type: ignore[arg-type]
    view.event({"event": "completed", "id": "i", "epoch": 1})
    assert capsys.readouterr().out == '{"event":"completed","id":"i","epoch":1}\n'
