"""Push to `dir:`: a new file in the folder."""

import json
from typing import Any

import pytest
from directory_folder import Folder, drain

from dibs.errors import BadInput, Refused, Unsupported
from dibs.states import State


def test_push_writes_a_file(folder: Folder) -> None:
    queue = folder.open()
    task = queue.push({"tile": 3}, key="tiles/3.json")
    assert (task.id, task.state, task.duplicate) == ("tiles/3.json", State.READY, False)
    assert json.loads((folder.root / "tiles/3.json").read_text()) == {"tile": 3}
    again = queue.push({"tile": 4}, key="tiles/3.json")
    assert again.duplicate and json.loads((folder.root / "tiles/3.json").read_text()) == {"tile": 3}
    unnamed = queue.push([1])
    assert json.loads((folder.root / unnamed.id).read_text()) == [1]
    assert set(drain(queue)) == {"tiles/3.json", unnamed.id}  # at once: nobody is still writing them


def test_push_of_a_completed_key(folder: Folder) -> None:
    queue = folder.open()
    queue.push({"tile": 3}, key="3")
    drain(queue)
    assert queue.push({"tile": 3}, key="3", unique="completed").duplicate
    with pytest.raises(Refused, match="remove its witness"):
        queue.push({"tile": 4}, key="3")
    again = queue.push({"tile": 3}, key="3")
    assert (again.duplicate, again.state) == (False, State.READY)
    assert drain(queue) == {"3": 2}
    (folder.done / "3").write_text("somebody's own")
    with pytest.raises(Refused, match="remove its witness"):
        queue.push({"tile": 3}, key="3")
    assert (folder.done / "3").read_text() == "somebody's own"


@pytest.mark.parametrize(
    "key", ["../x", "/abs", "a//b", ".hidden", "a/.b", "x~", "x.tmp", "x.part", "..", "a\0b", "%41"]
)
def test_push_refuses_keys_that_are_no_file_names(folder: Folder, key: str) -> None:
    with pytest.raises(BadInput, match="not acceptable"):
        folder.open().push(1, key=key)
    assert folder.snapshot() == {}


@pytest.mark.parametrize(
    "more",
    [{"priority": "high"}, {"project": "p"}, {"labels": ["x"]}, {"delay": 1}, {"after": ["a"]}, {"max_attempts": 9}],
    ids=str,
)
def test_push_refuses_what_a_file_cannot_have(folder: Folder, more: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match="file: queue"):
        folder.open().push(1, **more)
