"""A host of its own on this one: what runs there has its own host name, processes, network, boot and clocks.

Namespaces, and a boot id and machine id laid over those of the kernel; only the wall clock, of which there is no
namespace, is made wrong by `wrong_clock.c`. Cutting its power kills all that runs there at one moment; when it boots
again it has another boot id. Needs root.
"""

import json
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from children import command, environment
from dibs.host import process_state
from servers.child import leash

_SOURCE = Path(__file__).with_name("wrong_clock.c")
_SPACES = ("--pid", "--mount-proc", "--uts", "--net", "--ipc", "--mount")
_SETTLE = """\
set -e
hostname "$1"
ip link set lo up
mount --bind "$2/boot_id" /proc/sys/kernel/random/boot_id
[ ! -e /etc/machine-id ] || mount --bind "$2/machine-id" /etc/machine-id
shift 2
exec env "$@"
"""
_GONE_SECONDS = 30.0


def works() -> bool:
    """Whether such a machine can be made here."""
    if any(shutil.which(name) is None for name in ("cc", "ip", "nsenter", "unshare")):
        return False
    return subprocess.run(["unshare", "--fork", *_SPACES, "true"], capture_output=True).returncode == 0


class Machine:
    """`wrong`: by how much its wall clock is; `up`: for how long it says that it runs. Use it as a context."""

    def __init__(self, name: str, folder: Path, *, wrong: float = 0.0, up: float = 0.0) -> None:
        self.name, self._up = name, up
        self._folder = folder / f"machine-{name}"
        self._folder.mkdir()
        (self._folder / "machine-id").write_text(f"{uuid.uuid4().hex}\n")
        self._log = self._folder / "ended"
        self._clock = {"LD_PRELOAD": str(_library(folder)), "DIBS_WRONG_SECONDS": str(int(wrong))}
        self._process: subprocess.Popen[str] | None = None
        self._first = 0  # its first process, as seen from here
        self._space = ""

    def boot(self) -> None:
        (self._folder / "boot_id").write_text(f"{uuid.uuid4()}\n")
        words = ["unshare", "--fork", "--kill-child", *_SPACES]
        if os.path.exists("/proc/self/ns/time"):  # an older kernel has no such thing, nor has a User-Mode Linux
            words += ["--time", "--boottime", str(int(self._up)), "--monotonic", str(int(self._up))]
        words += ["sh", "-c", _SETTLE, "sh", self.name, str(self._folder), *self._settings()]
        words += command("hosts.init", str(self._log))
        self._process = subprocess.Popen(
            words, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=leash
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "up\n":
            raise OSError(f"no machine of its own can be started here: {words}")
        (self._first,) = [pid for pid in _all_pids() if _parent_of(pid) == self._process.pid]
        self._space = _space_of(self._first)

    def keep(self, name: str, script: str, *args: str) -> None:
        """Run `main` of a module, again whenever it has ended, until it is dropped or the power is cut."""
        self._say({"keep": name, "script": script, "args": args})

    def drop(self, name: str) -> None:
        """What was kept under that name is killed."""
        self._say({"drop": name})

    def run(self, *words: str) -> list[str]:
        """The command that runs this there."""
        inside = ["nsenter", "--target", str(self._first), "--all", f"--wd={os.getcwd()}"]
        return [*inside, "env", *self._settings(), *words]

    def pids(self) -> list[int]:
        """Of all that runs there, but its first process, as seen from here."""
        return [pid for pid in _all_pids() if pid != self._first and _space_of(pid) == self._space]

    def kill_all(self) -> None:
        """But what it keeps is started again."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def ended(self) -> list[str]:
        """What it kept and ended by itself, not by a signal."""
        return self._log.read_text().splitlines() if self._log.exists() else []

    def cut_power(self) -> None:
        """All that runs there ends at one moment."""
        assert self._process is not None
        self._process.kill()
        self._process.communicate()
        until = time.monotonic() + _GONE_SECONDS
        while any(_space_of(pid) == self._space for pid in _all_pids()):
            assert time.monotonic() < until, f"{self.name} runs on without power"
            time.sleep(0.005)
        self._process = None

    def __enter__(self) -> Self:
        self.boot()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self.cut_power()

    def _say(self, what: dict[str, object]) -> None:
        assert self._process is not None and self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        self._process.stdout.readline()

    def _settings(self) -> Sequence[str]:
        return [f"{name}={value}" for name, value in self._clock.items()]


@cache
def _library(folder: Path) -> Path:
    made = folder / f"wrong-clock-{os.getpid()}.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", made, _SOURCE, "-ldl"], check=True)
    return made


def _all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _parent_of(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _space_of(pid: int) -> str:
    """The namespace in which it runs; none where it is dead and waits to be buried."""
    with suppress(OSError):
        space = os.readlink(f"/proc/{pid}/ns/pid")
        return "" if process_state(pid)[0] in "-ZX" else space
    return ""
