"""The SQL of each verb, read from its file. `{schema}` and the like are filled in from checked names, never values;
`{{grab}}` stands for the statement of another verb."""

import os
import re
from functools import cache
from typing import Any

_FOLDER = os.path.join(os.path.dirname(__file__), "sql")


@cache
def _text(verb: str) -> str:
    with open(os.path.join(_FOLDER, f"{verb}.sql"), encoding="utf-8") as file:
        text = file.read()
    return re.sub(r"\{\{(\w+)\}\}", lambda found: _bare(found[1]), text)


def _bare(verb: str) -> str:
    """Without what is said about it."""
    return "\n".join(line for line in _text(verb).splitlines() if not line.startswith("--"))


class Statements:
    """The statements of one schema."""

    def __init__(self, schema: str) -> None:
        self._schema = quoted_name(schema)
        self._made: dict[tuple[Any, ...], bytes] = {}

    def get(self, verb: str, **parts: str) -> bytes:
        name = (verb, *parts.values())
        found = self._made.get(name)
        if found is None:
            text = _text(verb)
            for part, words in parts.items():
                text = text.replace("{" + part + "}", words)
            found = self._made[name] = text.replace("{schema}", self._schema).encode()
        return found


def quoted_name(name: str) -> str:
    """As an identifier. A percent sign would be taken for a placeholder."""
    return '"' + name.replace('"', '""').replace("%", "%%") + '"'
