"""Ports that are free on loopback at this moment."""

import random
import socket

GRPC = 10_000  # SeaweedFS listens on each port plus this, too


def free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def free_with_grpc(count: int) -> list[int]:
    """Below the range from which the system gives ports to clients, so that nobody gets one by chance."""
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(12_000, 22_000)
        if port not in found and _is_free(port) and _is_free(port + GRPC):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
