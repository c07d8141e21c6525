"""A long run, outside CI: python -m tests.team --mode push --specs 300 --seed 7"""

import os
import sys

from tests.children import command, environment

if __name__ == "__main__":
    os.execve(sys.executable, command("team.run", *sys.argv[1:]), environment())
