"""One runner process: when it is started again, and who is hit when a task is over its time."""

import os
import socket
import subprocess
from collections.abc import Iterator

import pytest

from dibs.host import process_state
from dibs.queues.channel import Channel
from dibs.queues.queue import Queue
from dibs.worker.board import new_board
from dibs.worker.hand import Hand
from dibs.worker.job import Job
from dibs.worker.supervisor import Supervisor
from waiting import PATIENCE, until


@pytest.fixture
def process() -> Iterator["subprocess.Popen[bytes]"]:
    started = subprocess.Popen(["sleep", "60"])
    yield started
    started.kill()
    started.wait()


def die(hand: Hand, *, ready: bool, completed: int = 0, now: float = 0.0) -> float:
    """Let a runner of this hand live and die; returns the pause before the next."""
    hand.process = subprocess.Popen(["true"])
    hand.channel = Channel(socket.socketpair()[0])
    hand.ready = ready
    hand._completed_at_start = hand._completed()
    for _ in range(completed):
        hand.slots[0].begin("t", 1, "", 0.0)
        hand.slots[0].end(0.0, 0)
    hand.buried(now)
    assert hand.restart_at is not None
    return hand.restart_at - now


def test_the_first_death_costs_no_time_the_next_ones_more_and_more() -> None:
    hand = Hand(new_board(1), 0, 1)
    pauses = [die(hand, ready=True) for _ in range(10)]
    assert pauses[:4] == [0.0, 0.1, 0.2, 0.4]
    assert pauses[-1] == 5.0
    assert die(hand, ready=True, completed=1) == 0.0, "it did something in between"
    assert die(hand, ready=True) == 0.1


def test_deaths_before_it_was_ready_are_counted_in_a_row() -> None:
    hand = Hand(new_board(1), 0, 1)
    die(hand, ready=False)
    die(hand, ready=False)
    assert hand.unready_deaths == 2
    die(hand, ready=True)
    assert hand.unready_deaths == 0


@pytest.mark.parametrize("moved_on", [False, True])
def test_only_the_task_that_is_over_its_time_is_hit(
    url: str, queue: Queue, process: "subprocess.Popen[bytes]", moved_on: bool
) -> None:
    """The runner may have finished it and begun another just when the supervisor looks."""
    supervisor = Supervisor(Job(url=url, call="a:b"), queue)
    (hand,) = supervisor.hands
    hand.process = process
    hand.slots[0].begin("late", 1, "", 0.0, 5.0)
    ((slot, doing),) = hand.in_hand()
    if moved_on:
        slot.end(5.0, 0)
        slot.begin("next", 1, "", 5.0, 10.0)
    supervisor._expire(hand, slot, doing)
    if moved_on:
        assert hand.timed_out == {}
        until(lambda: process_state(process.pid)[0] in "SR", "it to go on")
    else:
        assert hand.timed_out == {("late", 1): "timed out after 5 s"}
        assert process.wait(PATIENCE) == -9


def test_runners_inherit_no_descriptors_but_their_own(url: str, queue: Queue) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    supervisor = Supervisor(Job(url=url, call="dibs.cli.demotask:work", until_empty=True), queue)
    supervisor.start()
    supervisor.join()
    os.close(writer)
    assert os.read(reader, 1) == b"", "somebody still has it"
    os.close(reader)
