"""A relay before the server that loses answers: the request takes effect, the client hears nothing."""

import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Relay:
    def __init__(self, endpoint: str, upstream: str) -> None:
        self.endpoint = endpoint
        self.upstream = upstream
        self.lose: dict[str, int] = {}  # by action: how many answers
        self.fail: dict[str, int] = {}  # likewise: refused with 500, and not passed on
        self.seen: list[str] = []


@contextmanager
def relay(upstream: str) -> Iterator[Relay]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            action = self.headers["X-Amz-Target"].rpartition(".")[2]
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.seen.append(action)
            if made.fail.get(action):
                made.fail[action] -= 1
                self._answer(500, b'{"__type": "InternalFailure"}')
                return
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            request = urllib.request.Request(made.upstream, body, headers)
            try:
                with urllib.request.urlopen(request) as answer:
                    status, content = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                status, content = error.code, error.read()
            if made.lose.get(action):
                made.lose[action] -= 1
                self.close_connection = True
                self.connection.close()
                return
            self._answer(status, content)

        def _answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

        def finish(self) -> None:
            try:
                super().finish()
            except (OSError, ValueError):
                pass  # the connection was cut on purpose

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass

    with Server(("127.0.0.1", 0), Handler) as server:
        made = Relay(f"http://127.0.0.1:{server.server_address[1]}", upstream)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()
