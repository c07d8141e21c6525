"""The part of a host that joins: `dibs doctor PLACE --join CODE`."""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dibs.clock import SYSTEM, Clock
from dibs.doctor.crew import Crew
from dibs.doctor.folders import plan as plans
from dibs.doctor.folders.ground import ACTS, PREFIX
from dibs.doctor.folders.mounts import existing, mount_of
from dibs.doctor.folders.plan import Plan
from dibs.doctor.folders.visible import PATIENCE_SECONDS
from dibs.doctor.machines import identity
from dibs.errors import BadInput, StorageError
from dibs.host import this_host
from dibs.stores.refusal import refusals

_LOOKS = (
    ("new", plans.NEW, "listed"),
    ("new", plans.NEW, "stat"),
    ("old", plans.OLD, "listed"),
    ("old", plans.OLD, "stat"),
)
FIND_SECONDS = 70.0  # longer than a folder's listing may be remembered
FIND_HERE_SECONDS = 3.0  # where it is not
_OVER = "the host that began has ended, and nothing was found out; begin there anew with --hosts 2, and join again"


def join(place: str, code: str, tell: Callable[[str], None], clock: Clock = SYSTEM) -> int:
    """Take part, and say in how many races. BadInput when nobody has begun with this code."""
    if not code.isalnum():
        raise BadInput(f"code {code!r} is not acceptable; the host that began has printed it")
    rng = random.Random()
    above = existing(place)
    folder = f"{above}/{PREFIX}{code}/hosts"
    with refusals(folder):
        seconds = FIND_SECONDS if mount_of(above).row.shared else FIND_HERE_SECONDS
        if not _there(above, code):
            tell(f"!looking for code {code} in {above}, for up to {seconds:.0f} s")
        _until(clock, seconds, lambda: _there(above, code), f"nobody has begun with code {code} in {above}")
        name = f"{this_host().name}-{os.getpid()}-{rng.getrandbits(24):06x}"
        with _told(folder, name):
            plans.put(folder, f"{plans.HELLO}{name}.json", identity(this_host()))
            record = _until(
                clock, plans.ANSWER_SECONDS, lambda: plans.get(folder, "plan.json"), "the other host has given up"
            )
            plan = Plan(at=float(record["at"]), count=int(record["count"]), step=float(record["step"]))
            offset = plans.server_offset(folder, clock, rng)
            if clock.boottime() + offset > plan.at:
                raise StorageError("the plan was seen too late: this folder shows new files only after many seconds")
            tell("races between hosts")
            with Crew(ACTS, folder, plans.CREW, clock) as crew:
                said = _take_part(folder, crew, plan, offset, name, clock)
            plans.put(folder, f"{plans.ANSWERS}{name}.json", said)
    return len(plans.RACES)


@contextmanager
def _told(folder: str, name: str) -> Iterator[None]:
    """Whoever leaves, for whatever reason, tells the host that waits. Where that is gone itself, this is said."""
    try:
        yield
    except BaseException as error:
        why = str(error) if isinstance(error, Exception) else "it was told to end"
        try:
            plans.put(folder, f"{plans.GONE}{name}.json", {"host": this_host().name, "why": why.partition("; ")[0]})
        except FileNotFoundError:
            if isinstance(error, Exception):
                raise StorageError(_OVER) from error
        except OSError:
            pass  # it will notice by itself, later
        raise


def _take_part(folder: str, crew: Crew, plan: Plan, offset: float, name: str, clock: Clock) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for act in plans.RACES:
        said[act] = crew.all(act, mark=f"{name}-", **plan.race(act, offset))
        if plans.get(folder, "plan.json") is None:  # to who has lost, a name that is gone is nothing new
            raise StorageError(_OVER)
    said["count"] = crew.all("count", **plan.additions(offset))
    looks = [
        (f"{way} {what}", {"name": name, "there": what == "new", "listed": way == "listed"})
        for what, name, way in _LOOKS
    ]
    said["looking"] = clock.boottime() + offset
    for member, (_, values) in enumerate(looks):
        crew.tell(member, "see", patience=PATIENCE_SECONDS + 2.0, **values)
    for member, (label, _) in enumerate(looks):
        seen = crew.hear(member, plans.LOOK_SECONDS + 30.0)
        said[label] = None if seen is None else seen + offset
    return said


def _there(above: str, code: str) -> bool:
    return PREFIX + code in os.listdir(above) and "hosts" in os.listdir(f"{above}/{PREFIX}{code}")


def _until(clock: Clock, seconds: float, look: Callable[[], Any], otherwise: str) -> Any:
    until = clock.boottime() + seconds
    while True:
        found = look()
        if found:
            return found
        if clock.boottime() > until:
            raise BadInput(f"{otherwise}; begin there with `dibs doctor` and --hosts 2")
        clock.sleep(plans.POLL_SECONDS)
