"""Connections to the server behind the proxy, kept for the next request."""

import asyncio

from servers.http1 import LIMIT, Answer, Request, read_answer

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Upstream:
    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._idle: list[Connection] = []

    async def send(self, request: Request) -> Answer:
        """Once: what fails here may have taken effect."""
        reader, writer = await self._connection()
        try:
            writer.write(request.data)
            answer = await read_answer(reader, request.method)
        except BaseException:
            writer.close()
            raise
        if answer.closes:
            writer.close()
        else:
            self._idle.append((reader, writer))
        return answer

    async def _connection(self) -> Connection:
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer
            writer.close()
        return await asyncio.open_connection(*self._address, limit=LIMIT)

    def close(self) -> None:
        while self._idle:
            self._idle.pop()[1].close()
