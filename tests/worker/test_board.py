"""The shared page: what a runner writes there can be read by another process, also after its death."""

import os
import subprocess
import sys

from dibs.worker.board import ANY_NUMBER, NO_LIMIT, Board, Doing, new_board


def test_slot_tells_what_is_done() -> None:
    slot = new_board(2).slots[1]
    assert slot.doing() is None
    slot.begin("a" * 32, 3, "a key é", 1.5, 9.0)
    slot.set_group(77)
    assert slot.doing() == Doing("a" * 32, 3, "a key é", 1.5, 9.0, 77)
    slot.set_group(0)
    slot.end(2.0, 0)
    slot.look(3.0)
    assert slot.doing() is None
    tally = slot.tally()
    assert (tally.completed, tally.failed, tally.lost, tally.finished, tally.looked) == (1, 0, 0, 2.0, 3.0)


def test_title_of_the_task_before_does_not_stay() -> None:
    slot = new_board(1).slots[0]
    slot.begin("1", 1, "a long key", 0.0)
    slot.end(0.0, 1)
    slot.begin("2", 1, "", 0.0)
    assert slot.doing() == Doing("2", 1, "", 0.0, NO_LIMIT, 0)


def test_long_names_stay_in_their_slot() -> None:
    board = new_board(2)
    board.slots[0].begin("x" * 10_000, 1, "é" * 500, 0.0)
    assert board.slots[1].doing() is None
    doing = board.slots[0].doing()
    assert doing is not None
    assert doing.title == "é" * len(doing.title)


def test_counts_go_on_in_another_process() -> None:
    board = new_board(1)
    source = f"""
from dibs.worker.board import Board
slot = Board({board.fd}, 1).slots[0]
slot.begin("t", 1, "", 0.0); slot.end(1.0, 0)
slot.begin("dies", 2, "", 0.0)
import os; os.kill(os.getpid(), 9)
"""
    for _ in range(2):
        subprocess.run([sys.executable, "-c", source], pass_fds=[board.fd], check=False)
    assert board.slots[0].tally().completed == 2
    doing = board.slots[0].doing()
    assert doing is not None
    assert (doing.id, doing.epoch) == ("dies", 2)


def test_tickets_are_never_given_twice() -> None:
    board = new_board(1, tickets=60_000)
    source = f"""
from dibs.worker.board import Board
board = Board({board.fd}, 1)
print("ready", flush=True)
input()
print(sum(board.take_ticket() for _ in range(40_000)))
"""
    takers = [
        subprocess.Popen(
            [sys.executable, "-c", source],
            pass_fds=[board.fd], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(3)
    ]  # fmt: skip
    for taker in takers:
        assert taker.stdout is not None
        assert taker.stdout.readline() == "ready\n"
    for taker in takers:
        assert taker.stdin is not None
        taker.stdin.write("\n")
        taker.stdin.flush()
    assert sum(int(taker.communicate()[0]) for taker in takers) == 60_000
    assert board.tickets == 0
    assert not board.take_ticket()
    board.return_ticket()
    assert board.take_ticket()


def test_without_a_limit_there_is_always_a_ticket() -> None:
    board = new_board(1)
    assert board.take_ticket()
    assert board.tickets == ANY_NUMBER - 1


def test_board_is_shared_not_copied() -> None:
    board = new_board(1)
    again = Board(os.dup(board.fd), 1)
    again.slots[0].look(5.0)
    assert board.slots[0].tally().looked == 5.0
