"""What the real code asks of the operating system beside media and clocks, answered by the simulation while it runs:
process ids, random bytes and, where a backend says so, its system calls."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import dibs.queues.files.markers
import dibs.queues.files.parts
import dibs.queues.files.root
import dibs.task
from dibs.keys import Keys

from .world import World

_MODULES = (dibs.task, dibs.queues.files.markers, dibs.queues.files.parts, dibs.queues.files.root)
_MISSING = object()


@contextmanager
def seams(world: World, backend: object) -> Iterator[None]:
    shim = SimpleNamespace(
        path=os.path,
        getpid=lambda: world.current.pid if world.current else 1,
        urandom=world.rng.randbytes,
    )
    patches: list[tuple[Any, str, Any]] = [(module, "os", shim) for module in _MODULES]
    if hasattr(backend, "seams"):
        patches += backend.seams()
    defaults = Keys.__init__.__kwdefaults__
    assert defaults is not None
    before = [(owner, name, vars(owner).get(name, _MISSING)) for owner, name, _ in patches]
    for owner, name, value in patches:
        setattr(owner, name, value)
    defaults["process"] = shim.getpid
    try:
        yield
    finally:
        defaults["process"] = os.getpid
        for owner, name, value in before:
            if value is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
