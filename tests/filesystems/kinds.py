"""Every file system that can be had on a Linux machine, and what the doctor must say of it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from filesystems import mounting
from filesystems.mounting import Mounted
from servers.server import Server

ONE, UNSAFE = "safe on one host", "not safe"


class Kind(NamedTuple):
    mount: Callable[[Path], AbstractContextManager[Mounted]]
    alone: tuple[str, ...]  # verdicts on one host, any of these
    shared: tuple[str, ...] = ()  # and over two mounts
    seen: Callable[[Path], AbstractContextManager[Mounted]] | None = None  # mounted so that each sees the other soon


LOCAL = {
    "ext4": Kind(lambda folder: mounting.loop(folder, "ext4"), (ONE,)),
    "xfs": Kind(lambda folder: mounting.loop(folder, "xfs"), (ONE,)),
    "btrfs": Kind(lambda folder: mounting.loop(folder, "btrfs"), (ONE,)),
    "tmpfs": Kind(mounting.tmpfs, (ONE,)),
    "overlay": Kind(mounting.overlay, (ONE,)),
    "sshfs": Kind(mounting.sshfs, (ONE,), (ONE,), lambda folder: mounting.sshfs(folder, "dir_cache=no")),
}
GATEWAYS: dict[str, tuple[Callable[[Path, Server], AbstractContextManager[Mounted]], tuple[str, ...]]] = {
    "s3fs": (mounting.s3fs, (ONE, UNSAFE)),
    "rclone": (mounting.rclone, (UNSAFE,)),
}
