"""Moves tasks in a process of its own, to be killed, and says when it starts. Run as a script:

python -m moving.carrier SOURCE PATH TARGET PATH      kind and path of each queue
"""

import sys

from dibs.moving import move
from moving.places import open_place

if __name__ == "__main__":
    one, source, other, target = sys.argv[1:]
    print("go", flush=True)
    report = move(open_place(one, source), open_place(other, target))
    sys.exit(0 if report.verified else 1)
