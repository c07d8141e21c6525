"""The Lua scripts, one file a verb. Before each stands what they all need, `clock.lua` and `cells.lua`."""

import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

GROUND = ("clock", "cells")


class Script(NamedTuple):
    text: bytes
    sha: bytes


@cache
def script(verb: str) -> Script:
    text = "\n".join([*map(source, GROUND), source(verb)]).encode()
    return Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest().encode())


@cache
def source(name: str) -> str:
    return files(__package__).joinpath("lua", f"{name}.lua").read_text("utf-8")
