"""A bucket that is right is called so; each kind of broken front is found and named. On a real server."""

from typing import Any

import pytest

from doctor.broken import doctor, levels, words
from doctor.broken_front import BrokenFront
from servers.faults import Fault, Faults
from servers.server import Server

LATE = {"chances": {Fault.ERROR_LATE: 0.15}}
LAGS = {"chances": {Fault.LAG: 1.0}, "lag_seconds": 2.5}
FRONTS: dict[str, tuple[dict[str, Any], dict[str, Any], str, str, str, str]] = {
    "ignores If-None-Match": ({"ignores": "create"}, {}, "If-None-Match: *", "bad", "condition is ignored", "not safe"),
    "ignores If-Match": ({"ignores": "replace"}, {}, "If-Match", "bad", "condition is ignored", "not safe"),
    "If-Match after the fact": ({"afterwards": "replace"}, {}, "If-Match", "bad", "after the fact", "not safe"),
    "500 after writing": ({}, LATE, "If-None-Match: *", "warning", "took effect", "safe for many hosts"),
    "listing lags": ({}, LAGS, "listing new objects", "warning", "it lags", "safe for many hosts"),
}


def test_a_real_server_is_safe_for_many_hosts_and_left_as_it_was(seaweed: Server) -> None:
    bucket = seaweed.bucket()
    code, report = doctor(seaweed.url(bucket), "--quick")
    assert (code, report["verdict"], levels(report)) == (0, "safe for many hosts", {})
    assert list(seaweed.store(bucket).list()) == []
    assert seaweed.secret_key not in str(report)


@pytest.mark.parametrize("fault", FRONTS)
def test_a_broken_front_is_found_and_named(fault: str, seaweed: Server) -> None:
    front, faults, check, level, said, verdict = FRONTS[fault]
    bucket = seaweed.bucket()
    with BrokenFront(seaweed, bucket, faults=Faults(**faults), **front) as proxy:
        code, report = doctor(seaweed.url(bucket, endpoint=proxy.endpoint), "--quick")
    found = levels(report)
    assert found.get(check) == level, report["findings"]
    assert said in words(report, check)
    assert (code, report["verdict"]) == (verdict == "not safe", verdict)


def test_a_bucket_that_is_not_there_is_said_in_one_line(seaweed: Server) -> None:
    code, report = doctor(seaweed.url("no-such-bucket-here"), "--quick")
    assert code == 1
    assert "no such bucket" in report["reason"]
