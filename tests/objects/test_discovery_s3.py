"""Some of the contract on `s3://`, against a real server, for each way to find ready tasks.

The whole of it runs over the memory store in `test_discovery_contract`, and by listing in `tests/contract/test_s3`.
"""

from contract.test_s3 import OnBucket
from dibs.testing.topics.filters import Filters
from dibs.testing.topics.races import Races
from dibs.testing.topics.waiting import Waiting

SETTINGS = {"fresh": 0.3, "relist": 0.3, "upkeep": 0.02, "idle": 0.05, "timeout": 60}
RUN = [
    "test_processes_take_stale_leases_over_once",
    "test_waiting_finds_what_becomes_due",
    "test_waiting_finds_what_expires",
    "test_one_claimer_may_change_its_filter",
]


class OnS3(OnBucket, Races, Waiting, Filters):
    server = "seaweed"
    race_tasks = 30

    def way(self) -> dict[str, object]:
        raise NotImplementedError

    def place(self) -> str:
        return self._server.url(*self._place, **SETTINGS, **self.way())


for _name in [name for name in dir(OnS3) if name.startswith("test_") and name not in RUN]:
    setattr(OnS3, _name, None)


class TestMirror(OnS3):
    def way(self) -> dict[str, object]:
        return {"mirror": f"{self.tmp_path}/m"}


class TestManifest(OnS3):
    def way(self) -> dict[str, object]:
        return {"discover": "manifest"}


class TestAnotherQueue(OnS3):
    def way(self) -> dict[str, object]:
        return {"discover": f"file:{self.tmp_path}/names?sync=off"}


def test_every_test_named_here_exists() -> None:
    assert [name for name in RUN if getattr(OnS3, name, None) is None] == []
