"""The same with faketime, which changes what the C library says: no part of dibs may ask for the time by another way.

It is told to leave the monotonic clocks and the times of files alone: those a wrong clock does not change either.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hosts.test_wrong_clocks import problems

HONEST = ["env", "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1"]


def test_a_faked_clock_neither_loses_nor_steals(tmp_path: Path) -> None:
    def run(offset: str) -> list[str]:
        folder = tmp_path / offset
        folder.mkdir()
        return problems(folder, 0.0, 0.0, under=[*HONEST, "faketime", "-f", offset])

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, ["+1h", "-1h"])) == [[], []]
