"""Requests to SQS: counted, tried again where that is safe, and their errors told in one line.

boto3's own retries are off: a step of a lease must not be sent after the lease's time, and one that gives a task
back must not be sent twice, since the second might hit whoever holds it then.
"""

import os
import random
from collections import Counter
from math import inf
from threading import Lock
from typing import Any

from dibs.clock import Clock
from dibs.errors import FormatError, LeaseLost, MissingExtra, StorageError
from dibs.queues.sqs.address import Address

TRIES = 4
CONNECT_SECONDS = 5
ANSWER_SECONDS = 25  # more than the longest poll
_PAUSE_SECONDS = 0.05


class NoQueue(FormatError):
    """There is no queue by that name."""


class Exists(StorageError):
    """There is a queue by that name, with other attributes."""


class Unanswered(StorageError):
    """Nobody knows whether the request took effect."""


class Service:
    """Safe for threads; a forked process makes connections of its own."""

    def __init__(self, address: Address, clock: Clock, rng: random.Random) -> None:
        self._address = address
        self._clock = clock
        self._rng = rng
        self._lock = Lock()
        self._clients: dict[int, Any] = {}
        self._ahead: float | None = None  # SQS's time less our boottime: at least that
        self.requests: Counter[str] = Counter()

    def ask(self, operation: str, *, before: float = inf, twice: bool = True, **parameters: Any) -> dict[str, Any]:
        """The answer. Nothing is sent at boottime `before` or later: LeaseLost. With `twice` false a request that may
        have taken effect is not sent again: Unanswered."""
        return self.timed(operation, before=before, twice=twice, **parameters)[0]

    def timed(
        self, operation: str, *, before: float = inf, twice: bool = True, **parameters: Any
    ) -> tuple[dict[str, Any], float]:
        """The answer, and the boottime from before the request that was answered was sent."""
        client = self.connect()
        from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

        from dibs.queues.sqs.refusals import UNANSWERED, UNSENT, refusal, throttled, unsure

        tries = 0
        while True:
            sent = self._clock.boottime()
            if sent >= before:
                raise LeaseLost("its time ran out before SQS answered")
            tries += 1
            with self._lock:
                self.requests[operation] += 1
            try:
                answer: dict[str, Any] = getattr(client, operation)(**parameters)
            except ClientError as error:
                again = throttled(error) or (unsure(error) and twice)
                failure: Exception = error
            except (BotoCoreError, ValueError) as error:
                again = isinstance(error, UNSENT) or (isinstance(error, UNANSWERED) and twice)
                failure = error
            else:
                self._hear(answer)
                return answer, sent
            if not again or tries >= TRIES:
                raise refusal(failure, operation, self._address) from None
            self._clock.sleep(_PAUSE_SECONDS * 2**tries * (0.5 + self._rng.random()))

    def now(self) -> float | None:
        """SQS's time by its own answers, in seconds since 1970; None when there was none yet."""
        return None if self._ahead is None else self._ahead + self._clock.boottime()

    def _hear(self, answer: dict[str, Any]) -> None:
        """Its Date is cut to the second and some time old: so the answer that puts its clock furthest ahead is best."""
        from email.utils import parsedate_to_datetime

        date = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        if date:
            ahead = parsedate_to_datetime(date).timestamp() - self._clock.boottime()
            self._ahead = ahead if self._ahead is None else max(ahead, self._ahead)

    def connect(self) -> Any:
        """The client of this process. MissingExtra, or BadInput for a setting that is missing or wrong."""
        pid = os.getpid()
        client = self._clients.get(pid)
        if client is None:
            with self._lock:
                client = self._clients.get(pid)
                if client is None:
                    client = self._clients[pid] = self._connect()
        return client

    def _connect(self) -> Any:
        try:
            from botocore.config import Config  # type: ignore[import-untyped]
            from botocore.exceptions import BotoCoreError
            from botocore.session import Session  # type: ignore[import-untyped]

            from dibs.queues.sqs.refusals import refusal
        except ImportError:
            raise MissingExtra("sqs: needs boto3, which is not installed; pip install 'dibs[sqs]'") from None
        address = self._address
        config = Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=ANSWER_SECONDS,
            retries={"total_max_attempts": 1},
            max_pool_connections=50,
        )
        try:
            session = Session(profile=address.profile)  # what is in boto3.Session, without its slow imports
            return session.create_client("sqs", address.region, endpoint_url=address.endpoint, config=config)
        except (BotoCoreError, ValueError) as error:
            raise refusal(error, "connect", address) from None
