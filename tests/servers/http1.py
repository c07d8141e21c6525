"""HTTP/1.1 messages, read whole and kept as the bytes that came: what is signed stays as it was signed."""

import asyncio
import re
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import unescape

LIMIT = 1 << 20  # of a head; bodies have none
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass(frozen=True)
class Message:
    head: bytes
    body: bytes  # with its chunk sizes, where it came in chunks

    @cached_property
    def first(self) -> list[str]:
        return self.head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)

    @cached_property
    def headers(self) -> dict[str, str]:
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
        }

    @property
    def data(self) -> bytes:
        return self.head + self.body


class Request(Message):
    @property
    def method(self) -> str:
        return self.first[0]

    @property
    def target(self) -> str:
        return self.first[1]

    @cached_property
    def kind(self) -> str:
        """create, replace, put, get, head, list, delete, or other."""
        query = parse_qs(urlsplit(self.target).query, keep_blank_values=True)
        if self.method == "GET" and "list-type" in query:
            return "list"
        if self.method == "DELETE" or (self.method == "POST" and "delete" in query):
            return "delete"
        if self.method == "PUT":
            return "create" if "if-none-match" in self.headers else "replace" if "if-match" in self.headers else "put"
        return self.method.lower() if self.method in ("GET", "HEAD") else "other"

    @cached_property
    def bucket(self) -> str:
        return unquote(urlsplit(self.target).path).lstrip("/").partition("/")[0]

    @cached_property
    def key(self) -> str:
        """Without the bucket. Of a listing, its prefix. Of a delete of several, the first."""
        parts = urlsplit(self.target)
        if self.kind == "list":
            return parse_qs(parts.query).get("prefix", [""])[0]
        if self.method == "POST" and self.kind == "delete":
            found = re.search(rb"<Key>(.*?)</Key>", joined(self), re.DOTALL)
            return unescape(found[1].decode()) if found else ""
        return unquote(parts.path).lstrip("/").partition("/")[2]


class Answer(Message):
    @property
    def status(self) -> int:
        return int(self.first[1])

    @property
    def closes(self) -> bool:
        """The connection ends with it."""
        wish = self.headers.get("connection", "").lower()
        framed = "content-length" in self.headers or "transfer-encoding" in self.headers or self.status in (204, 304)
        return wish == "close" or not framed or (self.first[0] == "HTTP/1.0" and wish != "keep-alive")


def joined(message: Message) -> bytes:
    """The body without its chunk sizes."""
    if "chunked" not in message.headers.get("transfer-encoding", "").lower():
        return message.body
    parts: list[bytes] = []
    start = 0
    while True:
        line = message.body.index(b"\r\n", start)
        count = int(message.body[start:line].split(b";")[0], 16)
        if count == 0:
            return b"".join(parts)
        parts.append(message.body[line + 2 : line + 2 + count])
        start = line + 2 + count + 2


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    """None when the client has closed. One that waits for "100 Continue" gets it here."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    request = Request(head, b"")
    if request.headers.get("expect", "").lower() == "100-continue":
        writer.write(_CONTINUE)
        kept = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"expect:")]
        request = Request(b"\r\n".join(kept), b"")
    return Request(request.head, await _body(reader, request, to_end=False))


async def read_answer(reader: asyncio.StreamReader, method: str) -> Answer:
    while True:
        answer = Answer(await reader.readuntil(b"\r\n\r\n"), b"")
        if answer.status >= 200:
            break
    if method == "HEAD" or answer.status in (204, 304):
        return answer
    return Answer(answer.head, await _body(reader, answer, to_end=True))


async def _body(reader: asyncio.StreamReader, message: Message, *, to_end: bool) -> bytes:
    if "chunked" in message.headers.get("transfer-encoding", "").lower():
        return await _chunks(reader)
    if "content-length" in message.headers:
        return await reader.readexactly(int(message.headers["content-length"]))
    return await reader.read() if to_end else b""


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    parts: list[bytes] = []
    while True:
        size = await reader.readuntil(b"\r\n")
        parts.append(size)
        count = int(size.split(b";")[0], 16)
        if count == 0:
            break
        parts.append(await reader.readexactly(count + 2))
    while parts[-1] != b"\r\n":  # trailers, up to an empty line
        parts.append(await reader.readuntil(b"\r\n"))
    return b"".join(parts)
