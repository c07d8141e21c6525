"""File systems, mounted for a while: each gives the folders at which it is mounted, two where hosts would share it."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from servers.child import program, running
from servers.server import Server

SFTP = "/usr/lib/openssh/sftp-server"
Mounted = list[Path]


class CannotMountError(Exception):
    """Why this machine cannot."""


def run(*words: str | Path) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        raise CannotMountError(f"{words[0]}: {(done.stderr or done.stdout).strip()[:200]}")


def need(*programs: str) -> None:
    for name in programs:
        if shutil.which(name) is None and not os.path.exists(name):
            raise CannotMountError(f"{name} is not installed")


@contextmanager
def unmounted_after(point: Path) -> Iterator[Path]:
    try:
        yield point
    finally:
        subprocess.run(["umount", "--lazy", str(point)], capture_output=True)


@contextmanager
def loop(folder: Path, kind: str, size_mb: int = 320) -> Iterator[Mounted]:
    maker = {
        "ext4": ["mkfs.ext4", "-q"],
        "xfs": ["mkfs.xfs", "-q"],
        "btrfs": ["mkfs.btrfs", "-q"],
    }
    need(maker[kind][0])
    image, point = folder / "disk.img", folder / "mnt"
    point.mkdir()
    with image.open("wb") as file:
        file.truncate(size_mb << 20)
    run(*maker[kind], image)
    run("mount", "-o", "loop", image, point)
    with unmounted_after(point):
        yield [point]


@contextmanager
def tmpfs(folder: Path) -> Iterator[Mounted]:
    point = folder / "mnt"
    point.mkdir()
    run("mount", "-t", "tmpfs", "none", point)
    with unmounted_after(point):
        yield [point]


@contextmanager
def overlay(folder: Path) -> Iterator[Mounted]:
    with tmpfs(folder) as (base,):
        for name in ("lower", "upper", "work", "all"):
            (base / name).mkdir()
        point = base / "all"
        layers = f"lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work"
        run("mount", "-t", "overlay", "none", "-o", layers, point)
        with unmounted_after(point):
            yield [point]


@contextmanager
def sshfs(folder: Path, *options: str) -> Iterator[Mounted]:
    """Two mounts of one folder, each by a server of its own that is spoken to directly, without ssh."""
    need("sshfs", SFTP)
    script = folder / "ssh"
    script.write_text(f"#!/bin/sh\nexec {SFTP}\n")
    script.chmod(0o755)
    (folder / "shared").mkdir()

    def mount(point: Path) -> None:
        given = ",".join((f"ssh_command={script}", *options))
        run("sshfs", "-o", given, f"host:{folder}/shared", point)

    with _twice(folder, mount) as points:
        yield points


@contextmanager
def s3fs(folder: Path, server: Server) -> Iterator[Mounted]:
    need("s3fs")
    bucket, keys = server.bucket(), folder / "keys"
    keys.write_text(f"{server.access_key}:{server.secret_key}\n")
    keys.chmod(0o600)

    def mount(point: Path) -> None:
        run("s3fs", bucket, point, "-o", f"url={server.endpoint},use_path_request_style,passwd_file={keys}")

    with _twice(folder, mount) as points:
        yield points


@contextmanager
def rclone(folder: Path, server: Server) -> Iterator[Mounted]:
    need(program("rclone"), "fusermount3")
    bucket = server.bucket()
    remote = f":s3,provider=Other,endpoint='{server.endpoint}',access_key_id={server.access_key}"
    remote += f",secret_access_key={server.secret_key}:{bucket}"
    with ExitStack() as stack:
        points = [folder / "one", folder / "two"]
        for number, point in enumerate(points):
            point.mkdir()
            cache = [
                "--cache-dir",
                str(folder / f"cache{number}"),
                "--vfs-cache-mode",
                "writes",
                "--dir-cache-time",
                "1s",
            ]
            command = [program("rclone"), "mount", *cache, "--config", "/dev/null", remote, str(point)]
            stack.enter_context(running(command, folder / "log", {**os.environ, "RCLONE_CONFIG": "/dev/null"}))
            stack.enter_context(unmounted_after(point))
            _wait_mounted(point)
        yield points


@contextmanager
def two_of(points: Mounted) -> Iterator[Mounted]:
    """A second path to the same where there is only one: what is of one machine is mounted there again."""
    if len(points) > 1:
        yield points
        return
    again = points[0].parent / f"{points[0].name}-again"
    again.mkdir()
    run("mount", "--bind", points[0], again)
    with unmounted_after(again):
        yield [*points, again]


@contextmanager
def _twice(folder: Path, mount: Callable[[Path], None]) -> Iterator[Mounted]:
    with ExitStack() as stack:
        points = [folder / "one", folder / "two"]
        for point in points:
            point.mkdir()
            stack.enter_context(unmounted_after(point))
            mount(point)
            _wait_mounted(point)
        yield points


def _wait_mounted(point: Path) -> None:
    for _ in range(300):
        if os.path.ismount(point):
            return
        time.sleep(0.05)
    raise CannotMountError(f"nothing is mounted at {point} after 15 s")
