"""The session that the guide shows is the session that one gets."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

from .client import connected

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "mcp.md"
_ID = re.compile(r"\b[0-9a-f]{32}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def exchanges() -> list[tuple[str, dict[str, Any], str]]:
    """(tool, arguments, what is said to it with a mark before it)."""
    text = GUIDE.read_text(encoding="utf-8")
    block = text.partition("## A session")[2].partition("```text\n")[2].partition("```")[0]
    lines = block.splitlines()
    calls = [line[2:].partition(" ") for line in lines[::2] if line.startswith("> ")]
    assert len(calls) * 2 == len(lines) > 10
    return [(call[0], json.loads(call[2]), said) for call, said in zip(calls, lines[1::2], strict=True)]


def test_the_guide_shows_a_true_session(tmp_path: Path) -> None:
    (tmp_path / "dibs.toml").write_text('[queues.work]\nurl = "queues/work"\n')
    real: dict[str, str] = {}

    def translated(text: str) -> str:
        return _TIME.sub("TIME", _ID.sub(lambda found: real.get(found[0], found[0]), text))

    async def session() -> None:
        async with connected(tmp_path) as call:
            for tool, arguments, said in exchanges():
                arguments = json.loads(translated(json.dumps(arguments)))
                if said.startswith("! "):
                    assert await call.refused(tool, **arguments) == translated(said[2:])
                    continue
                answer = await call(tool, **arguments)
                shown = json.loads(said.removeprefix("< "))
                if tool == "add_task":
                    real[shown["id"]] = answer["id"]
                assert json.loads(translated(json.dumps(shown))) == json.loads(translated(json.dumps(answer)))

    asyncio.run(session())


def test_the_guide_names_every_tool() -> None:
    from dibs.mcp.tools import TOOLS

    table = GUIDE.read_text(encoding="utf-8").partition("## The tools")[2].partition("\n## ")[0]
    assert {tool.name for tool in TOOLS} == set(re.findall(r"`(\w+_(?:tasks?|stats))`", table))
