"""What commands that run only for a moment remember of silent workers on other hosts.

Whether such a worker is gone is found out by watching it for its TTL (see `liveness`). A long-lived worker
watches by itself; a one-shot `dibs claim` goes on from what the one before it saw on this boot.
"""

from dibs.errors import BadInput
from dibs.queues.files.parts import Parts
from dibs.task import decode, encode


class Memory:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        boot = "".join(letter for letter in parts.host.boot if letter.isalnum())
        self._path = parts.layout.folder(f"seen/{boot}.json")

    def recall(self) -> None:
        try:
            seen = decode(self._parts.fs.read(self._path))
            self._parts.watch.load({str(key): (float(beat), float(first)) for key, (beat, first) in seen.items()})
        except (OSError, BadInput, AttributeError, TypeError, ValueError):
            pass  # nothing is remembered: the watching starts now

    def keep(self) -> None:
        seen = self._parts.watch.export()
        if not seen:
            return
        scratch = self._parts.layout.scratch(f"seen-{self._parts.rng.getrandbits(32):08x}.note")
        try:
            self._parts.fs.mkdir(self._path.rpartition("/")[0])
            self._parts.fs.write(scratch, encode(seen))
            self._parts.fs.rename(scratch, self._path)
        except OSError:
            pass  # it only makes the next command wait longer
