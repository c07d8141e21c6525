"""Dependencies: three parts in any order, then what needs all of them, then what needs that.

python examples/pipeline.py queues/pipeline
"""

import sys

import dibs


def main(place: str) -> None:
    with dibs.open(place) as queue:
        parts = [queue.push({"load": name}, key=f"load-{name}") for name in ("orders", "customers", "items")]
        queue.push({"join": "all"}, key="join", after=[part.id for part in parts])
        queue.push({"report": "weekly"}, key="report", after=["join"], priority="high")
        print(queue.why("report").text)
        for lease in queue.claims():
            with lease:
                print(lease.task.key, flush=True)
        print(queue.why("report").text)


if __name__ == "__main__":
    main(*sys.argv[1:])
