"""Clients of `dibs mcp`, run as a real process: the SDK's own, and one that writes lines by hand."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client

import dibs
from children import as_anywhere
from dibs.queues.queue import Queue
from waiting import PATIENCE

PROGRAM = str(Path(sys.executable).with_name("dibs"))
environment = as_anywhere


class Tools:
    """The tools of a server, for a client that is connected."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, name: str, /, **arguments: Any) -> Any:
        """The structured answer; the text says the same."""
        result = await self.client.call_tool(name, arguments)
        (content,) = result.content
        assert not result.is_error, content.text
        assert json.loads(content.text) == result.structured_content
        return result.structured_content

    async def refused(self, name: str, /, **arguments: Any) -> str:
        """The one line of an error."""
        result = await self.client.call_tool(name, arguments)
        (content,) = result.content
        assert result.is_error, content.text
        assert "\n" not in content.text
        assert "Traceback" not in content.text
        return str(content.text)

    async def pid(self, task_id: str) -> int:
        """The server's process, from a lease that it holds."""
        return int((await self("show_task", id=task_id))["claim"]["pid"])


@asynccontextmanager
async def connected(
    folder: Path, *words: str, mode: str = "auto", env: dict[str, str] | None = None
) -> AsyncIterator[Tools]:
    server = StdioServerParameters(command=PROGRAM, args=["mcp", *words], cwd=folder, env=environment(**(env or {})))
    async with Client(stdio_client(server), mode=mode) as client:
        yield Tools(client)


class Raw:
    """A client that can leave in any way."""

    def __init__(self, folder: Path, *words: str, **env: str) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [PROGRAM, "mcp", *words], cwd=folder, env=environment(**env), stdin=pipe, stdout=pipe, stderr=pipe
        )
        self._number = 0
        information = {"name": "raw", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=information)
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> "Raw":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                pass

    def write(self, message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method: str, **params: Any) -> None:
        self._number += 1
        self.write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})

    def answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.stderr and self.process.stderr.read().decode()
        return json.loads(line)

    def ask(self, method: str, **params: Any) -> Any:
        self.request(method, **params)
        answer = self.answer()
        assert answer["id"] == self._number, answer
        return answer["result"]

    def call(self, tool: str, **arguments: Any) -> Any:
        result = self.ask("tools/call", name=tool, arguments=arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    def ended(self) -> int:
        return self.process.wait(timeout=PATIENCE)


def queue_in(folder: Path, name: str = "q", tasks: int = 0) -> Queue:
    queue = dibs.open(str(folder / name))
    queue.push_many([{"n": number} for number in range(tasks)])
    return queue
