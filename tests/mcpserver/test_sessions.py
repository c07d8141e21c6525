"""A claim lives as long as the client's session, and ends with it, however that ends."""

import asyncio
import json
import os
import re
import signal
import socket
from pathlib import Path

import pytest

from dibs.host import process_state
from dibs.states import State
from waiting import PATIENCE, until

from .client import Raw, connected, queue_in


def test_a_claim_is_kept_beyond_its_ttl_and_released_at_the_end(tmp_path: Path) -> None:
    queue = queue_in(tmp_path, tasks=2)

    async def session() -> str:
        async with connected(tmp_path, "q") as call:
            claimed = (await call("claim_task", ttl=4))["task"]
            first = queue.detail(claimed["id"]).claim
            assert first is not None
            latest = first.heartbeat_at

            def beaten() -> bool:
                nonlocal latest
                detail = queue.detail(claimed["id"])
                assert detail.claim is not None
                assert detail.claim.epoch == 1
                latest = detail.claim.heartbeat_at
                return latest > first.heartbeat_at + 1.5 * first.ttl

            await asyncio.to_thread(until, beaten)
            other = queue.claim()  # looks for what has expired, and finds only the other task
            assert other is not None
            assert other.id != claimed["id"]
            assert queue.claim() is None
            other.release()
            renewed = await call("renew_task", id=claimed["id"], epoch=1)
            assert renewed["outcome"] == "renewed"
            return str(claimed["id"])

    task = queue.get(asyncio.run(session()))
    assert (task.state, task.epoch, task.attempts, task.deaths) == (State.READY, 1, 0, 0)
    assert queue.claimed() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, None])
def test_claims_are_released_when_the_server_is_told_to_end(tmp_path: Path, number: signal.Signals | None) -> None:
    queue = queue_in(tmp_path, tasks=3)
    with Raw(tmp_path, "q") as client:
        ids = {client.call("claim_task")["task"]["id"] for _ in range(2)}
        assert len(ids) == 2
        if number is None:
            assert client.process.stdin is not None
            client.process.stdin.close()
        else:
            client.process.send_signal(number)  # standard input stays open
        assert client.ended() == (130 if number == signal.SIGINT else 0)
        assert client.process.stdout is not None
        assert client.process.stdout.read() == b""
        assert client.process.stderr is not None
        assert client.process.stderr.read() == b""
    for task in queue.tasks():
        assert (task.state, task.attempts, task.deaths) == (State.READY, 0, 0)
    assert queue.claimed() == []


def test_claims_are_released_when_nobody_reads_the_answers(tmp_path: Path) -> None:
    queue = queue_in(tmp_path, tasks=2)
    with Raw(tmp_path, "q") as client:
        client.call("claim_task")
        assert client.process.stdout is not None
        client.process.stdout.close()
        client.request("tools/call", name="claim_task", arguments={})
        assert client.ended() == 0
    assert [task.state for task in queue.tasks()] == [State.READY, State.READY]


def test_claims_of_a_killed_server_are_given_back_by_the_heart(tmp_path: Path) -> None:
    queue = queue_in(tmp_path, tasks=1)
    with Raw(tmp_path, "q") as client:
        claimed = client.call("claim_task", ttl=3600)["task"]
        client.process.kill()
        client.process.wait()
        until(lambda: queue.get(claimed["id"]).state, equals=State.READY)
    task = queue.get(claimed["id"])
    assert (task.attempts, task.deaths) == (0, 1)


def test_what_was_taken_over_cannot_be_finished(tmp_path: Path) -> None:
    queue = queue_in(tmp_path, tasks=1)

    async def session() -> None:
        async with connected(tmp_path, "q") as call:
            claimed = (await call("claim_task", ttl=2))["task"]
            held = {"id": claimed["id"], "epoch": 1}
            server = await call.pid(claimed["id"])
            os.kill(server, signal.SIGSTOP)  # as on a laptop that is shut: nobody beats for it
            try:
                taken = await asyncio.to_thread(until, queue.claim)
            finally:
                os.kill(server, signal.SIGCONT)
            assert (taken.id, taken.epoch) == (claimed["id"], 2)
            line = await call.refused("complete_task", **held, result="too late")
            assert "lease lost" in line
            assert f"held by {taken.worker}" in line
            assert "epoch 2" in line
            for step, more in (("complete_task", {}), ("renew_task", {}), ("fail_task", {"error": "x"})):
                line = await call.refused(step, **held, **more)
                assert "not claimed by this session" in line
                assert taken.worker in line
            assert (await call("queue_stats"))["held"] == []
            await asyncio.to_thread(taken.complete, "mine")
            assert (await call("show_task", id=claimed["id"]))["result"] == "mine"

    asyncio.run(session())
    detail = queue.detail(next(queue.tasks()).id)
    assert (detail.task.state, detail.task.epoch, detail.result) == (State.COMPLETED, 2, "mine")


def test_a_claim_that_is_lost_and_claimed_anew_needs_its_new_epoch(tmp_path: Path) -> None:
    queue = queue_in(tmp_path, tasks=1)

    async def session() -> None:
        async with connected(tmp_path, "q") as call:
            claimed = (await call("claim_task"))["task"]
            queue.cancel(claimed["id"])
            line = await call.refused("renew_task", id=claimed["id"], epoch=1)
            assert "now cancelled" in line
            queue.retry(claimed["id"])
            anew = (await call("claim_task"))["task"]
            assert (anew["id"], anew["epoch"] > 1) == (claimed["id"], True)
            assert f"at epoch {anew['epoch']}, not 1" in await call.refused("complete_task", id=anew["id"], epoch=1)
            assert queue.get(anew["id"]).state is State.CLAIMED
            await call("complete_task", id=anew["id"], epoch=anew["epoch"])

    asyncio.run(session())
    assert queue.stats().states["completed"] == 1


def test_a_second_signal_ends_it_at_once_and_the_heart_gives_back(tmp_path: Path) -> None:
    """The first waits for a call that runs: here one that asks a server which never answers."""
    queue = queue_in(tmp_path, tasks=1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(PATIENCE)
        stuck = f"s3://bucket/q?endpoint=http://127.0.0.1:{silent.getsockname()[1]}"
        keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
        with Raw(tmp_path, "q", stuck, **keys) as client:
            claimed = client.call("claim_task", ttl=3600)["task"]
            client.request("tools/call", name="list_tasks", arguments={"queue": stuck})
            with silent.accept()[0]:
                client.process.send_signal(signal.SIGHUP)
                until(lambda: not _is_pending(client.process.pid, signal.SIGHUP), "the first to be heard")
                client.process.send_signal(signal.SIGHUP)
                assert client.ended() == 128 + signal.SIGHUP
        until(lambda: queue.get(claimed["id"]).state, equals=State.READY)


def test_two_clients_race_and_each_task_goes_to_one(tmp_path: Path) -> None:
    queue = queue_in(tmp_path, tasks=40)

    async def drain(name: str) -> list[str]:
        done = []
        async with connected(tmp_path, "q") as call:

            async def hand() -> None:
                while (task := (await call("claim_task"))["task"]) is not None:
                    await call("complete_task", id=task["id"], epoch=task["epoch"], result=name)
                    done.append(task["id"])

            await asyncio.gather(*(hand() for _ in range(4)))  # several calls at once in one session
        return done

    async def race() -> list[list[str]]:
        return await asyncio.gather(drain("one"), drain("two"))

    one, two = asyncio.run(race())
    assert len(one) + len(two) == len({*one, *two}) == 40
    assert queue.stats().states["completed"] == 40
    for ids, name in ((one, "one"), (two, "two")):
        for task_id in ids:
            detail = queue.detail(task_id)
            assert (detail.result, detail.task.epoch) == (name, 1)


def test_it_writes_nothing_but_messages_and_leaves_no_process(tmp_path: Path) -> None:
    with Raw(tmp_path, "q") as client:
        client.call("add_task", title="a")
        client.call("claim_task")
        hearts = _children(client.process.pid)
        assert hearts
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.ended() == 0
        assert client.process.stdout is not None
        for line in client.process.stdout.read().splitlines():
            assert json.loads(line)["jsonrpc"] == "2.0"
    assert all(process_state(pid)[0] in "-ZX" for pid in hearts)


def _is_pending(pid: int, number: int) -> bool:
    """Of two signals that are sent while none is heard, the second may be heard first, or only one of them."""
    (found,) = re.findall(r"^ShdPnd:\s+(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return bool(int(found, 16) >> (number - 1) & 1)


def _children(parent: int) -> list[int]:
    """Of any of its threads."""
    threads = Path(f"/proc/{parent}/task").iterdir()
    return [int(pid) for thread in threads for pid in (thread / "children").read_text().split()]
