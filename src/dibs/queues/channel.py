"""Messages between a worker and the process that keeps its leases: one JSON object a line, over a socket pair.

From the worker: hold and drop a handle, limit and unlimit a lease, and what a runner says besides.
To it: kept, lost, over. The end of the stream means that the other side is dead or done.
"""

import json
import socket
import threading
from typing import Any

Message = dict[str, Any]


class Channel:
    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lock = threading.Lock()
        self._rest = b""

    def fileno(self) -> int:
        return self._sock.fileno()

    def send(self, message: Message) -> bool:
        """False when nobody is there to read it."""
        data = json.dumps(message).encode() + b"\n"
        try:
            with self._lock:
                self._sock.sendall(data)
            return True
        except OSError:
            return False

    @property
    def waiting(self) -> bool:
        """A whole message is here already."""
        return b"\n" in self._rest

    def receive(self) -> list[Message] | None:
        """What has arrived, waiting for something; None at the end."""
        if not self.waiting and not self._fill():
            return None
        *lines, self._rest = self._rest.split(b"\n")
        return [json.loads(line) for line in lines]

    def receive_one(self) -> Message | None:
        """The first message; what came with it is left for `receive`."""
        while not self.waiting:
            if not self._fill():
                return None
        line, _, self._rest = self._rest.partition(b"\n")
        message: Message = json.loads(line)
        return message

    def _fill(self) -> bool:
        try:
            data = self._sock.recv(1 << 16)
        except ConnectionError:
            return False
        self._rest += data
        return bool(data)

    def close(self) -> None:
        self._sock.close()
