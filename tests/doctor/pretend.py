"""`python -m doctor.pretend KIND COMMAND…`: dibs as if all folders were on this kind of file system."""

import sys

from dibs import mounts
from dibs.cli import main
from dibs.doctor.folders import mounts as doctors


def as_if(kind: str) -> None:
    mounts.kind_of = lambda path, mounts="": kind
    doctors._named = lambda *_: (kind, kind)


if __name__ == "__main__":
    as_if(sys.argv.pop(1))
    sys.exit(main())
