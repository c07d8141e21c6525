"""The bucket of a queue's URL, asked plainly: a write is tried once, nothing is settled, every refusal is seen.

What is read, listed and deleted is asked for again when the answer is an error: a store that fails now and then is
examined to the end."""

import re
from collections.abc import Callable
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypeVar

from dibs.clock import Clock
from dibs.doctor.race import LOST, WON
from dibs.errors import StorageError
from dibs.queues import split_url
from dibs.queues.objects.driver import open_driver
from dibs.queues.objects.settings import parse
from dibs.stores.object_errors import trouble

Found = TypeVar("Found")
NO_ANSWER = "no answer"
_TRIES = 12
_TRY_SECONDS = 8.0
_PAUSE_SECONDS = 0.03
_ANSWER_SECONDS = "7"  # twice that, and the rest, is within the half minute
_DATE_SECONDS = 5.0
_STATUS = re.compile(r"status code: ([0-9]{3})")  # in the driver's words


class Seen(NamedTuple):
    body: str
    tag: str
    modified: float


class Bucket:
    """Below `folder` of the queue's prefix only."""

    def __init__(self, url: str, folder: str, clock: Clock) -> None:
        from urllib.parse import parse_qsl

        scheme, path, query = split_url(url)
        given = {"timeout": _ANSWER_SECONDS, **dict(parse_qsl(query, keep_blank_values=True))}
        settings = parse(scheme, url, path, given)
        self._driver = open_driver(settings)
        import obstore

        self._obstore = obstore
        self._clock = clock
        self.name = settings.name
        self._above = settings.prefix
        self._base = f"{settings.prefix}/{folder}"

    def put(self, key: str, body: str, mode: Any = "overwrite") -> tuple[str, str]:
        """(what came of it, the new tag). Anything but won and lost is an error, which says nothing about the write:
        its status, such as "HTTP 501", or that no answer came."""
        try:
            answer = self._obstore.put(
                self._driver, f"{self._base}/{key}", body.encode(), mode=mode, use_multipart=False
            )
            return WON, str(answer["e_tag"])
        except self._errors as error:
            found = trouble(error, self.name)
            if found.kind == "no":
                raise StorageError(found.text) from None
            gone = found.kind == "absent" and mode != "overwrite"
            status = _STATUS.search(str(error))
            return LOST if found.kind == "refused" or gone else f"HTTP {status[1]}" if status else NO_ANSWER, ""

    def get(self, key: str) -> Seen | None:
        def ask() -> Seen:
            answer = self._obstore.get(self._driver, f"{self._base}/{key}")
            meta = answer.meta
            return Seen(bytes(answer.bytes()).decode(), str(meta["e_tag"]), meta["last_modified"].timestamp())

        return self._asked(ask)

    def names(self, folder: str = "") -> list[str]:
        return list(self.listed(folder))

    def listed(self, folder: str = "") -> dict[str, float]:
        """The keys, with the time of their last change as the listing has it."""
        below = f"{self._base}/{folder}".rstrip("/")

        def ask() -> dict[str, float]:
            pages = list(self._obstore.list(self._driver, below, chunk_size=1000))
            return {
                str(meta["path"])[len(self._base) + 1 :]: meta["last_modified"].timestamp()
                for page in pages
                for meta in page
            }

        return self._asked(ask) or {}

    def folders(self) -> list[str]:
        """The names of those beside this one."""

        def ask() -> list[str]:
            found = self._obstore.list_with_delimiter(self._driver, self._above)
            return [str(path).rstrip("/").rpartition("/")[2] for path in found["common_prefixes"]]

        return self._asked(ask) or []

    def delete(self, *keys: str) -> None:
        paths = [f"{self._base}/{key}" for key in keys]
        for start in range(0, len(paths), 1000):
            self._asked(lambda part=paths[start : start + 1000]: self._obstore.delete(self._driver, part))  # type: ignore[misc]

    def date(self, key: str) -> float | None:
        """What the server's `Date` says, which the driver keeps to itself: asked for by a signed address. None where
        that is not to be had."""
        from urllib.request import Request, urlopen

        try:
            address = self._obstore.sign(self._driver, "HEAD", f"{self._base}/{key}", timedelta(seconds=60))
            with urlopen(Request(address, method="HEAD"), timeout=_DATE_SECONDS) as answer:  # noqa: S310
                return parsedate_to_datetime(answer.headers["Date"]).timestamp()
        except self._errors:
            return None
        except (ValueError, TypeError, NotImplementedError):  # no key to sign with, or no such header
            return None

    def _asked(self, ask: Callable[[], Found]) -> Found | None:
        """None when it is not there."""
        until = self._clock.boottime() + _TRY_SECONDS
        for tried in range(1, _TRIES + 1):
            try:
                return ask()
            except self._errors as error:
                found = trouble(error, self.name)
                if found.kind == "absent":
                    return None
                if found.kind == "no" or tried == _TRIES or self._clock.boottime() > until:
                    raise StorageError(found.text) from None
                self._clock.sleep(tried * _PAUSE_SECONDS)
        return None

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        from obstore.exceptions import BaseError

        return (BaseError, OSError)
