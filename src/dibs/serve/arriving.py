"""Queues that cannot be opened: the daemon serves the others meanwhile, says so, and tries these again."""

import threading
from collections.abc import Iterable

from dibs.clock import SYSTEM
from dibs.errors import DibsError, StorageError
from dibs.redact import redact
from dibs.serve.desk import Desk
from dibs.serve.health import refusal
from dibs.serve.refusal import Refusal

OPENING_SECONDS = 5.0  # that the start waits for those that do not answer
AGAIN_SECONDS = 5.0


class Opening:
    """One queue that is being opened, in a thread: it may hang for as long as it likes."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.why = f"no answer for {OPENING_SECONDS:.0f} s"
        self.error: BaseException | None = None
        self._begin()

    def _begin(self) -> None:
        self.thread = threading.Thread(target=self._open, name=f"dibs-opening-{self.desk.name}", daemon=True)
        self.thread.start()

    def _open(self) -> None:
        self.error = None
        try:
            self.desk.open()
        except BaseException as error:
            self.error = error

    @property
    def over(self) -> bool:
        return not self.thread.is_alive()

    def again(self) -> bool:
        """True when it is open; else it is tried once more, unless that is still going on."""
        if not self.over:
            return False
        if self.error is None:
            return True
        self.why = redact(str(self.error)) if isinstance(self.error, DibsError) else repr(self.error)
        self._begin()
        return False

    def refusal(self) -> Refusal:
        return refusal(self.desk.name, self.why)

    def close(self) -> None:
        if self.over and self.error is None:
            self.desk.close()


def opened(desks: Iterable[Desk], seconds: float = OPENING_SECONDS) -> dict[str, Opening]:
    """Opens all of them at once; those that cannot be reached. Raises when something else is wrong with one, or when
    there is none that can be."""
    given = list(desks)
    if len(given) == 1:
        given[0].open()
        return {}
    begun = [Opening(desk) for desk in given]
    end = SYSTEM.boottime() + seconds
    for one in begun:
        one.thread.join(max(end - SYSTEM.boottime(), 0.0))
    missing = [one for one in begun if not one.over or one.error is not None]
    for one in missing:
        if one.over and one.error is not None:
            if not isinstance(one.error, StorageError) or len(missing) == len(given):
                for other in begun:
                    other.close()
                raise one.error
            one.why = redact(str(one.error))
    return {one.desk.name: one for one in missing}
