"""A file system with one fault is found out, and its fault named, within 30 s. One without is not blamed."""

from pathlib import Path

import pytest

from doctor.broken import doctor, levels, library, words

ATOMIC = {"contested rename": "bad", "atomic rename": "bad", "replacing rename": "bad"}
# fault -> (what must be found, in which words, the verdict)
FAULTS = {
    "create": ({"exclusive create": "bad"}, "several winners", "not safe"),
    "link": ({"exclusive link": "bad"}, "several winners", "not safe"),
    "rename": (ATOMIC, "several winners", "not safe"),
    "frozen": ({"time stamps": "bad"}, "stands still", "not safe"),
    "locks": ({"locks": "bad"}, "additions were lost", "not safe"),
    "listing": ({"listing new files": "warning"}, "it lags: up to", "safe on one host"),
    "clock": ({"clock": "warning"}, "1.0 h ahead of this host's", "safe on one host"),
    "unsynced": ({"sync": "warning"}, "faster than a disk", "safe on one host"),
    "slow": ({"sync": "warning"}, "a slow disk", "safe on one host"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_found_and_named(fault: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    expected, said, verdict = FAULTS[fault]
    preload = str(library(tmp_path_factory.getbasetemp()))
    code, report = doctor(str(tmp_path), "--quick", LD_PRELOAD=preload, DIBS_BROKEN=fault)
    found = levels(report)
    assert expected.items() <= found.items(), report["findings"]
    first = next(iter(expected))
    assert said in words(report, first)
    assert report["verdict"] == verdict
    assert code == (verdict == "not safe")
    if verdict == "not safe":
        assert report["reason"].startswith(first) and report["remedy"]


def test_the_same_without_a_fault_is_in_order(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    preload = str(library(tmp_path_factory.getbasetemp()))
    code, report = doctor(str(tmp_path), "--quick", LD_PRELOAD=preload, DIBS_BROKEN="none")
    assert code == 0
    assert report["verdict"] != "not safe"
    assert not [check for check, level in levels(report).items() if level == "bad"]
