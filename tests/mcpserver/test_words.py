"""What a client reads when something went wrong."""

from pathlib import Path

import pytest

import dibs
from dibs.errors import LeaseLost, StorageError
from dibs.mcp.holding import Holding
from dibs.mcp.places import Opened
from dibs.mcp.wire import error_line

from .client import queue_in


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (StorageError("cannot reach redis://me:hunter2@db/0:\n  gone"), "cannot reach redis://me:***@db/0: gone"),
        (StorageError("a \x1b[2J b"), "a \\x1b[2J b"),
        (FileNotFoundError(2, "No such file or directory", "/q/dibs.json"), "No such file or directory: /q/dibs.json"),
        (KeyError("x"), "internal error: KeyError: 'x'"),
    ],
)
def test_an_error_is_one_line_without_secrets_or_controls(error: Exception, line: str) -> None:
    assert error_line(error) == line


class There:
    url = "file:q"

    def setting(self, name: str) -> float:
        return 60.0


def test_a_lost_lease_says_who_has_the_task_though_only_the_heart_saw_it(tmp_path: Path) -> None:
    with queue_in(tmp_path, tasks=1) as queue, dibs.open(str(tmp_path / "q")) as elsewhere:
        at, holding = Opened("q", There(), queue), Holding()
        lease = holding.claim(at, 60.0, {})
        assert lease is not None
        elsewhere.cancel(lease.id)
        elsewhere.retry(lease.id)
        taken = elsewhere.claim()
        assert taken is not None
        lease.state = "lost"  # as the heart's word leaves it
        with pytest.raises(LeaseLost, match=rf"held by {taken.worker} on .* \(epoch {taken.epoch}\)"):
            holding.finish(at, lease.id, lease.epoch, lambda lease: lease.complete())
        assert holding.held(at) == []
        assert holding.release_all(print) == set()
        taken.complete()
