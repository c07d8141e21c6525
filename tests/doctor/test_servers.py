"""What the doctor says of real servers: in order, or with a setting that is not good for a queue."""

from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from dibs.doctor import Level, Verdict, examine
from dibs.doctor.servers import redis
from dibs.errors import BadInput
from doctor.broken import doctor, levels, words
from git.clones import Team, hook
from postgres.places import url as postgres_url
from servers.server import Server
from sqs.server import Server as SqsServer


def test_postgres_has_one_winner_and_is_left_as_it_was(postgres: Server) -> None:
    report = examine(postgres_url(postgres), quick=True)
    found = {one.check: one.level for one in report.findings}
    assert found.pop("durability") is Level.BAD  # the server of the tests runs without fsync, and the doctor sees it
    assert {"version", "isolation", "clock", "pooler", "one winner"} == set(found)
    assert set(found.values()) == {Level.GOOD}
    with psycopg.connect(postgres.endpoint) as connection:
        left = connection.execute("SELECT relname FROM pg_class WHERE relname LIKE 'dibs_doctor_%'").fetchall()
    assert left == []


def test_postgres_settings_that_lose_tasks_are_named() -> None:
    from dibs.doctor.servers.postgres import durability

    assert durability("on", "on", "on").level is Level.GOOD
    assert durability("on", "on", "off").level is Level.WARNING
    assert durability("off", "on", "on").level is durability("on", "off", "on").level is Level.BAD


def test_redis_has_one_winner_and_is_left_as_it_was(redis_server: Server) -> None:
    import redis as driver

    name = f"q{uuid4().hex}"
    code, report = doctor(f"{redis_server.endpoint}/0?queue={name}&warn=off", "--quick")
    assert (code, report["verdict"]) == (0, "safe for many hosts")
    assert "bad" not in levels(report).values()
    with driver.Redis.from_url(redis_server.endpoint) as client:
        assert client.keys(f"*{name}*") == []


def test_redis_settings_that_lose_tasks_are_named() -> None:
    info = {"redis_version": "7.0", "role": "slave", "aof_enabled": "0", "maxmemory_policy": "allkeys-lru"}
    found = {one.check: one.level for one in redis._settings(info)}
    assert found["role"] is found["eviction"] is Level.BAD
    assert found["persistence"] is Level.WARNING


def test_lmdb_is_for_one_host(tmp_path: Path) -> None:
    code, report = doctor(f"lmdb:{tmp_path}/q", "--quick")
    assert (code, report["verdict"]) == (0, "safe on one host")
    assert words(report, "transactions") == "each waited for the others"
    assert list(tmp_path.iterdir()) == [tmp_path / "gitconfig"]


def test_a_git_remote_has_one_winner_and_is_left_as_it_was(team: Team) -> None:
    team.start()
    code, report = doctor(f"specs:{team.folder}/first/.dibs/specs?git=refs", "--quick")
    assert code == 0
    assert "one winner each time" in words(report, "refs of the remote")
    assert words(report, "stale ref") == "refused"
    assert not [ref for ref in team.refs() if ref.startswith("refs/dibs/")]


def test_a_git_remote_that_takes_no_refs_is_not_safe(team: Team) -> None:
    team.start()
    hook(team.remote, "pre-receive", "exit 1")
    code, report = doctor(f"specs:{team.folder}/first/.dibs/specs?git=refs", "--quick")
    assert (code, report["verdict"]) == (1, "not safe")
    assert report["reason"].startswith("refs of the remote")


def test_sqs_hides_what_is_in_hand(sqs_server: SqsServer) -> None:
    report = examine(sqs_server.url(), quick=True)
    found = {one.check: one for one in report.findings}
    assert report.verdict is Verdict.MANY
    assert found["visibility"].level is Level.GOOD
    assert found["queue"].happened.startswith("not there yet")


@pytest.mark.parametrize("url", ["memory:", "http://127.0.0.1:9/q", "unix:/tmp/none/q", "nosuch://x"])
def test_what_has_no_storage_of_its_own_is_refused(url: str) -> None:
    with pytest.raises(BadInput):
        examine(url)
