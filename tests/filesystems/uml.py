"""A User-Mode Linux whose root is this machine's own: runs `uml.sh` inside, and is ended whole if it takes too long."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from children import environment
from filesystems.mounting import CannotMountError, need
from filesystems.xstate import WITHOUT_AVX, hide_extended_registers, is_too_large
from servers.child import leash

SCRIPT = Path(__file__).with_name("uml.sh")
SHARES = {
    "nfs": ("/usr/sbin/rpc.nfsd", "/usr/sbin/exportfs", "/sbin/mount.nfs4"),
    "smb": ("/usr/sbin/smbd", "/sbin/mount.cifs"),
}
DISKS = {"vfat": ("/usr/sbin/mkfs.vfat",), "f2fs": ("/usr/sbin/mkfs.f2fs",)}
MEMORY = "768M"
BOOT_SECONDS = 40


class TookTooLong(Exception):
    """With the last that its console and its script said."""


def run(kind: str, folder: Path, seconds: float, **given: object) -> None:
    """`given`: variables for the script. What it leaves stands in `folder`, what it said in `log` there."""
    need("linux.uml", "modprobe", "mkfs.ext4", *(SHARES | DISKS)[kind])
    if any(" " in str(path) for path in (folder, sys.executable)):
        raise CannotMountError("a space in the path of the tests or of Python")
    (folder / "vol").mkdir()
    values: dict[str, object] = {"KIND": kind, "WORK": folder, "WATCH": int(seconds - BOOT_SECONDS)}
    values |= {"PYTHON": sys.executable, "PYTHONPATH": environment()["PYTHONPATH"], **given}
    if is_too_large():
        values |= WITHOUT_AVX
    with tempfile.TemporaryDirectory(prefix="uml-") as sockets, (folder / "console").open("wb") as console:
        words = ["linux.uml", f"mem={MEMORY}", f"uml_dir={sockets}", "rootfstype=hostfs", "rootflags=/", "rw"]
        words += ["con=null", "con0=fd:0,fd:1", "init=/bin/sh", *(f"{name}={value}" for name, value in values.items())]
        process = subprocess.Popen(
            [*words, "--", str(SCRIPT)],
            stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True, preexec_fn=_prepare,
        )  # fmt: skip
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TookTooLong(f"{kind} in User-Mode Linux did not end within {seconds:g} s\n{said(folder)}") from None
        finally:
            _end(process)
    if f"{folder}/vol/two" not in _text(folder / "log"):
        raise CannotMountError(f"it was not mounted in User-Mode Linux\n{said(folder)}")


def said(folder: Path) -> str:
    """For a failure: what there is to read of it."""
    texts = {name: _text(folder / name)[-3000:].strip() for name in ("console", "log")}
    return "\n".join(f"--- {name}\n{text}" for name, text in texts.items())


def _prepare() -> None:
    leash()
    if is_too_large():
        hide_extended_registers()


def _end(process: "subprocess.Popen[bytes]") -> None:
    """All of it: each process inside is one out here, of the same group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
