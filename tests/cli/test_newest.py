"""`dibs list --newest`."""

from pathlib import Path

import dibs as library
from cli.conftest import Run
from serve.test_newest import ended


def test_what_ended_last_is_listed_first(dibs: Run, tmp_path: Path) -> None:
    with library.open(f"file:{tmp_path}/q") as queue:
        expected = ended(queue, 10)
    for state, ids in expected.items():
        lines = dibs("list", "q", "--state", state, "--newest", "--json", "--limit", "2").lines
        assert [line["id"] for line in lines] == ids[:2]
    assert [line["id"] for line in dibs("list", "q", "--newest", "--json").lines] == expected["completed"]
    refused = dibs("list", "q", "--state", "ready", "--newest")
    assert refused.code != 0
    assert "not the end of a task" in refused.err
