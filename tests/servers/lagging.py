"""Listings as they were some seconds ago: without what was made since, and with what was deleted since.

It knows what passed through this proxy only. What was replaced shows as it is.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

from servers.http1 import Answer, Request, joined

_ENTRY = re.compile(rb"\s*<Contents>.*?<Key>(.*?)</Key>.*?</Contents>", re.DOTALL)
_KEY = re.compile(rb"<Key>(.*?)</Key>", re.DOTALL)
_COUNT = re.compile(rb"<KeyCount>\d+</KeyCount>")


@dataclass
class _Life:
    made: float
    entry: str
    deleted: float | None = None


class Lagging:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lives: dict[tuple[str, str], _Life] = {}  # by bucket and key, the latest one

    def saw(self, request: Request, answer: Answer) -> None:
        """A write that the server has answered."""
        if answer.status not in (200, 204):
            return
        if request.kind in ("create", "put") and "?" not in request.target:
            life = self._lives.get((request.bucket, request.key))
            if life is None or life.deleted is not None:
                self._lives[request.bucket, request.key] = _Life(self._clock(), _entry(request, answer))
        elif request.kind == "delete":
            for key in deleted_keys(request):
                life = self._lives.get((request.bucket, key))
                if life is not None and life.deleted is None:
                    life.deleted = self._clock()

    def old(self, request: Request, answer: Answer, seconds: float) -> Answer:
        if answer.status != 200:
            return answer
        query = {name: values[0] for name, values in parse_qs(urlsplit(request.target).query).items()}
        as_url = query.get("encoding-type") == "url"
        then = self._clock() - seconds
        body = joined(answer)
        entries = {
            unquote(key) if as_url else key: found[0].decode()
            for found in _ENTRY.finditer(body)
            for key in [unescape(found[1].decode())]
        }
        last = max(entries, default="")
        ghosts = {
            key: life.entry.format(key=escape(quote(key) if as_url else key))
            for (bucket, key), life in self._lives.items()
            if bucket == request.bucket
            and life.made <= then
            and life.deleted is not None
            and life.deleted > then
            and _in_page(key, query, entries, last if b"<IsTruncated>true" in body else "")
        }
        for key in list(entries):
            life = self._lives.get((request.bucket, key))
            if life is not None and life.made > then:
                del entries[key]
        shown = "".join(text for _, text in sorted((entries | ghosts).items())).encode()
        return _with_entries(answer, body, shown, len(entries | ghosts))


def deleted_keys(request: Request) -> list[str]:
    if request.method == "DELETE":
        return [request.key]
    return [unescape(found.decode()) for found in _KEY.findall(joined(request))]


def _entry(request: Request, answer: Answer) -> str:
    tag = escape(answer.headers.get("etag", '""')).replace("{", "{{").replace("}", "}}")
    return (
        f"<Contents><Key>{{key}}</Key><LastModified>{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.000Z}</LastModified>"
        f"<ETag>{tag}</ETag><Size>{len(request.body)}</Size><StorageClass>STANDARD</StorageClass></Contents>"
    )


def _in_page(key: str, query: dict[str, str], entries: dict[str, str], end: str) -> bool:
    """Whether this page would have had it. Of a page after the first, only what lies between its own entries."""
    prefix = query.get("prefix", "")
    if not key.startswith(prefix) or (query.get("delimiter", "\0") in key[len(prefix) :]):
        return False
    after = min(entries, default=key) if "continuation-token" in query else query.get("start-after", "")
    return key > after and (not end or key < end)


def _with_entries(answer: Answer, body: bytes, shown: bytes, count: int) -> Answer:
    first = _ENTRY.search(body)
    place = first.start() if first else body.rindex(b"</ListBucketResult>")
    rest = _ENTRY.sub(b"", body)
    body = _COUNT.sub(b"<KeyCount>%d</KeyCount>" % count, rest[:place] + shown + rest[place:])
    dropped = (b"content-length:", b"transfer-encoding:")
    head = b"\r\n".join(line for line in answer.head.split(b"\r\n") if not line.lower().startswith(dropped))
    return Answer(head[:-2] + b"Content-Length: %d\r\n\r\n" % len(body), body)
