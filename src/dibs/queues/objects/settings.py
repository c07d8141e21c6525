"""What stands in the URL of a queue on object storage.

    s3://bucket/prefix?region=…&endpoint=…&profile=…&access_key=…&secret_key=…&session_token=…
    gs://bucket/prefix?service_account=FILE           az://container/prefix?account=…&account_key=…&endpoint=…

and for all: retention, fresh (seconds for which a listing is used), upkeep (seconds between looks for what has
expired or become due), idle (seconds between the listings of a worker that
finds nothing), timeout and patience (seconds: for one request, for an answer), discover or mirror (where names of ready
tasks come from, see `discovery.choice`) and relist (seconds for which a list of them is used). What is not in the URL
comes from the usual environment and files of the cloud.
"""

from typing import Any, NamedTuple

from dibs.errors import BadInput
from dibs.queues.objects.discovery import choice

NUMBERS = {
    "retention": None,
    "fresh": 30.0,
    "upkeep": 30.0,
    "idle": 38.0,
    "timeout": 20.0,
    "patience": 15.0,
    "relist": 300.0,
}
CLOUDS: dict[str, dict[str, str]] = {
    "s3": {
        "region": "aws_region",
        "endpoint": "aws_endpoint",
        "access_key": "aws_access_key_id",
        "secret_key": "aws_secret_access_key",
        "session_token": "aws_session_token",
        "profile": "",
    },
    "gs": {"service_account": "google_service_account"},
    "az": {
        "account": "azure_storage_account_name",
        "account_key": "azure_storage_account_key",
        "endpoint": "azure_storage_endpoint",
    },
}
_PAIRS = (("access_key", "secret_key"), ("secret_key", "access_key"), ("account_key", "account"))


class Settings(NamedTuple):
    scheme: str
    bucket: str
    prefix: str
    cloud: dict[str, str]
    numbers: dict[str, float | None]
    discover: choice.Choice

    @property
    def name(self) -> str:
        """For people: no secrets."""
        where = f" at {self.cloud['endpoint']}" if "endpoint" in self.cloud else ""
        return f"{self.scheme}://{self.bucket}{where}"


def parse(scheme: str, url: str, path: str, given: dict[str, str]) -> Settings:
    bucket, _, prefix = path.removeprefix("//").partition("/")
    prefix = prefix.strip("/")
    if not path.startswith("//") or not bucket:
        raise BadInput(f"{scheme}: needs a bucket; write {scheme}://BUCKET/PREFIX")
    if not prefix:
        raise BadInput(f"{scheme}://{bucket} names no queue; write {scheme}://{bucket}/queues/NAME")
    if any(part in ("", ".", "..") for part in prefix.split("/")):
        raise BadInput(f"prefix {prefix!r} is not acceptable; use parts joined by '/', none empty, '.' or '..'")
    known = CLOUDS[scheme]
    unknown = sorted(set(given) - set(known) - set(NUMBERS) - set(choice.SETTINGS))
    if unknown:
        names = ", ".join((*known, *NUMBERS, *choice.SETTINGS))
        raise BadInput(f"setting {unknown[0]!r} of {scheme}://{bucket}/{prefix} is not known; known: {names}")
    cloud = {name: value for name, value in given.items() if name in known and value}
    for name, other in _PAIRS:
        if name in cloud and other not in cloud:
            raise BadInput(f"{scheme}://{bucket}/{prefix} has {name} but no {other}; give both")
    numbers: dict[str, float | None] = dict(NUMBERS)
    for name in NUMBERS:
        if name in given:
            numbers[name] = _number(name, given[name])
    return Settings(scheme, bucket, prefix, cloud, numbers, choice.choose(given))


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise BadInput(f"{name}={text} is not acceptable; use a number of seconds")
    return value


def driver_config(settings: Settings) -> dict[str, Any]:
    """The driver's names for what is in the URL."""
    names = CLOUDS[settings.scheme]
    return {names[name]: value for name, value in settings.cloud.items() if names[name]}
