"""The queue that is used when none is given, as `[queue]` in dibs.toml says it: on which backend, and where.

    [queue]
    backend = "postgres"            # see BACKENDS; `file` if not given
    url = "${DATABASE_URL}"         # what the backend needs besides; the others have a place under .dibs

`derived` and `tantivy` are no places of their own: both are the specs of the project, which are files, and say what
lists and searches are answered from.
"""

from __future__ import annotations

from dibs.errors import BadInput

# backend -> (schemes of its URLs, where it is when no url is given)
BACKENDS: dict[str, tuple[tuple[str, ...], str]] = {
    "file": (("file",), "file:.dibs/queues/default"),
    "lmdb": (("lmdb",), "lmdb:.dibs/lmdb/default"),
    "memory": (("memory",), "memory:default"),
    "specs": (("specs",), "specs:.dibs/specs"),
    "derived": (("specs",), "specs:.dibs/specs"),
    "tantivy": (("specs",), "specs:.dibs/specs"),
    "directory": (("dir",), ""),
    "postgres": (("postgres", "postgresql"), ""),
    "redis": (("redis", "rediss"), ""),
    "s3": (("s3",), ""),
    "gcs": (("gs",), ""),
    "azure": (("az",), ""),
    "sqs": (("sqs",), ""),
}
NAME = "default"  # what it is called on a server that holds many


def backend(value: str) -> str:
    """One of BACKENDS."""
    if value not in BACKENDS:
        raise BadInput(f"backend {value!r} is not known; known: {', '.join(BACKENDS)}")
    return value


def url_of(name: str, given: str | None, where: str) -> str:
    """The URL of the default queue on the backend called so. `where` names the section, for errors."""
    schemes, place = BACKENDS[name]
    if given is None:
        if not place:
            raise BadInput(f'{where}: backend {name!r} needs a url; add url = "{schemes[0]}:…", or "${{NAME}}"')
        return place
    head, colon, _ = given.partition(":")
    scheme = head.lower() if colon and len(head) > 1 and head.isalnum() else None
    if scheme is None and place and name != "memory":
        return f"{schemes[0]}:{given}"  # a plain path
    if scheme not in schemes:
        raise BadInput(f"{where}: url is no {schemes[0]}: URL, though backend is {name!r}; change one of them")
    return given
