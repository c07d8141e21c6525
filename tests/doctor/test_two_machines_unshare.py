"""Two hosts that examine a place together find out what one alone cannot, and what they found stays."""

import sys
from pathlib import Path

from doctor.broken import words
from doctor.together import begun, joined
from hosts.machine import Machine

UNKNOWN = ("-m", "doctor.pretend", "newfs", "doctor")


def test_what_is_not_known_is_safe_for_many_when_hosts_that_joined_found_it_so(tmp_path: Path) -> None:
    place = tmp_path / "share"
    place.mkdir()
    with (
        Machine("one", tmp_path) as one,
        Machine("two", tmp_path) as two,
        begun(str(place), place, one.run(sys.executable, *UNKNOWN)) as host,
        joined(str(place), host.code, two.run(sys.executable, *UNKNOWN)) as joiner,
    ):
        report = host.report()
        _, said = joiner.communicate(timeout=60)
    assert joiner.returncode == 0, said
    assert (host.run.returncode, report["verdict"]) == (0, "safe for many hosts"), report["findings"]
    assert "2 hosts" in next(one["tried"] for one in report["findings"] if one["check"] == "contested rename, hosts")
    assert "one winner each time; this host won" in words(report, "contested rename, hosts")
    assert report["note"] == f"{place}/.dibs-doctor.json"
