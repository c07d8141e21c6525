"""The `console` and `python` blocks of a page, run one after another in an empty folder, do what the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import Block, Page, pages

from dibs.host import this_host
from waiting import PATIENCE

RUN = ("console", "python", "hidden")
ANY_LINES = "…"
_VARYING = (
    (re.compile(r"\b[0-9a-f]{32}\b"), "ID"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\b[a-z0-9-]+-(\d+|cli)-[0-9a-f]{8}\b"), "WORKER"),
    (re.compile(r"\(\d[\d.,]*/s\)"), "(RATE)"),
    (re.compile(r"\b\d+(\.\d+)? (s|min|h|d)( \d+ (s|min|h))?\b"), "DURATION"),
    (re.compile(r"\s+"), " "),
)


@pytest.mark.parametrize(
    "page",
    [page for page in pages() if any(block.language in RUN for block in page.blocks)],
    ids=lambda page: page.name,
)
def test_blocks_run_and_print_what_the_page_shows(page: Page, tmp_path: Path) -> None:
    for block in page.blocks:
        where = f"{page.name}, line {block.line}"
        if block.language == "console":
            for command, shown in _commands(block):
                printed = _shell(command, tmp_path)
                assert _same(shown, printed, tmp_path), f"{where}: `{command}` prints\n{printed}"
        elif block.language == "hidden":
            _shell(block.text, tmp_path)
        elif block.language == "python":
            done = subprocess.run(
                [sys.executable, "-W", "error", "-c", block.text], cwd=tmp_path, env=_environment(), timeout=PATIENCE,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            assert done.returncode == 0, f"{where}: {done.stdout}"


def _commands(block: Block) -> list[tuple[str, list[str]]]:
    """Each command after `$ ` (a line after `> ` goes on with it), and the lines shown below it."""
    found: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("> ") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
        else:
            found[-1][1].append(line)
    return found


def _shell(command: str, folder: Path) -> str:
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=_environment(), stdin=subprocess.DEVNULL, timeout=PATIENCE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return done.stdout


def _environment() -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DIBS_")}
    programs = os.path.dirname(sys.executable)
    return {**clean, "PATH": f"{programs}:{clean['PATH']}", "PYTHONIOENCODING": "utf-8", "LC_ALL": "C.UTF-8"}


def _same(shown: list[str], printed: str, folder: Path) -> bool:
    text = printed.replace(str(folder.resolve()), "/home/pi")
    text = re.sub(rf"\b{re.escape(this_host().name)}(?=\s|$)", "pi-3", text, flags=re.MULTILINE)
    want = [_plain(line) for line in shown if line.strip()]
    have = [_plain(line) for line in text.splitlines() if line.strip()]
    pattern = "\n".join(".*" if line == ANY_LINES else re.escape(line) for line in want)
    return re.fullmatch(pattern, "\n".join(have), re.DOTALL) is not None


def _plain(line: str) -> str:
    for varying, name in _VARYING:
        line = varying.sub(name, line)
    return line.strip()
