"""A process of the doctor: `python -m dibs.doctor.member MODULE`. Does what it is told on its standard input.

The first line says where. Each further one is an order and gets one line of answer.
"""

import json
import sys
from importlib import import_module

from dibs.errors import DibsError


def main(module: str) -> None:
    place = json.loads(sys.stdin.readline())
    acts = import_module(module).Acts(place)
    for line in sys.stdin:
        order = json.loads(line)
        said = {"order": order.pop("order")}
        try:
            said["answer"] = getattr(acts, order.pop("act"))(**order)
        except Exception as error:  # told to whoever asked; nobody else would hear of it
            said["error"] = str(error) if isinstance(error, DibsError) else f"{type(error).__name__}: {error}"
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
