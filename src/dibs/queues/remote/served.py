"""Which queues a daemon serves."""

from urllib.parse import parse_qsl, quote

from dibs.clock import SYSTEM
from dibs.queues.remote.address import parse
from dibs.queues.remote.connections import Connections


def served(url: str) -> list[str]:
    """The URLs of all of them; `url` is the daemon's, without a queue's name. StorageError when it does not answer."""
    head, mark, query = url.partition("?")
    head = head.rstrip("/")
    connections = Connections(parse(f"{head}/-{mark}{query}", dict(parse_qsl(query))), SYSTEM)
    try:
        return [f"{head}/{quote(name, safe='')}{mark}{query}" for name in connections.queues()]
    finally:
        connections.close()
