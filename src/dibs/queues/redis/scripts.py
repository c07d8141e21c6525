"""The Lua scripts, one file a verb. Before each stands what it needs: `clock.lua` and `cells.lua`, and in some cases more."""

import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

GROUND = ("clock", "cells")
MORE = {"claim": ("claiming",), "complete": ("completing",), "chain": ("completing", "claiming")}


class Script(NamedTuple):
    text: bytes
    sha: bytes


@cache
def script(verb: str) -> Script:
    text = "\n".join(source(part) for part in parts(verb)).encode()
    return Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest().encode())


def parts(verb: str) -> tuple[str, ...]:
    return (*GROUND, *MORE.get(verb, ()), verb)


@cache
def source(name: str) -> str:
    return files(__package__).joinpath("lua", f"{name}.lua").read_text("utf-8")
