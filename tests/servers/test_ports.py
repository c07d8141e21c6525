"""Ports that nobody gets by chance."""

import subprocess
import sys
from pathlib import Path

from children import environment
from servers import ports

ASK = """
from servers import ports
print(*[ports.free() for _ in range(60)], *ports.free_with_grpc(4), flush=True)
input()
"""


def test_no_two_processes_have_the_same_and_no_client_gets_one() -> None:
    mine = [ports.free() for _ in range(60)]
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", ASK], env=environment(), stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout is not None
        theirs = list(map(int, other.stdout.readline().split()))
        more = [ports.free() for _ in range(60)]
        other.communicate("\n")
    both = [*mine, *theirs, *more]
    assert len(set(both)) == len(both) == 184
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert max(both) + ports.GRPC < lowest
