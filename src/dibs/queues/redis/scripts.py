"""The Lua scripts, one file a verb. Before each stands what it needs: `kept`, `clock`, `cells`, `moving`.

Making a function costs a script time, even one that it does not call. So in those that run for every task the usual
way is written out (`hot` and what is named here), and all else is the body of one function, `rest`, called when
something unusual is to be done.
"""

import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Hot(NamedTuple):
    usual: tuple[str, ...]
    rest: tuple[str, ...]
    names: tuple[str, ...]  # what of the rest is called
    first: tuple[str, ...] = ()  # the most usual, before anything else is made


_CLAIMING = Hot(("claiming",), ("upkeep", "searching"), ("search", "take", "outlook"))
_COMPLETING = Hot(("completing",), ("ending",), ("look_closer", "free_those", "refused"))
HOT = {
    "claim": _CLAIMING,
    "complete": _COMPLETING,
    "chain": Hot(
        _COMPLETING.usual + _CLAIMING.usual,
        _COMPLETING.rest + _CLAIMING.rest,
        _COMPLETING.names + _CLAIMING.names,
        ("linking",),
    ),
    "push": Hot((), ("pushing",), ("push", "states_of"), ("adding",)),
}


class Script(NamedTuple):
    text: bytes
    sha: bytes


@cache
def script(verb: str) -> Script:
    return assembled(verb, source("clock"))


def assembled(verb: str, clock: str) -> Script:
    if verb in HOT:
        usual, rest, names, first = HOT[verb]
        told = ", ".join(f"{name} = {name}" for name in ("done", *names))
        body = "\n".join([*map(source, ("cells", "moving", *rest)), f"loaded = {{ {told} }}"])
        parts = [*map(source, first), source("hot").replace("-- REST --", body), *map(source, usual)]
    else:
        parts = [source("cells"), source("moving")]
    text = "\n".join([source("kept"), clock, *parts, source(verb)]).encode()
    return Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest().encode())


@cache
def source(name: str) -> str:
    return files(__package__).joinpath("lua", f"{name}.lua").read_text("utf-8")
