"""A small key-value server that writes down every request that reaches it, as it came."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import urlsplit


class Arrived(NamedTuple):
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Recorder:
    def __init__(self) -> None:
        self.arrived: list[Arrived] = []
        self.values: dict[str, bytes] = {}
        self.connections = 0
        self.endpoint = ""


@contextmanager
def recording() -> Iterator[Recorder]:
    """PUT stores, GET gives back in chunks, or 404; a listing is the number of values; DELETE has no answer's body."""
    recorder = Recorder()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def setup(self) -> None:
            super().setup()
            recorder.connections += 1

        def take(self) -> None:
            path = urlsplit(self.path).path
            body = self._body()
            recorder.arrived.append(
                Arrived(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body)
            )
            if self.command == "PUT":
                recorder.values[path] = body
                self._say(200, b"stored")
            elif self.command == "DELETE":
                self.send_response(204)
                self.end_headers()
            elif "list-type" in self.path:
                self._say(200, b"%d" % len(recorder.values))
            elif path in recorder.values:
                self._chunks(recorder.values[path])
            else:
                self._say(404, b"nothing")
            self.wfile.flush()

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = take  # noqa: N815

        def _body(self) -> bytes:
            if self.headers.get("transfer-encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("content-length", 0)))
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def _say(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def _chunks(self, body: bytes) -> None:
            self.send_response(200)
            if self.command == "HEAD":
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                return
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for start in range(0, len(body), 65536):
                part = body[start : start + 65536]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    recorder.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield recorder
    server.shutdown()
    server.server_close()
    thread.join()
