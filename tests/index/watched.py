"""`python -m index.watched FOLDER`: dibs index compact --watch that stops in the middle of a merge, with the lock."""

import sys

from dibs import cli
from dibs.index.compactor import Compactor
from index.crooked_hand import wait

if __name__ == "__main__":
    Compactor._prepared = lambda *_: wait()  # type: ignore[assignment, method-assign, func-returns-value]
    sys.exit(cli.main(["index", "compact", sys.argv[1], "--watch"]))
