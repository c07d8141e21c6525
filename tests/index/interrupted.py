"""`python -m index.interrupted FOLDER`: dibs index compact --all that leaves nearly all to others, until Ctrl-C."""

import sys
from itertools import islice

from dibs import cli
from dibs.index import crew, hand, passes

if __name__ == "__main__":
    passes.TRIED, passes.WORTH_SECONDS, crew.HAND = 1, -1.0, "index.crooked_hand"
    crew.Crew.names = lambda self: islice(hand.names(self._list.fileno(), self._width), 1)  # type: ignore[method-assign]
    sys.exit(cli.main(["index", "compact", sys.argv[1], "--all", "--jobs", "3"]))
