"""The process that keeps one server for a whole test run: `python -m servers.keeper KIND FOLDER`.

    FOLDER/users    every process of the run that uses the server holds a shared lock on it
    FOLDER/keeper   this process holds an exclusive lock on it, and wrote its pid there: whoever can lock it knows that
                    there is no server
    FOLDER/server   where the server is (JSON), once it takes writes
    FOLDER/data     the server's own; gone when it ends

The kernel drops locks with the process that held them, so a killed run needs no cleaning: once nobody holds `users`,
this process gets it, and the server ends. It works in a session of its own: Ctrl-C in a terminal ends the users first.
"""

import fcntl
import json
import os
import shutil
import signal
import sys
from importlib import import_module
from pathlib import Path

KINDS = {
    "seaweed": "servers.seaweed",
    "moto": "servers.moto_server",
    "rclone": "servers.rclone_server",
    "redis": "servers.redis_server",
    "valkey": "servers.valkey_server",
    "postgres": "servers.postgres_server",
}


def main(kind: str, folder: Path) -> None:
    mine = os.open(folder / "keeper", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(mine, fcntl.LOCK_EX)
    os.truncate(mine, 0)
    os.write(mine, b"%d" % os.getpid())
    users = os.open(folder / "users", os.O_RDWR | os.O_CREAT, 0o600)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)  # of a keeper that was killed
    data.mkdir()
    try:
        with import_module(KINDS[kind]).serving(data) as server:
            (folder / "new").write_text(json.dumps(server.values()))
            os.rename(folder / "new", folder / "server")
            fcntl.flock(users, fcntl.LOCK_EX)
    finally:
        (folder / "server").unlink(missing_ok=True)
        shutil.rmtree(data, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
