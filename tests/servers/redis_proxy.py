"""A proxy before Redis that loses answers: a request that a rule names is done, and its answer never comes.

    with LosingProxy(port) as proxy:
        proxy.lose(script_digest)       # the answer of the next request that contains this

`cut` ends all connections and refuses new ones; `mend` takes them again at the same port.
"""

import socket
import threading
from contextlib import suppress

_CHUNK = 1 << 16


class LosingProxy:
    def __init__(self, port: int) -> None:
        self._upstream = port
        self._lock = threading.Lock()
        self._losing: list[bytes] = []
        self._open: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self.port = 0
        self.lost = 0

    def __enter__(self) -> "LosingProxy":
        self.mend()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()

    def lose(self, part: bytes, times: int = 1) -> None:
        with self._lock:
            self._losing += [part] * times

    def mend(self) -> None:
        self._listener = listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
        self.port = listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        if self._listener is not None:
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)  # an accept that waits would take one more
            self._listener.close()
        with self._lock:
            for one in self._open:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.create_connection(("127.0.0.1", self._upstream)) as server:
            with self._lock:
                self._open |= {client, server}
            losing = threading.Event()
            back = threading.Thread(target=self._answers, args=(server, client, losing), daemon=True)
            back.start()
            while data := client.recv(_CHUNK):
                if self._is_to_lose(data):
                    losing.set()
                server.sendall(data)
            with suppress(OSError):
                server.shutdown(socket.SHUT_WR)
            back.join()
            with self._lock:
                self._open -= {client, server}

    def _answers(self, server: socket.socket, client: socket.socket, losing: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(_CHUNK):
                if losing.is_set():
                    self.lost += 1
                    break
                client.sendall(data)
        for one in (client, server):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _is_to_lose(self, data: bytes) -> bool:
        with self._lock:
            for part in self._losing:
                if part in data:
                    self._losing.remove(part)
                    return True
        return False
