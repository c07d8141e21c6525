"""A front before a real S3 server that is broken on purpose: its condition is honoured by the server, then undone; or
conditional writes never reach the server."""

from collections.abc import Mapping

from servers.faults import Faults
from servers.http1 import Answer, Request, joined
from servers.proxy import FaultProxy
from servers.server import Server

_CODES = {400: "InvalidArgument", 409: "ConditionalRequestConflict", 412: "PreconditionFailed", 500: "InternalError",
          501: "NotImplemented"}  # fmt: skip


class BrokenFront(FaultProxy):
    """`ignores`: kinds of writes (create, replace) of which every one is taken, whatever its condition.
    `afterwards`: kinds that are refused as they should be, and take effect all the same.
    `says`: kinds that are all answered by this status, and nothing is done.
    `mumbles`: a replacement that the server refuses is answered by 500."""

    def __init__(
        self,
        server: Server,
        bucket: str,
        *,
        ignores: str = "",
        afterwards: str = "",
        says: Mapping[str, int] | None = None,
        mumbles: bool = False,
        faults: Faults | None = None,
    ) -> None:
        super().__init__(server.endpoint, faults)
        self._plain = server.store(bucket)
        self._ignores = ignores
        self._afterwards = afterwards
        self._says = says or {}
        self._mumbles = mumbles

    async def _send(self, request: Request) -> Answer:
        if request.kind in self._says:
            return _said(self._says[request.kind])
        answer = await super()._send(request)
        if self._mumbles and answer.status in (409, 412) and request.kind == "replace":
            return _said(500)
        if answer.status in (409, 412) and request.kind in (self._ignores, self._afterwards):
            import obstore

            written = await obstore.put_async(self._plain, request.key, joined(request), use_multipart=False)
            if request.kind == self._ignores:
                head = f"HTTP/1.1 200 OK\r\nETag: {written['e_tag']}\r\nContent-Length: 0\r\n\r\n"
                return Answer(head.encode(), b"")
        return answer


def _said(status: int) -> Answer:
    body = f"<Error><Code>{_CODES[status]}</Code><Message>no</Message></Error>".encode()
    return Answer(f"HTTP/1.1 {status} No\r\nContent-Length: {len(body)}\r\n\r\n".encode(), body)
