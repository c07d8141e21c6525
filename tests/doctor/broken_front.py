"""A front before a real S3 server that is broken on purpose: its condition is honoured by the server, then undone."""

from servers.faults import Faults
from servers.http1 import Answer, Request, joined
from servers.proxy import FaultProxy
from servers.server import Server


class BrokenFront(FaultProxy):
    """`ignores`: kinds of writes (create, replace) of which every one is taken, whatever its condition.
    `afterwards`: kinds that are refused as they should be, and take effect all the same."""

    def __init__(
        self, server: Server, bucket: str, *, ignores: str = "", afterwards: str = "", faults: Faults | None = None
    ) -> None:
        super().__init__(server.endpoint, faults)
        self._plain = server.store(bucket)
        self._ignores = ignores
        self._afterwards = afterwards

    async def _send(self, request: Request) -> Answer:
        answer = await super()._send(request)
        if answer.status in (409, 412) and request.kind in (self._ignores, self._afterwards):
            import obstore

            written = await obstore.put_async(self._plain, request.key, joined(request), use_multipart=False)
            if request.kind == self._ignores:
                head = f"HTTP/1.1 200 OK\r\nETag: {written['e_tag']}\r\nContent-Length: 0\r\n\r\n"
                return Answer(head.encode(), b"")
        return answer
