"""A bucket that is right is called so; each kind of broken front is found and named. On a real server."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from dibs.doctor.buckets.ground import BUDGET_SECONDS, Ground
from dibs.testing import ManualClock
from doctor.broken import doctor, killed_midway, levels, refusal, words
from doctor.broken_front import BrokenFront
from servers import ports, rclone_server
from servers.faults import Fault, Faults, Rule
from servers.server import READER, Server

PROMISED_SECONDS = 30  # by the doctor's own count: a fault is named while somebody waits
LAGS = {"chances": {Fault.LAG: 1.0}, "lag_seconds": 2.5}


def _nine_of_ten(fault: Fault, kind: str = "create") -> dict[str, Any]:
    return {"rules": [Rule(fault, (kind,), nth=first, times=9) for first in range(1, 5000, 10)]}


def _hangs(kind: str) -> dict[str, Any]:
    return {"rules": [Rule(Fault.STALL, (kind,), times=10**6)], "stall_seconds": 300.0}


def _creating(status: int) -> dict[str, Any]:
    return {"says": {"create": status}}


def _replacing(status: int) -> dict[str, Any]:
    return {"says": {"replace": status}}


FRONTS: dict[str, tuple[dict[str, Any], dict[str, Any], str, str, str, str]] = {
    "ignores If-None-Match": ({"ignores": "create"}, {}, "If-None-Match: *", "bad", "condition is ignored", "not safe"),
    "ignores If-Match": ({"ignores": "replace"}, {}, "If-Match", "bad", "condition is ignored", "not safe"),
    "If-Match after the fact": ({"afterwards": "replace"}, {}, "If-Match", "bad", "after the fact", "not safe"),
    "listing lags": ({}, LAGS, "listing new objects", "warning", "it lags", "safe for many hosts"),
    "If-None-Match is 501": (_creating(501), {}, "If-None-Match: *", "bad", "not offered (HTTP 501)", "not safe"),
    "If-None-Match is 400": (_creating(400), {}, "If-None-Match: *", "bad", "not offered (HTTP 400)", "not safe"),
    "If-None-Match is 412": (_creating(412), {}, "If-None-Match: *", "bad", "that another was first", "not safe"),
    "If-None-Match is 409": (_creating(409), {}, "If-None-Match: *", "bad", "that another was first", "not safe"),
    "If-None-Match is 500": (_creating(500), {}, "If-None-Match: *", "bad", "were told HTTP 500", "not safe"),
    "If-Match is 501": (_replacing(501), {}, "If-Match", "bad", "not offered (HTTP 501)", "not safe"),
    "If-Match is 400": (_replacing(400), {}, "If-Match", "bad", "not offered (HTTP 400)", "not safe"),
    "If-Match is 412": (_replacing(412), {}, "If-Match", "bad", "that another was first", "not safe"),
    "If-Match is 500": (_replacing(500), {}, "If-Match", "bad", "were told HTTP 500", "not safe"),
    "most plain writes are 500": (
        {},
        _nine_of_ten(Fault.ERROR, "put"),
        "answers to writes",
        "bad",
        "HTTP 500",
        "not safe",
    ),
    "plain writes are 500": ({"says": {"put": 500}}, {}, "answers to writes", "bad", "HTTP 500", "not safe"),
    "most creates are 500": ({}, _nine_of_ten(Fault.ERROR), "If-None-Match: *", "bad", "had none", "not safe"),
    "most are confirmed by 500": (
        {},
        _nine_of_ten(Fault.ERROR_LATE),
        "If-None-Match: *",
        "bad",
        "to nobody it was confirmed",
        "not safe",
    ),
    "If-None-Match hangs": ({}, _hangs("create"), "If-None-Match: *", "bad", "told no answer", "not safe"),
    "If-Match hangs": ({}, _hangs("replace"), "If-Match", "bad", "told no answer", "not safe"),
    "a stale If-Match is 500": ({"mumbles": True}, {}, "stale If-Match", "bad", "HTTP 500", "not safe"),
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
    rules, chances = faults.get("rules", ()), {name: faults[name] for name in faults if name != "rules"}
    with BrokenFront(seaweed, bucket, faults=Faults(*rules, **chances), **front) as proxy:
        code, report = doctor(seaweed.url(bucket, endpoint=proxy.endpoint))
    found = levels(report)
    assert found.get(check) == level, report["findings"]
    assert report["seconds"] <= PROMISED_SECONDS
    assert said in words(report, check)
    assert (code, report["verdict"]) == (verdict == "not safe", verdict)


@pytest.mark.parametrize("seed", range(4))
def test_errors_that_took_effect_are_found_and_named_whichever_they_meet(seed: int, seaweed: Server) -> None:
    bucket = seaweed.bucket()
    faults = Faults(chances={Fault.ERROR_LATE: 0.15}, seed=seed)
    with BrokenFront(seaweed, bucket, faults=faults) as proxy:
        code, report = doctor(seaweed.url(bucket, endpoint=proxy.endpoint), "--quick")
    assert (code, report["verdict"]) == (0, "safe for many hosts"), report["findings"]
    found = [one for one in report["findings"] if "took effect" in one["happened"]]
    assert found and all(one["level"] == "warning" for one in found), report["findings"]
    assert keys(seaweed, bucket) == []


def test_a_listing_that_lags_for_long_is_named_in_time_and_hides_nothing_from_clearing_up(seaweed: Server) -> None:
    bucket = seaweed.bucket()
    with BrokenFront(seaweed, bucket, faults=Faults(chances={Fault.LAG: 1.0}, lag_seconds=5.0)) as proxy:
        _, report = doctor(seaweed.url(bucket, endpoint=proxy.endpoint))
    assert "it lags" in words(report, "listing new objects")
    assert report["seconds"] <= PROMISED_SECONDS
    assert next(one for one in report["findings"] if one["check"] == "listing new objects")["tried"] == "once"
    assert keys(seaweed, bucket) == []


def test_a_store_that_ignores_conditions_is_named_without_a_race(tmp_path: Path) -> None:
    with rclone_server.serving(tmp_path) as rclone:  # one that others use may hang: it can forget folders for ever
        code, report = doctor(rclone.url(rclone.bucket()), "--quick")
    assert (code, report["verdict"]) == (1, "not safe")
    assert report["reason"].startswith("If-None-Match: *") and "condition is ignored" in report["reason"]
    assert report["seconds"] <= PROMISED_SECONDS


def test_what_a_killed_doctor_left_is_removed_by_the_next(seaweed: Server) -> None:
    bucket = seaweed.bucket()
    killed_midway(seaweed.url(bucket), lambda: bool(keys(seaweed, bucket)))
    assert keys(seaweed, bucket)
    doctor(seaweed.url(bucket), "--quick")
    assert keys(seaweed, bucket) == []


def test_it_asks_for_the_date_and_says_what_it_did_not_try(seaweed: Server) -> None:
    _, report = doctor(seaweed.url(seaweed.bucket()), "--quick")
    found = {one["check"]: one for one in report["findings"]}
    assert found["clock"]["tried"] == "by Date"
    assert found["LastModified"]["happened"].endswith("in a listing")
    assert found["conditional delete"]["tried"] == "not tried"


def test_a_bucket_that_is_not_there_is_said_in_one_line(seaweed: Server) -> None:
    assert "there is no such bucket; create it first" in refusal(seaweed.url("no-such-bucket-here"))


def test_a_server_that_is_not_there_is_said_in_plain_words(seaweed: Server) -> None:
    line = refusal(seaweed.url("none", endpoint=f"http://127.0.0.1:{ports.free()}"))
    assert "cannot reach" in line and "Error:" not in line
    assert line.endswith("; check the network and the endpoint")


def test_a_bucket_that_may_not_be_written_is_no_verdict(seaweed: Server) -> None:
    assert "no permission" in refusal(seaweed.url(seaweed.bucket(), access_key=READER[0], secret_key=READER[1]))


def test_a_slow_store_is_tried_in_fewer_rounds_and_not_beyond_its_time() -> None:
    clock, crew = ManualClock(), Mock()
    slow = Mock(put=lambda *_: (clock.advance(0.6), "tag"))
    ground = Ground(slow, crew, clock, set(), quick=False)
    assert (ground.step, ground.rounds(100)) == (1.0, 4)
    quick = Mock(put=lambda *_: (clock.advance(0.01), "tag"))
    assert Ground(quick, crew, clock, set(), quick=False).rounds(100) == 100
    clock.advance(BUDGET_SECONDS)
    assert ground.left() == 0.0


def keys(server: Server, bucket: str) -> list[str]:
    return [str(meta["path"]) for page in server.store(bucket).list() for meta in page]
