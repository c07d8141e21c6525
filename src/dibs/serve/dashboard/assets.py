"""The files of the page. They hold no data; which there are is known from the start, so nothing else can be had."""

import os
from functools import cache

from dibs.serve.house import House
from dibs.serve.refusal import Refusal
from dibs.serve.reply import Reply, Send
from dibs.serve.request import Request

FOLDER = os.path.join(os.path.dirname(__file__), "assets")
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


@cache
def files() -> dict[str, tuple[bytes, str]]:
    """Name -> (content, content type)."""
    found = {}
    for folder, _, names in os.walk(FOLDER):
        for name in names:
            kind = KINDS.get(os.path.splitext(name)[1])
            if kind is not None:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, FOLDER).replace(os.sep, "/")] = (file.read(), kind)
    return found


async def index(house: House, request: Request, send: Send) -> Reply:
    return _reply("index.html")


async def asset(house: House, request: Request, send: Send) -> Reply:
    return _reply(request.path.removeprefix("/assets/"))


def _reply(name: str) -> Reply:
    found = files().get(name)
    if found is None:
        raise Refusal("no-route", f"there is no {name[:80]!r} here; the dashboard is at /")
    return Reply(200, *found, HEADERS)
