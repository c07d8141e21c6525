"""One connection to a daemon, and one request after another on it: a request is one write, an answer is read by its
own few rules. `http.client` opens connections and reads streams; for a small answer it does ten times the work.
"""

import http.client
import socket
from contextlib import suppress
from typing import NamedTuple

from dibs.errors import BadInput
from dibs.queues.remote.address import Address

_LONGEST_LINE = 65536
_MOST_LINES = 200


class Answer(NamedTuple):
    status: int
    body: bytes
    retry_after: float | None


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except OSError:
            self.sock.close()
            raise


def connection(address: Address, timeout: float) -> http.client.HTTPConnection:
    """One that is not open yet."""
    if address.socket:
        return UnixConnection(address.socket, timeout)
    if not address.tls:
        return http.client.HTTPConnection(address.host, address.port, timeout=timeout)
    import ssl

    try:
        context = ssl.create_default_context(cafile=address.ca)
    except (OSError, ssl.SSLError) as error:
        raise BadInput(f"ca={address.ca} cannot be read: {error}; name a file with certificates (PEM)") from None
    return http.client.HTTPSConnection(address.host, address.port, timeout=timeout, context=context)


class Line:
    """Raises OSError or HTTPException when it breaks; then it is of no more use."""

    __slots__ = ("_file", "_sock", "keeps")

    def __init__(self, address: Address, timeout: float) -> None:
        way = connection(address, timeout)
        way.connect()
        self._sock: socket.socket = way.sock
        self._file = self._sock.makefile("rb")
        self.keeps = True  # false: the other side closes it after this answer

    def exchange(self, request: bytes) -> Answer:
        self._sock.sendall(request)
        while True:
            status = self._status()
            length, chunked, retry_after = self._head()
            if status >= 200:
                break
        if status in (204, 304):
            return Answer(status, b"", retry_after)
        if chunked:
            return Answer(status, self._chunks(), retry_after)
        if length is None:
            self.keeps = False
            return Answer(status, self._file.read(), retry_after)
        return Answer(status, self._exactly(length), retry_after)

    def _status(self) -> int:
        first = self._file.readline(_LONGEST_LINE)
        if not first:
            raise http.client.RemoteDisconnected("it hung up without an answer")
        if not first.startswith(b"HTTP/1.") or not first[9:12].isdigit():
            raise http.client.BadStatusLine(repr(first[:60]))
        self.keeps = first[7:8] == b"1"
        return int(first[9:12])

    def _head(self) -> tuple[int | None, bool, float | None]:
        """(length, chunked, seconds to wait) of what the header says."""
        length: int | None = None
        chunked, retry_after = False, None
        for _ in range(_MOST_LINES):
            line = self._file.readline(_LONGEST_LINE)
            if line in (b"\r\n", b"\n"):
                return length, chunked, retry_after
            name, colon, value = line.partition(b":")
            if not colon:
                raise http.client.IncompleteRead(line)
            name, value = name.lower(), value.strip()
            if name == b"content-length" and value.isdigit():
                length = int(value)
            elif name == b"transfer-encoding":
                chunked = value.lower() == b"chunked"
            elif name == b"connection":
                self.keeps = self.keeps and value.lower() != b"close"
            elif name == b"retry-after" and value.isdigit():
                retry_after = float(value)
        raise http.client.HTTPException("the answer has no end of its header")

    def _chunks(self) -> bytes:
        parts: list[bytes] = []
        while True:
            size = self._file.readline(_LONGEST_LINE).partition(b";")[0].strip()
            try:
                left = int(size, 16)
            except ValueError:
                raise http.client.IncompleteRead(b"".join(parts)) from None
            if left == 0:
                break
            parts.append(self._exactly(left))
            self._exactly(2)
        while self._file.readline(_LONGEST_LINE) not in (b"\r\n", b"\n", b""):
            pass
        return b"".join(parts)

    def _exactly(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise http.client.IncompleteRead(data, size - len(data))
        return data

    def hang_up(self) -> None:
        """From another thread."""
        hang_up(self._sock)

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()
        self._sock.close()


def hang_up(own: socket.socket) -> None:
    """Whoever reads from it is woken; closing would wait for them."""
    with suppress(OSError):
        own.shutdown(socket.SHUT_RDWR)
