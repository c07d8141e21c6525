"""A claimer that sleeps in the middle of a claim leaves nothing behind that nobody holds."""

from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.queues.specs.pages import FilePages, Page
from dibs.testing import ManualClock


def test_a_claim_that_runs_out_while_its_file_is_written_is_nobodys(
    quick_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = quick_folder / ".dibs" / "specs"
    specs.mkdir(parents=True)
    page = b"---\nstatus: pending\n---\n# A\n"
    (specs / "a.md").write_bytes(page)
    clock = ManualClock()
    slow, quick = (dibs.open(f"specs:{specs}", clock=clock) for _ in range(2))
    change = FilePages.change
    slept = []

    def sleepy(pages: FilePages, page: Page, changes: Any) -> Page:
        if not slept:
            slept.append(True)
            clock.advance(120)
            assert quick.claim() is None  # it is not to be had while somebody may be writing to it
        return change(pages, page, changes)

    monkeypatch.setattr(FilePages, "change", sleepy)
    assert slow.claim(ttl=60) is None
    assert slept
    assert (specs / "a.md").read_bytes() == page
    assert not list(quick_folder.glob(".dibs/.locks/*.pid"))
    lease = quick.claim()
    assert lease is not None
    assert lease.epoch == 2
    lease.complete()
