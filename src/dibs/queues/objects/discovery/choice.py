"""The setting `discover`: where a queue on object storage looks for names of ready tasks.

listing        the bucket itself (the default)
mirror:PATH    a list in a local folder that all processes of the host share; `?mirror=PATH` for short
manifest       a list in the bucket that everybody shares
URL            another dibs queue whose tasks are the names
"""

import os
from typing import NamedTuple

from dibs.errors import BadInput
from dibs.queues import BACKENDS
from dibs.redact import redact

SETTINGS = ("discover", "mirror")


class Choice(NamedTuple):
    way: str = "listing"  # or mirror, manifest, queue
    where: str = ""  # the mirror's folder, the other queue's URL


def choose(given: dict[str, str]) -> Choice:
    value = given.get("discover", "")
    if "mirror" in given:
        if "discover" in given:
            raise BadInput("both mirror= and discover= are given; mirror=PATH is short for discover=mirror:PATH")
        value = f"mirror:{given['mirror']}"
    if value in ("", "listing"):
        return Choice()
    if value == "manifest":
        return Choice("manifest")
    scheme, colon, rest = value.partition(":")
    if scheme == "mirror" and rest:
        return Choice("mirror", os.path.abspath(rest))
    if colon and scheme.lower() in BACKENDS:
        return Choice("queue", value)
    known = ", ".join(f"{name}:" for name in BACKENDS)
    ways = f"listing, mirror:PATH, manifest, or the URL of another queue ({known})"
    raise BadInput(f"discover={redact(value)} is not acceptable; use {ways}")
