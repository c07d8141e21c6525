"""A pooler before a PostgreSQL server, by transactions, that takes the session which was used last, as PgBouncer does:
one client alone always gets the same one."""

import select
import socket
import struct
import threading
from contextlib import suppress

_TOLD = 4242  # the number of the session, as it tells its clients
_SSL, _GSS, _CANCEL = 80877103, 80877104, 80877102


class Pooler:
    def __init__(self, port: int) -> None:
        self._server = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._idle: list[tuple[socket.socket, bytes]] = []
        self._ended = False

    def __enter__(self) -> "Pooler":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._listening.close()
        for session, _settings in self._idle:
            session.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._ended:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError, EOFError):
            hello = self._hello(client)
            session, settings = self._idle.pop() if self._idle else self._session(hello)
            self._idle.append((session, settings))
            key = b"K" + struct.pack("!III", 12, _TOLD, 99)
            client.sendall(b"R" + struct.pack("!II", 8, 0) + settings + key + b"Z" + struct.pack("!I", 5) + b"I")
            while (message := _message(client))[:1] != b"X":
                self._transaction(client, message, hello)

    def _hello(self, client: socket.socket) -> bytes:
        while True:
            size = _exactly(client, 4)
            body = _exactly(client, struct.unpack("!I", size)[0] - 4)
            code = struct.unpack("!I", body[:4])[0]
            if code == _CANCEL:
                raise EOFError
            if code not in (_SSL, _GSS):
                return size + body
            client.sendall(b"N")

    def _session(self, hello: bytes) -> tuple[socket.socket, bytes]:
        session = socket.create_connection(("127.0.0.1", self._server))
        session.sendall(hello)
        settings = b""
        while (message := _message(session))[:1] != b"Z":
            settings += message if message[:1] == b"S" else b""
        return session, settings

    def _transaction(self, client: socket.socket, message: bytes, hello: bytes) -> None:
        session, settings = self._idle.pop() if self._idle else self._session(hello)
        session.sendall(message)
        while True:
            ready, _, _ = select.select([client, session], [], [])
            if client in ready:
                session.sendall(_message(client))
            if session in ready:
                answer = _message(session)
                client.sendall(answer)
                if answer[:1] == b"Z" and answer[-1:] == b"I":
                    break
        self._idle.append((session, settings))


def _message(connection: socket.socket) -> bytes:
    head = _exactly(connection, 5)
    return head + _exactly(connection, struct.unpack("!I", head[1:])[0] - 4)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data
