"""What the real code asks of the operating system beside media and clocks, answered by the simulation while it runs:
process ids and random bytes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import dibs.queues.files.parts
import dibs.queues.files.root
import dibs.task
from dibs.keys import Keys

from .world import World

_MODULES = (dibs.task, dibs.queues.files.parts, dibs.queues.files.root)


@contextmanager
def seams(world: World) -> Iterator[None]:
    shim = SimpleNamespace(
        path=os.path,
        getpid=lambda: world.current.pid if world.current else 1,
        urandom=world.rng.randbytes,
    )
    defaults = Keys.__init__.__kwdefaults__
    assert defaults is not None
    for module in _MODULES:
        module.os = shim  # type: ignore[attr-defined]
    defaults["process"] = shim.getpid
    try:
        yield
    finally:
        for module in _MODULES:
            module.os = os  # type: ignore[attr-defined]
        defaults["process"] = os.getpid
