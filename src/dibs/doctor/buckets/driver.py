"""The bucket of a queue's URL, asked plainly: no answer is sought twice, nothing is settled, every refusal is seen."""

from typing import Any, NamedTuple

from dibs.doctor.race import LOST, WON
from dibs.errors import StorageError
from dibs.queues import split_url
from dibs.queues.objects.driver import open_driver
from dibs.queues.objects.settings import parse
from dibs.stores.object_errors import trouble


class Seen(NamedTuple):
    body: str
    tag: str
    modified: float


class Bucket:
    """Below `folder` of the queue's prefix only."""

    def __init__(self, url: str, folder: str) -> None:
        from urllib.parse import parse_qsl

        scheme, path, query = split_url(url)
        settings = parse(scheme, url, path, dict(parse_qsl(query, keep_blank_values=True)))
        self._driver = open_driver(settings)
        import obstore

        self._obstore = obstore
        self.name = settings.name
        self._base = f"{settings.prefix}/{folder}"

    def put(self, key: str, body: str, mode: Any = "overwrite") -> tuple[str, str]:
        """(what came of it, the new tag). Anything but won and lost is an error, which says nothing about the write."""
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
            return LOST if found.kind == "refused" or gone else "an error", ""

    def get(self, key: str) -> Seen | None:
        for tried in range(4):
            try:
                answer = self._obstore.get(self._driver, f"{self._base}/{key}")
                meta = answer.meta
                return Seen(bytes(answer.bytes()).decode(), str(meta["e_tag"]), meta["last_modified"].timestamp())
            except self._errors as error:
                found = trouble(error, self.name)
                if found.kind == "absent":
                    return None
                if found.kind == "no" or tried == 3:
                    raise StorageError(found.text) from None
        return None

    def names(self, folder: str = "") -> list[str]:
        below = f"{self._base}/{folder}".rstrip("/")
        for tried in range(4):
            try:
                pages = list(self._obstore.list(self._driver, below, chunk_size=1000))
                return [str(meta["path"])[len(self._base) + 1 :] for page in pages for meta in page]
            except self._errors as error:
                if tried == 3:
                    raise StorageError(trouble(error, self.name).text) from None
        return []

    def delete(self, *keys: str) -> None:
        """Once: what cannot be deleted now is left."""
        try:
            self._obstore.delete(self._driver, [f"{self._base}/{key}" for key in keys])
        except FileNotFoundError:
            return
        except self._errors as error:
            raise StorageError(trouble(error, self.name).text) from None

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        from obstore.exceptions import BaseError

        return (BaseError, OSError)
