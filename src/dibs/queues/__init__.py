"""Open a queue by URL. Each backend is imported only when its URL is used."""

from os import environ
from typing import TYPE_CHECKING, Any

from dibs.errors import BadInput

if TYPE_CHECKING:
    from dibs.queues.queue import Queue

DEFAULT_URL = "file:.dibs/queues/default"

# scheme -> (provider names for `queue_type`, module, class)
BACKENDS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "file": (("filesystem", "file"), "dibs.queues.files", "FilesQueue"),
    "memory": (("memory",), "dibs.queues.memory", "MemoryQueue"),
    "dir": (("directory", "dir"), "dibs.queues.directory", "DirectoryQueue"),
    "specs": (("specs",), "dibs.queues.specs", "SpecsQueue"),
    "s3": (("s3",), "dibs.queues.objects", "ObjectsQueue"),
    "gs": (("gcs", "gs"), "dibs.queues.objects", "ObjectsQueue"),
    "az": (("azure", "az"), "dibs.queues.objects", "ObjectsQueue"),
    "sqs": (("sqs",), "dibs.queues.sqs", "SqsQueue"),
    "postgres": (("postgres",), "dibs.queues.postgres", "PostgresQueue"),
    "postgresql": (("postgresql",), "dibs.queues.postgres", "PostgresQueue"),
    "redis": (("redis",), "dibs.queues.redis", "RedisQueue"),
    "rediss": (("rediss",), "dibs.queues.redis", "RedisQueue"),
    "lmdb": (("lmdb",), "dibs.queues.lmdb", "LmdbQueue"),
    "http": (("http",), "dibs.queues.remote", "RemoteQueue"),
    "https": (("https",), "dibs.queues.remote", "RemoteQueue"),
    "unix": (("unix",), "dibs.queues.remote", "RemoteQueue"),
}


def open_queue(url: str = DEFAULT_URL, **options: Any) -> "Queue":
    """Open the queue at `url`, creating it if the backend can. `a/path` means `file:a/path`.

    Options are the backend's own settings, the same that may stand in the URL's query.
    """
    from importlib import import_module

    scheme, path, query = split_url(url)
    if scheme not in BACKENDS:
        known = ", ".join(f"{name}:" for name in BACKENDS)
        from dibs.redact import redact

        raise BadInput(f"no backend for {scheme!r} in {redact(url)!r}; known: {known} (a bare path is file:)")
    _, module, name = BACKENDS[scheme]
    settings: dict[str, str] = {}
    if query:
        from urllib.parse import parse_qsl  # slow to load, and most URLs have no query

        settings = dict(parse_qsl(query, keep_blank_values=True))
    backend = getattr(import_module(module), name)
    queue: Queue = backend.open(url, path, settings, **options)
    if environ.get("DIBS_TRACES") == "1":
        from dibs.tracing import trace

        trace(queue, works=options.get("pid", "self") is not None)
    return queue


def split_url(url: str) -> tuple[str, str, str]:
    """(scheme, path, query). A colon after a slash, or after a single letter, is part of a path."""
    head, colon, rest = url.partition(":")
    scheme = head.lower() if colon and len(head) > 1 and head.isalnum() else "file"
    body = rest if scheme != "file" or head.lower() == "file" else url
    if "?" not in body:
        return scheme, body, ""
    path, _, query = body.partition("?")
    return scheme, path, query


def scheme_of_provider(provider: str) -> str:
    """The URL scheme of a provider named in `queue_type`; an unknown one is an error that lists the known."""
    for scheme, (names, _, _) in BACKENDS.items():
        if provider.lower() in names:
            return scheme
    known = ", ".join(names[0] for names, _, _ in BACKENDS.values())
    raise BadInput(f"queue type {provider!r} is not known; known: {known}")
