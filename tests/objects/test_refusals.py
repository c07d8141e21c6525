"""What does not work is said in one line that names it, and never prints a secret."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import dibs
from dibs.errors import BadInput, StorageError
from servers.proxy import FaultProxy
from servers.server import READER, Server
from waiting import LONG_PATIENCE, PATIENCE

Url = Callable[..., str]


def refusal(url: str, error: type[Exception] = StorageError) -> str:
    with pytest.raises(error) as caught:
        dibs.open(url).push(1)
    text = str(caught.value)
    assert "\n" not in text and "s3cr3t" not in text
    return text


def test_a_store_that_ignores_conditions_is_refused(rclone: Server) -> None:
    url = rclone.url(rclone.bucket(), timeout=90)  # asked a second time, for want of an answer, it would stall for ever
    assert "ignores the conditions of writes" in refusal(url)


def test_a_bucket_that_is_not_there(moto: Server) -> None:
    assert "there is no such bucket" in refusal(moto.url("nobody-made-this"))


def test_wrong_credentials(seaweed: Server, bucket: str) -> None:
    assert "secret key does not fit" in refusal(seaweed.url(bucket, secret_key="s3cr3t-but-wrong"))
    assert "access key is not known" in refusal(seaweed.url(bucket, access_key="AKNOBODY"))


def test_no_permission(seaweed: Server, bucket: str) -> None:
    url = seaweed.url(bucket, "queues/closed", access_key=READER[0], secret_key=READER[1])
    assert "no permission" in refusal(url)


def test_the_network_is_away(url: Url, proxy: FaultProxy) -> None:
    queue = dibs.open(url(endpoint=proxy.endpoint, patience=0.3))
    queue.push(1)
    lease = queue.claim()
    assert lease is not None
    proxy.cut()
    with pytest.raises(StorageError, match="cannot reach"):
        queue.push(2)
    with pytest.raises(StorageError, match="cannot reach"):
        lease.complete()
    proxy.mend()
    lease.complete()
    assert queue.stats().states["completed"] == 1


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("s3://", "needs a bucket"),
        ("s3://bucket", "names no queue"),
        ("s3://bucket/a/../b", "not acceptable"),
        ("s3://bucket/q?access_key=AK", "no secret_key"),
        ("s3://bucket/q?fresh=soon", "number of seconds"),
        ("s3://bucket/q?color=red", "known: region, endpoint"),
        ("s3://bucket/q?profile=nobody-has-this", "no AWS profile"),
    ],
)
def test_a_wrong_url_is_told_what_is_wrong(url: str, text: str) -> None:
    assert text in refusal(url, BadInput)


def test_a_profile_has_the_keys(
    seaweed: Server, bucket: str, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "credentials"
    file.write_text(f"[work]\naws_access_key_id = {seaweed.access_key}\naws_secret_access_key = {seaweed.secret_key}\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    task = dibs.open(f"s3://{bucket}/{prefix}?profile=work&endpoint={seaweed.endpoint}").push(1)
    assert dibs.open(seaweed.url(bucket, prefix)).get(task.id).payload == 1


FROZEN = """
import sys, dibs
from dibs.errors import LeaseLost
queue = dibs.open(sys.argv[1])
lease = queue.claim(ttl=1)
print("claimed", flush=True)
sys.stdin.readline()
try:
    lease.complete()
    print("completed")
except LeaseLost as error:
    print("refused")
"""


def test_a_worker_frozen_past_its_lease_is_refused(url: Url) -> None:
    place = url(fresh=0.1, upkeep=0.1, idle=0.1)
    queue = dibs.open(place)
    queue.push(1)
    worker = subprocess.Popen(
        [sys.executable, "-c", FROZEN, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None and worker.stdout.readline() == "claimed\n"
    worker.send_signal(signal.SIGSTOP)
    lease = queue.claim(wait=30)
    assert lease is not None and lease.epoch == 2
    worker.send_signal(signal.SIGCONT)
    out, _ = worker.communicate("\n", timeout=PATIENCE)
    assert out == "refused\n"
    lease.complete()


START = "import sys, dibs; q = dibs.open(sys.argv[1]); q.push(1); l = q.claim(); l and l.complete()"


def test_sixteen_workers_start_on_one_empty_bucket(url: Url) -> None:
    runs = [subprocess.Popen([sys.executable, "-c", START, url(timeout=60)]) for _ in range(16)]
    assert [run.wait(timeout=LONG_PATIENCE) for run in runs] == [0] * 16
    queue = dibs.open(url())
    while (lease := queue.claim()) is not None:
        lease.complete()
    assert queue.stats().states["completed"] == 16
