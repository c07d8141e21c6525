"""What the doctor makes tells whose it is; what is left of one that is gone is known at once, or by its age."""

import random

from dibs.clock import SYSTEM
from dibs.doctor.machines import machines
from dibs.doctor.traces import LEFT_SECONDS, is_left, new_name
from dibs.host import Host, this_host
from dibs.testing import ManualClock
from doctor.broken import name_of_one_gone


def test_its_own_stays_and_that_of_a_process_that_is_gone_does_not() -> None:
    ours = new_name(SYSTEM, random.Random(1))
    assert not is_left(f"doctor-{ours}", SYSTEM)
    assert is_left(f"doctor-{name_of_one_gone()}-7", SYSTEM)
    assert is_left(f"dibs_doctor_{name_of_one_gone('_')}", SYSTEM)
    assert not is_left("doctor-0123456789", SYSTEM)
    assert not is_left("", SYSTEM)


def test_that_of_another_machine_is_told_by_its_age() -> None:
    clock = ManualClock()
    at, _, rest = new_name(clock, random.Random(1)).split("-", 2)
    other = f"doctor-{at}-00000000-{rest}"
    assert not is_left(other, clock)
    clock.advance(LEFT_SECONDS + 2)
    assert is_left(other, clock)


def test_machines_are_told_apart_by_their_kernels() -> None:
    here = this_host()
    mine = {"host": "a", "machine": "other", "boot": here.boot}
    cloned = {"host": "b", "machine": here.machine, "boot": "another"}
    assert machines([mine, mine], here) == 1
    assert machines([mine, cloned, cloned], here) == 2
    assert machines([{"host": "old"}], Host("a", "b", "c", "d")) == 1
