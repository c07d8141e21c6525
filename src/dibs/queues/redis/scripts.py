"""The Lua scripts, one file a verb. Before each stands what it needs: `clock`, `cells`, `moving`, in some cases more.

Making a function costs a script time, even one that it does not call. So in those that run for every task the rest is
the body of one function, `moves`, called when something unusual is to be done.
"""

import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

HOT = {"claim": ("claiming",), "complete": ("completing",), "chain": ("completing", "claiming")}
_MOVES = ("first_of_facets", "free_waiting", "near", "refusal", "take_back", "tidy")


class Script(NamedTuple):
    text: bytes
    sha: bytes


@cache
def script(verb: str) -> Script:
    return assembled(verb, source("clock"))


def assembled(verb: str, clock: str) -> Script:
    moving = source("moving")
    if verb in HOT:
        names = ", ".join(f"{name} = {name}" for name in _MOVES)
        moving = f"local function moves()\n{moving}\n{source('upkeep')}\nreturn {{ {names} }}\nend"
    parts = [clock, source("cells"), moving, *map(source, HOT.get(verb, ())), source(verb)]
    text = "\n".join(parts).encode()
    return Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest().encode())


@cache
def source(name: str) -> str:
    return files(__package__).joinpath("lua", f"{name}.lua").read_text("utf-8")
