"""Standard input, line by line, in a way that can be left.

The SDK's own reader waits in a thread that cannot be cancelled, so a server that is told to stop would wait
for the client's next word.
"""

import sys
from typing import BinaryIO, cast

import anyio
import anyio.to_thread


class Lines:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    @classmethod
    def of_this_process(cls) -> "anyio.AsyncFile[str]":
        """In the place of a file: nothing but iteration is asked of it."""
        return cast("anyio.AsyncFile[str]", cls(sys.stdin.buffer))

    def __aiter__(self) -> "Lines":
        return self

    async def __anext__(self) -> str:
        line = await anyio.to_thread.run_sync(self._stream.readline, abandon_on_cancel=True)
        if not line:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")
