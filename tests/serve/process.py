"""`dibs serve` as a process that can be killed and started again at the same place."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from children import environment
from servers import ports
from waiting import PATIENCE

PROGRAM = str(Path(sys.executable).with_name("dibs"))


class Process:
    def __init__(self, folder: Path, queue: str, *words: str, host: str = "127.0.0.1") -> None:
        self._folder = folder
        self._command = [PROGRAM, "serve", queue, "--listen", f"{host}:{ports.free()}", "--json", *words]
        self._command += ["--token", str(folder / "token"), "--socket", str(folder / "s")]
        self.told: dict[str, Any] = {}
        self.start()

    def start(self) -> None:
        clean = {name: value for name, value in environment().items() if not name.startswith("DIBS_")}
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, cwd=self._folder, env=clean)
        assert self._process.stdout is not None
        self.told = json.loads(self._process.stdout.readline())

    def url(self, name: str) -> str:
        token = (self._folder / "token").read_text().split()[0]
        return f"{self.told['url']}/{name}?token={token}"

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def end(self) -> int:
        """In good order; its exit code."""
        self._process.terminate()
        self._process.communicate(timeout=PATIENCE)
        return self._process.returncode
