"""With a disk that syncs: each step of a move is on disk before the next begins, or a power cut could double a task."""

from pathlib import Path

import dibs
from dibs.moving import move
from disk.os_seam import told


def test_each_step_is_on_disk_before_the_next(tmp_path: Path) -> None:
    dibs.open(f"file:{tmp_path}/a").push({"n": 1})
    calls: list[str] = []

    def tell(name: str, args: tuple[object, ...]) -> None:
        calls.append(f"{name} {args[-1] if name == 'rename' else args[0]}")

    with told(tell):
        assert move(dibs.open(f"file:{tmp_path}/a"), dibs.open(f"file:{tmp_path}/b")).verified

    def first(start: int, name: str, part: str = "") -> int:
        return next(n for n, call in enumerate(calls) if n > start and call.startswith(name) and part in call)

    departed = first(-1, "rename", ".ready.0")
    assert "/a/moving/" in calls[departed]
    admitted = first(-1, "rename", "/b/pending/")
    dismissed = first(-1, "unlink", "/a/moving/")
    assert departed < first(departed, "fsync") < admitted < first(admitted, "fsync") < dismissed
    assert first(dismissed, "fsync")
