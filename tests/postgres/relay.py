"""A relay before the server that breaks a connection at a chosen message: before the server gets it, or after it has
answered."""

import socket
import threading
from contextlib import suppress


class Relay:
    """`cut(words, answered=…)` waits for a message with these bytes. Safe to be cut from another thread."""

    def __init__(self, host: str, port: int) -> None:
        self.target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._rule: tuple[bytes, bool] | None = None
        self.cuts = 0
        self.away = False  # whoever connects is sent away
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._over = False
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "Relay":
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._listener.close()
        self.cut_all()

    def cut(self, words: bytes, *, answered: bool) -> None:
        self._rule = (words, answered)

    def cut_all(self) -> None:
        """A network that drops every connection; new ones are let through."""
        for pair in self._pairs:
            _close(*pair)
        self._pairs = []

    def _accept(self) -> None:
        while not self._over:
            with suppress(OSError):
                client, _ = self._listener.accept()
                if self.away:
                    client.close()
                    continue
                server = socket.create_connection(self.target)
                self._pairs.append((client, server))
                doomed = threading.Event()
                threading.Thread(target=self._up, args=(client, server, doomed), daemon=True).start()
                threading.Thread(target=self._down, args=(client, server, doomed), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket, doomed: threading.Event) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 16):
                rule = self._rule
                if rule is not None and rule[0] in data:
                    self._rule = None
                    self.cuts += 1
                    if not rule[1]:
                        break
                    doomed.set()
                server.sendall(data)
        if not doomed.is_set():
            _close(client, server)

    def _down(self, client: socket.socket, server: socket.socket, doomed: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                if doomed.is_set():
                    break  # it has answered, and nobody will know
                client.sendall(data)
        _close(client, server)


def _close(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
