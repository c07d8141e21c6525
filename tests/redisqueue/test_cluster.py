"""A cluster: the node that has the queue is found by asking another, and found again when the queue has moved."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread

import pytest
from redis import Redis
from redis.crc import key_slot

import dibs
from servers import child, ports, redis_server
from waiting import PATIENCE

SLOTS = 16384


class Node:
    def __init__(self, port: int) -> None:
        self.port = port
        self.client: Redis[bytes] = Redis(port=port, socket_timeout=10)

    @property
    def id(self) -> str:
        return str(self.client.execute_command("CLUSTER", "MYID").decode())

    def url(self, queue: str = "q") -> str:
        return f"redis://127.0.0.1:{self.port}/0?queue={queue}&warn=off"

    def ask(self, *words: object) -> object:
        return self.client.execute_command("CLUSTER", *words)


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[tuple[Node, Node]]:
    """Two, the first of which has all slots."""
    with ExitStack() as stack:
        found = []
        for port in ports.free_with_grpc(2):  # nodes talk among themselves on the port 10,000 above, as SeaweedFS does
            folder = tmp_path / str(port)
            folder.mkdir()
            settings = ("--cluster-enabled", "yes", "--save", "")
            process = stack.enter_context(redis_server.running(folder, port, *settings))
            found.append(Node(port))
        one, two = found
        one.ask("ADDSLOTS", *range(SLOTS))
        two.ask("MEET", "127.0.0.1", one.port)

        def agree() -> None:
            for node in found:
                info = bytes(node.ask("INFO"))  # type: ignore[call-overload]
                assert b"cluster_state:ok" in info and b"cluster_known_nodes:2" in info

        child.wait_ready(process, agree)
        yield one, two
        for node in found:
            node.client.close()


def move(one: Node, two: Node, slot: int) -> None:
    two.ask("SETSLOT", slot, "IMPORTING", one.id)
    one.ask("SETSLOT", slot, "MIGRATING", two.id)
    while keys := one.client.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 100):
        one.client.execute_command("MIGRATE", "127.0.0.1", two.port, "", 0, 5000, "KEYS", *keys)
    for node in (two, one):
        node.ask("SETSLOT", slot, "NODE", two.id)


def test_any_node_will_do(nodes: tuple[Node, Node]) -> None:
    one, two = nodes
    with dibs.open(two.url()) as queue:
        task = queue.push("here")
    with dibs.open(one.url()) as queue:
        assert queue.get(task.id).payload == "here"


def test_a_queue_may_move_while_it_is_worked_on(nodes: tuple[Node, Node]) -> None:
    one, two = nodes
    count = 600
    done: list[int] = []

    def work() -> None:
        with dibs.open(one.url()) as queue:
            lease = queue.claim(ttl=60)
            while lease is not None:
                done.append(lease.payload)
                lease = queue.complete_and_claim(lease, ttl=60) or queue.claim(ttl=60, wait=1)

    with dibs.open(one.url()) as queue:
        queue.push_many(range(count))
        workers = [Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        move(one, two, key_slot(queue._server.address.base.encode()))  # type: ignore[attr-defined]
        for worker in workers:
            worker.join(PATIENCE)
        assert sorted(done) == list(range(count))
        assert queue.stats().states["completed"] == count
    assert one.client.dbsize() == 0
    assert two.client.dbsize() > 0
