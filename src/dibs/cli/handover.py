"""Hands an address with a secret in it to a browser, whose command line everybody on the host can read.

The browser is given the address of a page on this host instead, with a name that nobody can guess; the first who asks
for it is sent on to the real one, and after that it is gone.
"""

from __future__ import annotations

import secrets
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

from dibs.clock import SYSTEM, Clock

if TYPE_CHECKING:
    from collections.abc import Callable

_LOOK_SECONDS = 1.0


class _Once(HTTPServer):
    target: str
    name: str
    done = False


class _Handler(BaseHTTPRequestHandler):
    server: _Once

    def do_GET(self) -> None:
        right = secrets.compare_digest(self.path.encode(errors="replace"), self.server.name.encode())
        self.send_response(302 if right else 404)
        if right:
            self.server.done = True  # and nobody is answered after this
            self.send_header("Location", self.server.target)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        return


def hand_over(target: str, open_browser: Callable[[str], bool], seconds: float, clock: Clock = SYSTEM) -> bool:
    """Whether a browser came for it in time."""
    server = _Once(("127.0.0.1", 0), _Handler)
    server.target, server.name, server.timeout = target, f"/{secrets.token_urlsafe(24)}", _LOOK_SECONDS
    until = clock.boottime() + seconds

    def wait() -> None:
        while not server.done and clock.boottime() < until:
            server.handle_request()
        server.server_close()

    waiting = threading.Thread(target=wait, daemon=True)  # a browser in the terminal returns only when it is left
    try:
        waiting.start()
        opened = open_browser(f"http://127.0.0.1:{server.server_address[1]}{server.name}")
        if opened:
            waiting.join()
        return server.done
    finally:
        until = 0.0
        waiting.join()
