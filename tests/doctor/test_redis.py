"""Redis as it is met: users who may not do everything, clusters, servers that keep things to themselves."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis

import dibs
from dibs.doctor import Level, Verdict, examine
from dibs.doctor.servers import redis
from doctor.broken import doctor, killed_midway, words
from redisqueue.test_cluster import Node, nodes
from servers import ports, redis_server

__all__ = ["nodes"]
PROMISED_SECONDS = 30


@contextmanager
def with_user(folder: Path, *rights: str) -> Iterator[tuple[str, "Redis[bytes]"]]:
    """(the URL of a queue for a user who may do just that, a client who may do all)"""
    port = ports.free()
    with redis_server.running(folder, port), Redis(port=port) as client:
        client.execute_command("ACL", "SETUSER", "low", "on", ">secret", *rights)
        yield f"redis://low:secret@127.0.0.1:{port}/0?queue=q&warn=off", client


@pytest.mark.parametrize("missing", ["-eval", "-evalsha", "-time", "-hset"])
def test_a_user_who_may_not_run_what_queues_run_is_named(tmp_path: Path, missing: str) -> None:
    with with_user(tmp_path, "~*", "&*", "+@all", missing) as (url, client):
        code, report = doctor(url, "--quick")
        assert (code, report["verdict"]) == (1, "not safe"), report["findings"]
        assert "no permission" in report["reason"] or "can't run this command" in report["reason"]  # as 6.2 says it
        assert "ACL SETUSER" in report["remedy"]
        assert "secret" not in str(report)
        assert report["seconds"] <= PROMISED_SECONDS
        assert client.keys("*") == []


def test_a_user_who_may_do_what_the_remedy_says_is_enough(tmp_path: Path) -> None:
    rights = ("~{dibs:q}*", "resetchannels", "&{dibs:q}*", *redis._RIGHTS.split())
    with with_user(tmp_path, *rights) as (url, client):
        code, report = doctor(url, "--quick")
        assert (code, report["verdict"]) == (0, "safe for many hosts"), report["findings"]
        assert client.keys("*") == []
        with dibs.open(url) as queue:
            assert queue.claim(wait=0.01) is None and queue.wakes
            queue.push("x")
            lease = queue.claim()
            assert lease is not None
            lease.complete()
    guide = Path(__file__).parents[2] / "docs" / "guides" / "redis.md"
    assert redis._RIGHTS in guide.read_text()


def test_what_a_killed_doctor_leaves_ends_by_itself(tmp_path: Path) -> None:
    with with_user(tmp_path, "~*", "&*", "+@all") as (url, client):
        killed_midway(url, lambda: any(client.zscore(key, "doctor") is None for key in client.keys("*doctor*:claimed")))
        assert all(0 < client.ttl(key) <= 120 for key in client.keys("*doctor*") if client.exists(key))


def test_any_node_of_a_cluster_will_do(nodes: tuple[Node, Node]) -> None:
    for node in nodes:
        code, report = doctor(node.url(), "--quick")
        assert (code, report["verdict"]) == (0, "safe for many hosts"), report["findings"]
        assert "one winner each time" in words(report, "one winner")
        assert node.client.dbsize() == 0


def test_valkey_has_one_winner_too(valkey: redis_server.Server) -> None:
    assert examine(f"{valkey.endpoint}/0?queue=doctor&warn=off", quick=True).verdict is Verdict.MANY


def test_a_server_that_does_not_tell_what_it_keeps_is_not_said_to_keep_it() -> None:
    found = {one.check: one for one in redis._settings({"redis_version": "7.0", "role": "master"})}
    assert found["persistence"].level is Level.NOTE
    assert "does not tell" in found["persistence"].happened
