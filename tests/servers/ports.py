"""Ports on loopback that are free, and stay so until whoever asked for them listens there, or listens there again.

They lie below the range from which the system gives ports to clients, so that nobody gets one by chance; and of all
test processes on this machine one has each, for as long as it lives.
"""

import random
import socket

GRPC = 10_000  # SeaweedFS listens on each port plus this, too
_ALONE = range(10_000, 12_000)
_WITH_GRPC = range(12_000, 22_000)


def free() -> int:
    while True:
        port = random.choice(_ALONE)
        if _is_free(port) and _is_mine(port):
            return port


def free_with_grpc(count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        port = random.choice(_WITH_GRPC)
        if _is_free(port) and _is_free(port + GRPC) and _is_mine(port):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _is_mine(port: int) -> bool:
    """By a name that the system gives to one process at a time."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0dibs-test-port-{port}")
    except OSError:
        name.close()
        return False
    name.detach()  # it stays open to the end
    return True
