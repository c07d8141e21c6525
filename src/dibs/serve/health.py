"""Whether the queue behind answers. Asked only when something takes long, or when somebody wants to know: one small
question in a thread of its own. While the answer is missing, requests to that queue are refused at once and those that
hang are told; nobody waits in line for a server that is away.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from dibs.errors import DibsError, Unsupported
from dibs.redact import redact
from dibs.serve.refusal import Refusal

LONG_SECONDS = 3.0  # for which something may be under way before the queue is asked whether it answers
ANSWER_SECONDS = 5.0


class Health:
    """Of one queue, in the event loop. `ask` blocks and raises a DibsError; `told` hears of each change."""

    def __init__(self, name: str, ask: Callable[[], object]) -> None:
        self.name = name
        self.why = ""  # it does not answer; empty while it does
        self.told: Callable[[str], None] = lambda _: None
        self._ask = ask
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="dibs-health")
        self._asked: Future[str] | None = None
        self._since = 0.0

    def look(self, waited: float) -> None:
        """Now and then. `waited`: for how long the oldest request is under way."""
        if self._asked is None:
            if self.why or waited > LONG_SECONDS:
                self._begin()
        elif self._asked.done():
            asked, self._asked = self._asked, None
            self._set("" if asked.cancelled() else asked.result())
        elif (silent := _now() - self._since) >= ANSWER_SECONDS:
            self._set(self.why or f"no answer for {silent:.0f} s")

    async def answers(self) -> bool:
        """Whether it does now: waits for that, but not for long."""
        asked = self._asked or self._begin()
        left = max(self._since + ANSWER_SECONDS - _now(), 0.0)
        await asyncio.wait({asyncio.wrap_future(asked)}, timeout=left)
        if asked is self._asked:
            self.look(0.0)
        return not self.why

    def refusal(self) -> Refusal:
        return refusal(self.name, self.why)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _begin(self) -> Future[str]:
        self._since = _now()
        self._asked = self._thread.submit(self._found)
        return self._asked

    def _found(self) -> str:
        """In the thread: why it does not answer, or nothing."""
        try:
            self._ask()
        except Unsupported:
            pass  # that is an answer
        except DibsError as error:
            return redact(str(error))
        except Exception as error:
            return f"internal error: {error!r}"
        return ""

    def _set(self, why: str) -> None:
        if why != self.why:
            self.why = why
            self.told(why)


def _now() -> float:
    return asyncio.get_running_loop().time()


def refusal(name: str, why: str) -> Refusal:
    return Refusal("busy", f"queue {name!r} does not answer: {why}; it is tried again, ask later", status=503)
