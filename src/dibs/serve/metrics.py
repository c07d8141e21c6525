"""What the daemon counts, for Prometheus: in the event loop alone, in plain dictionaries; `exposition` writes it
out. `METRICS` is the list of all there is, by which documents and dashboards are checked.
"""

from bisect import bisect_left
from collections import defaultdict
from typing import Any

# name -> (kind, labels, what it says)
METRICS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "dibs_tasks": ("gauge", ("queue", "state"), "tasks by state"),
    "dibs_oldest_ready_seconds": ("gauge", ("queue",), "how long the oldest of the next ready tasks has been there"),
    "dibs_workers": ("gauge", ("queue",), "workers that hold something"),
    "dibs_paused": ("gauge", ("queue",), "1 while nothing may be claimed"),
    "dibs_heartbeat_lag_seconds": ("gauge", ("queue",), "how long ago the longest silent holder was heard"),
    "dibs_queue_up": ("gauge", ("queue",), "1 when the queue behind answers"),
    "dibs_sessions": ("gauge", ("queue",), "workers that are connected"),
    "dibs_waiting_claims": ("gauge", ("queue",), "claims that wait for a task"),
    "dibs_steps_total": ("counter", ("queue", "step", "outcome"), "steps by what came of them"),
    "dibs_claimed_total": ("counter", ("queue",), "tasks given to workers through this daemon"),
    "dibs_takeovers_total": ("counter", ("queue",), "of those, tasks whose earlier holder had died or fallen silent"),
    "dibs_leases_lost_total": ("counter", ("queue",), "steps refused because the lease was another's already"),
    "dibs_sessions_dropped_total": ("counter", ("queue",), "sessions that broke off and did not come back"),
    "dibs_claim_seconds": ("histogram", ("queue",), "from a claim's arrival, or its waking, to its answer"),
    "dibs_store_requests_total": ("counter", ("queue", "kind"), "requests to the bucket or the server behind"),
    "dibs_http_requests_total": ("counter", ("route", "status"), "requests by route and status"),
    "dibs_http_request_seconds": ("histogram", ("route",), "from a request's arrival to its answer; without streams"),
    "dibs_rate_limited_total": ("counter", (), "requests refused for coming too fast"),
}
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
Labels = tuple[str, ...]


class Histogram:
    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds


class Metrics:
    def __init__(self) -> None:
        self.counts: dict[str, dict[Labels, float]] = defaultdict(lambda: defaultdict(float))
        self.spans: dict[str, dict[Labels, Histogram]] = defaultdict(lambda: defaultdict(Histogram))

    def asked(self, route: str, status: int, seconds: float | None) -> None:
        """A request is over; `seconds`: None for a stream."""
        self.counts["dibs_http_requests_total"][route, str(status)] += 1
        if seconds is not None:
            self.spans["dibs_http_request_seconds"][route,].add(seconds)

    def stepped(self, queue: str, step: str, outcome: str) -> None:
        self.counts["dibs_steps_total"][queue, step, outcome] += 1
        if outcome == "lease-lost":
            self.counts["dibs_leases_lost_total"][queue,] += 1

    def claimed(self, queue: str, leases: list[dict[str, Any]], seconds: float) -> None:
        """`leases` as they are shown to the client."""
        self.spans["dibs_claim_seconds"][queue,].add(seconds)
        self.counts["dibs_claimed_total"][queue,] += len(leases)
        taken = sum(lease["task"]["deaths"] > 0 for lease in leases)
        if taken:
            self.counts["dibs_takeovers_total"][queue,] += taken

    def count(self, name: str, *labels: str) -> None:
        self.counts[name][labels] += 1
