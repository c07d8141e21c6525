"""The index itself: one document a task, by tantivy. In a folder, or in memory. Not for several threads at once, but
for `search`, which sees what was committed last.

Damaged is raised for whatever the index says when its files are not what it wrote.
"""

from collections.abc import Callable
from sys import intern
from typing import Any, NamedTuple, TypeVar

from dibs.errors import BadInput, MissingExtra
from dibs.serve.search.asking import FIELDS, Asked, written
from dibs.serve.search.words import Words
from dibs.states import State
from dibs.task import PRIORITY_LIMIT

HEAP_BYTES = 15_000_000
_SEARCHED = ["title", "text", "key"]
_BOOSTS = {"title": 3.0, "key": 2.0}
T = TypeVar("T")


class Damaged(Exception):
    """The index cannot be used any more; another must be made."""


class Hit(NamedTuple):
    id: str
    score: float | None  # None when it is not sorted by that
    shown: bytes | None


class Found(NamedTuple):
    total: int
    hits: list[Hit]


def require() -> Any:
    try:
        import tantivy
    except ImportError:
        raise MissingExtra("search needs tantivy, which is not installed; pip install 'dibs[serve]'") from None
    return tantivy


def version() -> str:
    """Changes with everything that an index on disk depends on."""
    return f"1 {require().__version__}"


class Index:
    """`folder`: None is in memory."""

    def __init__(self, folder: str | None) -> None:
        self._tantivy = tantivy = require()
        self._index = _guarded(lambda: tantivy.Index(_schema(tantivy), path=folder))
        # Else it also reloads by itself, late, and may go back to what was before the last commit.
        _guarded(lambda: self._index.config_reader("manual", 0))
        _guarded(self._index.reload)
        self._writer = _guarded(lambda: self._index.writer(HEAP_BYTES, 1))

    def signatures(self) -> dict[str, str]:
        """What is in it: the signature under which each task was put."""

        def read() -> dict[str, str]:
            searcher = self._index.searcher()
            hits = searcher.search(self._tantivy.Query.all_query(), max(searcher.num_docs, 1)).hits
            documents = (searcher.doc(address) for _, address in hits)
            return {document["id"][0]: intern(document["signature"][0]) for document in documents}

        return _guarded(read)

    def put(self, signature: str, words: Words, *, again: bool = True) -> None:
        """`again`: there may be one of that id."""
        document = self._document(signature, words)

        def write() -> None:
            if again:
                self._writer.delete_documents_by_term("id", words.task.id)
            self._writer.add_document(document)

        _guarded(write)

    def remove(self, task_id: str) -> None:
        _guarded(lambda: self._writer.delete_documents_by_term("id", task_id))

    def commit(self) -> None:
        def commit() -> None:
            self._writer.commit()
            self._index.reload()

        _guarded(commit)

    def search(self, asked: Asked) -> Found:
        """BadInput when the query cannot be read."""
        query = self._parsed(written(asked.query))
        order: dict[str, Any] = {}
        if asked.sort != "relevance":
            field = "order" if asked.sort == "priority" else "id"
            ascending = asked.sort != "newest"
            order = {"order_by_field": field, "order": getattr(self._tantivy.Order, "Asc" if ascending else "Desc")}

        def find() -> Found:
            searcher = self._index.searcher()
            found = searcher.search(query, asked.limit, **order)
            hits = []
            for key, address in found.hits:
                document = searcher.doc(address)
                shown = document.get_first("task")
                score = None if order else round(float(key), 4)
                hits.append(Hit(document["id"][0], score, None if shown is None else bytes(shown)))
            return Found(found.count, hits)

        return _guarded(find)

    def _parsed(self, text: str) -> Any:
        try:
            return self._index.parse_query(text, _SEARCHED, field_boosts=_BOOSTS)
        except ValueError as error:
            said = str(error).partition("\n")[0][:200]
            raise BadInput(f"the query cannot be read: {said}; fields: {', '.join(FIELDS)}") from None

    def close(self) -> None:
        """Waits for what is still being merged."""
        writer, self._writer = self._writer, None
        if writer is not None:
            _guarded(writer.wait_merging_threads)

    def _document(self, signature: str, words: Words) -> Any:
        task = words.task
        document = self._tantivy.Document()
        for name, text in (
            ("id", task.id), ("signature", signature), ("state", str(task.state)), ("status", words.status),
            ("order", f"{PRIORITY_LIMIT - task.priority:04} {task.id}"), ("title", words.title), ("text", words.text),
            ("key", task.key), ("project", task.project), ("type", words.kind),
            *(("label", one) for one in task.labels),
        ):  # fmt: skip
            if text:
                document.add_text(name, text.encode(errors="replace").decode())
        document.add_integer("priority", task.priority)
        document.add_boolean("ready", task.state is State.READY)
        if (shown := words.shown) is not None:
            document.add_bytes("task", shown)
        return document


def _schema(tantivy: Any) -> Any:
    builder = tantivy.SchemaBuilder()
    exact = {"tokenizer_name": "raw", "index_option": "basic"}
    builder.add_text_field("id", stored=True, fast=True, **exact)
    builder.add_text_field("order", fast=True, **exact)  # by priority, then by age
    builder.add_text_field("signature", stored=True, **exact)
    for name in ("key", "project", "label", "state", "status", "type"):
        builder.add_text_field(name, **exact)
    for name in ("title", "text"):
        builder.add_text_field(name)
    builder.add_integer_field("priority", indexed=True)
    builder.add_boolean_field("ready", indexed=True)
    builder.add_bytes_field("task", stored=True, indexed=False)
    return builder.build()


def _guarded(act: Callable[[], T]) -> T:
    """What the library makes of files that are gone or damaged is an error of any kind, or a panic of its own."""
    try:
        return act()
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:
        raise Damaged(f"{type(error).__name__}: {error}".partition("\n")[0][:300]) from None
