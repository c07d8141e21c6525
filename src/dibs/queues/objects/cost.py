"""What the steps of a plain task ask of a bucket (a test counts them), and what that comes to in money."""

from typing import Any

from dibs.stores.meter import KINDS, PRICES, dollars

STEPS: dict[str, dict[str, int]] = {
    "push": {"put": 1},
    "claim": {"put": 1, "get": 1},
    "complete": {"put": 2},
    "renew": {"put": 1},
}
TASK = ("push", "claim", "complete")


def of_steps(*steps: str) -> dict[str, int]:
    return {kind: sum(STEPS[step].get(kind, 0) for step in steps) for kind in KINDS}


def estimate(counts: dict[str, int], idle: float) -> dict[str, Any]:
    """`counts`: what this process has asked so far. `idle`: seconds for each listing of a worker that finds nothing."""
    task, listings = of_steps(*TASK), round(3600 / idle) if idle else None
    return {
        "prices": dict(PRICES),
        "task": {"requests": sum(task.values()), **task, "dollars": dollars(task)},
        "renewal": {"requests": 1, "dollars": dollars(of_steps("renew"))},
        "idle_hour": None if listings is None else {"list": listings, "dollars": dollars({"list": listings})},
        "this_command": {**counts, "dollars": dollars(counts)},
    }
