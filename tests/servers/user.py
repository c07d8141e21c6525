"""A process that uses a server until its input ends: `python -m servers.user KIND FOLDER` prints where it is."""

import sys
from pathlib import Path

from servers import shared

if __name__ == "__main__":
    with shared.use(sys.argv[1], Path(sys.argv[2])) as server:
        print(server.endpoint, flush=True)
        sys.stdin.read()
