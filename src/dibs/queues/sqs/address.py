"""Where an SQS queue is: what `sqs://NAME?…` and `sqs:https://…/NAME?…` say.

Credentials never stand in the URL: they come from the usual AWS environment, files and roles.
"""

import os
import re
import tempfile

from dibs.errors import BadInput, Unsupported
from dibs.redact import redact
from dibs.values import dataclass

SETTINGS = ("region", "endpoint", "profile", "poll", "leases")
FAILED = "-failed"  # the dead-letter queue of a queue that has no other
MAX_POLL = 20
_MAX_NAME = 80 - len(FAILED)
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_AWS_HOST = re.compile(r"(?:sqs[.-])?(?P<region>[a-z0-9-]+)(?:\.queue)?\.amazonaws\.com(?:\.cn)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    url: str  # as it was given
    name: str
    queue_url: str | None  # None: SQS is asked for it
    region: str | None
    endpoint: str | None
    profile: str | None
    poll: int  # how long a look waits for an answer, in seconds
    leases: str  # the folder in which this host keeps what it holds

    @property
    def where(self) -> str:
        return self.endpoint or self.region or "the default region"


def parse(url: str, path: str, settings: dict[str, str]) -> Address:
    """BadInput says what is missing or wrong, Unsupported what SQS queues are of no use here."""
    unknown = sorted(set(settings) - set(SETTINGS))
    if unknown:
        raise BadInput(f"setting {unknown[0]!r} in {redact(url)!r} is not known; known: {', '.join(SETTINGS)}")
    place = path.removeprefix("//")
    by_url = place.startswith(("https://", "http://"))
    name = place.partition("://")[2].partition("/")[2].rstrip("/").rpartition("/")[2] if by_url else place
    if not name:
        raise BadInput(f"{redact(url)!r} names no queue; write sqs://NAME or sqs:https://…/NAME")
    if name.endswith(".fifo"):
        raise Unsupported(f"sqs cannot use {name!r}: a FIFO queue holds back what a claim needs; use a standard queue")
    if not _NAME.fullmatch(name) or (len(name) > _MAX_NAME and not by_url):
        raise BadInput(f"queue name {name!r} is not acceptable; use up to {_MAX_NAME} letters, digits, - and _")
    origin, _, host = _origin(place) if by_url else ("", "", "")
    aws = _AWS_HOST.fullmatch(host)
    return Address(
        url=url,
        name=name,
        queue_url=place if by_url else None,
        region=settings.get("region") or (aws["region"] if aws else None) or os.environ.get("AWS_REGION"),
        endpoint=settings.get("endpoint") or origin or None,
        profile=settings.get("profile"),
        poll=_poll(url, settings.get("poll", "1")),
        leases=settings.get("leases") or os.path.join(tempfile.gettempdir(), f"dibs-sqs-{os.getuid()}"),
    )


def _origin(queue_url: str) -> tuple[str, str, str]:
    """(https://host:port, scheme, host)"""
    scheme, _, rest = queue_url.partition("://")
    netloc = rest.partition("/")[0]
    if "@" in netloc:
        raise BadInput("a queue URL has no user or password in it; AWS credentials come from the environment")
    return f"{scheme}://{netloc}", scheme, netloc.partition(":")[0]


def _poll(url: str, text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= MAX_POLL:
        return int(text)
    raise BadInput(f"poll={text} in {redact(url)!r} is not acceptable; use whole seconds from 0 to {MAX_POLL}")
