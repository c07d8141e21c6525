"""What the doctor says of real servers: in order, or with a setting that is not good for a queue."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest

from children import environment
from dibs.doctor import Level, Verdict, examine
from dibs.doctor.servers import redis
from dibs.errors import BadInput
from doctor.broken import doctor, killed_midway, levels, name_of_one_gone, refusal, words
from doctor.pooler import Pooler
from git.clones import Team, git, hook
from postgres.places import url as postgres_url
from servers import ports, redis_server
from servers.server import Server
from sqs.server import Server as SqsServer

PROMISED_SECONDS = 30  # by the doctor's own count: a fault is named while somebody waits


def test_postgres_has_one_winner_and_is_left_as_it_was(postgres: Server) -> None:
    report = examine(postgres_url(postgres), quick=True)
    found = {one.check: one.level for one in report.findings}
    assert found.pop("durability") is Level.BAD  # the server of the tests runs without fsync, and the doctor sees it
    assert {"version", "isolation", "clock", "pooler", "one winner", "pace"} == set(found)
    assert set(found.values()) == {Level.GOOD}
    with psycopg.connect(postgres.endpoint) as connection:
        left = connection.execute("SELECT relname FROM pg_class WHERE relname LIKE 'dibs_doctor_%'").fetchall()
    assert [name for (name,) in left if f"_{os.getpid()}_" in name] == []  # others' tests run beside this one


def test_postgres_without_the_right_to_try_it_is_not_called_safe_for_many_hosts(postgres: Server) -> None:
    with psycopg.connect(postgres.endpoint, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'low'").fetchone():
            connection.execute("CREATE ROLE low LOGIN")
    report = examine(postgres_url(postgres).replace("//dibs@", "//low@"), quick=True)
    found = {one.check: one for one in report.findings}
    assert found["one winner"].level is Level.ONE_HOST
    assert "permission denied" in found["one winner"].happened and "GRANT CREATE" in found["one winner"].remedy
    report.findings.remove(found["durability"])  # the server of the tests runs without fsync
    assert report.verdict is Verdict.ONE


def test_a_pooler_is_found_though_it_keeps_one_session(postgres: Server) -> None:
    url = urlsplit(postgres.endpoint)
    with Pooler(url.port or 0) as pooler:
        place = postgres_url(postgres).replace(f":{url.port}/", f":{pooler.port}/")
        found = {one.check: one for one in examine(place, quick=True).findings}
        assert found["pooler"].level is Level.WARNING and "?pooler=yes" in found["pooler"].remedy
        assert found["one winner"].level is Level.GOOD, found["one winner"]
        found = {one.check: one for one in examine(f"{place}&pooler=yes", quick=True).findings}
        assert (found["pooler"].level, found["pooler"].happened) == (Level.GOOD, "as said")


def test_a_table_that_a_killed_doctor_left_is_dropped(postgres: Server) -> None:
    table = f"dibs_doctor_{name_of_one_gone('_')}"
    with psycopg.connect(postgres.endpoint, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {table} (id int)")
        examine(postgres_url(postgres), quick=True)
        left = connection.execute("SELECT 1 FROM pg_class WHERE relname = %s", (table,)).fetchall()
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


@pytest.mark.parametrize(
    ("fsync", "level", "said"),
    [("no", "warning", "never synced"), ("everysec", "good", "every second"), ("always", "good", "with every write")],
)
def test_how_often_redis_syncs_is_asked(tmp_path: Path, fsync: str, level: str, said: str) -> None:
    port = ports.free()
    with redis_server.running(tmp_path, port, "--save", "", "--appendonly", "yes", "--appendfsync", fsync):
        report = examine(f"redis://127.0.0.1:{port}/0?queue=q", quick=True)
    found = {one.check: one for one in report.findings}
    assert (found["persistence"].level, said in found["persistence"].happened) == (level, True)
    assert report.verdict is Verdict.MANY
    assert report.figures["tasks_per_second"] > 0 and "feeds" in report.advice[0]


def test_a_redis_replica_is_not_safe_and_said_so(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    first, second = ports.free(), ports.free()
    with (
        redis_server.running(tmp_path / "first", first),
        redis_server.running(tmp_path / "second", second, "--replicaof", "127.0.0.1", str(first)),
    ):
        code, report = doctor(f"redis://127.0.0.1:{second}/0?queue=q", "--quick")
    assert (code, report["verdict"]) == (1, "not safe")
    assert report["reason"].startswith("role: this is a replica") and report["remedy"] == "name the primary"
    assert report["seconds"] <= PROMISED_SECONDS


def test_interrupted_on_redis_it_clears_up(tmp_path: Path) -> None:
    import redis as driver

    port = ports.free()
    with redis_server.running(tmp_path, port), driver.Redis(port=port) as client:
        killed_midway(f"redis://127.0.0.1:{port}/0?queue=q", lambda: bool(client.keys("*doctor*")), signal.SIGINT)
        assert client.keys("*doctor*") == []


def test_redis_settings_that_lose_tasks_are_named() -> None:
    info = {"redis_version": "7.0", "role": "slave", "aof_enabled": "0", "maxmemory_policy": "allkeys-lru"}
    found = {one.check: one.level for one in redis._settings(info)}
    assert found["role"] is found["eviction"] is Level.BAD
    assert found["persistence"] is Level.WARNING


@pytest.mark.parametrize("place", ["redis://127.0.0.1:{}/0?queue=q", "postgres://u@127.0.0.1:{}/db?queue=q"])
def test_a_server_that_cannot_be_reached_is_no_verdict(place: str) -> None:
    assert "cannot be reached" in refusal(place.format(ports.free()))


def test_a_git_remote_that_cannot_be_reached_is_no_verdict(team: Team) -> None:
    team.start()
    team.remote.rename(team.remote.with_name("elsewhere"))
    refusal(f"specs:{team.folder}/first/.dibs/specs?git=refs")


def test_lmdb_is_for_one_host(tmp_path: Path) -> None:
    code, report = doctor(f"lmdb:{tmp_path}/q", "--quick")
    assert (code, report["verdict"]) == (0, "safe on one host")
    assert words(report, "transactions") == "each waited for the others"
    assert list(tmp_path.iterdir()) == [tmp_path / "gitconfig"]


def test_a_git_remote_has_one_winner_and_is_left_as_it_was(team: Team) -> None:
    team.start()
    left = f"refs/dibs/cells/doctor-{name_of_one_gone()}-1"
    git(team.remote, "update-ref", left, "main")
    code, report = doctor(f"specs:{team.folder}/first/.dibs/specs?git=refs", "--quick")
    assert (code, report["verdict"]) == (0, "safe for many hosts"), report["findings"]
    assert report["reason"].startswith("refs of the remote")
    assert "one winner each time" in words(report, "refs of the remote")
    assert words(report, "stale ref") == "refused"
    assert not [ref for ref in team.refs() if ref.startswith("refs/dibs/")]


def test_a_git_remote_that_takes_no_refs_is_not_safe(team: Team) -> None:
    team.start()
    hook(team.remote, "pre-receive", "exit 1")
    code, report = doctor(f"specs:{team.folder}/first/.dibs/specs?git=refs", "--quick")
    assert (code, report["verdict"]) == (1, "not safe")
    assert report["reason"].startswith("refs of the remote")
    assert report["seconds"] <= PROMISED_SECONDS


def test_sqs_hides_what_is_in_hand(sqs_server: SqsServer) -> None:
    report = examine(sqs_server.url(), quick=True)
    found = {one.check: one for one in report.findings}
    assert report.verdict is Verdict.MANY
    assert found["visibility"].level is Level.GOOD
    assert found["queue"].happened.startswith("not there yet")


def test_a_queue_that_a_killed_doctor_left_is_deleted(sqs_server: SqsServer) -> None:
    client = sqs_server.client()
    client.create_queue(QueueName=f"dibs-doctor-{name_of_one_gone()}")
    examine(sqs_server.url(), quick=True)
    assert client.list_queues(QueueNamePrefix="dibs-doctor-").get("QueueUrls", []) == []


@pytest.mark.parametrize(
    ("target", "most", "level", "said"),
    [("letters", 3, Level.NOTE, "given out 3 times"), ("letters", 20, Level.GOOD, "which is there"),
     ("nothing", 20, Level.WARNING, "is not there")],
)  # fmt: skip
def test_where_sqs_puts_dead_letters_is_looked_up(
    sqs_server: SqsServer, target: str, most: int, level: Level, said: str
) -> None:
    client, name = sqs_server.client(), f"q-{uuid4().hex[:12]}"
    letters = client.create_queue(QueueName=f"{name}-letters")["QueueUrl"]
    arn = client.get_queue_attributes(QueueUrl=letters, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": most})
    client.create_queue(QueueName=name, Attributes={"RedrivePolicy": policy})
    if target == "nothing":
        client.delete_queue(QueueUrl=letters)
    found = {one.check: one for one in examine(sqs_server.url(name), quick=True).findings}
    assert found["dead letters"].level is level and said in found["dead letters"].happened, found["dead letters"]


@pytest.mark.parametrize("url", ["memory:", "http://127.0.0.1:9", "unix:/q", "nosuch://x"])
def test_what_has_no_storage_of_its_own_is_refused(url: str) -> None:
    with pytest.raises(BadInput):
        examine(url)


@pytest.mark.parametrize(
    ("kind", "verdict", "check", "level", "said"),
    [("newfs", "safe on one host", "disk", "note", "not known here"),
     ("", "safe on one host", "disk", "note", "not known here"),
     ("nfs4", "not safe", "map", "bad", "is a network file system")],
)  # fmt: skip
def test_lmdb_is_refused_on_what_is_known_to_be_a_share_alone(
    tmp_path: Path, kind: str, verdict: str, check: str, level: str, said: str
) -> None:
    command = [sys.executable, "-m", "doctor.pretend", kind, "doctor", f"lmdb:{tmp_path}/q", "--quick", "--json"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    report = json.loads(done.stdout)
    found = {one["check"]: one for one in report["findings"]}
    assert (report["verdict"], found[check]["level"]) == (verdict, level), report["findings"]
    assert said in found[check]["happened"]
