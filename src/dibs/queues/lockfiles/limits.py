"""What other queues have per task, a queue of somebody's files has in its URL, for all of them."""

from collections.abc import Mapping, Sequence

from dibs.errors import BadInput
from dibs.redact import redact
from dibs.values import dataclass

KNOWN = ("max_attempts", "max_deaths", "max_runtime", "backoff", "max_backoff")


@dataclass(frozen=True, slots=True)
class Limits:
    max_attempts: int = 3
    max_deaths: int = 5
    max_runtime: float | None = None
    backoff: float = 1.0
    max_backoff: float = 3600.0


def limits(url: str, settings: Mapping[str, str]) -> Limits:
    return Limits(
        max_attempts=_whole(url, settings, "max_attempts", 3),
        max_deaths=_whole(url, settings, "max_deaths", 5),
        max_runtime=seconds(url, settings, "max_runtime", 1.0) if "max_runtime" in settings else None,
        backoff=seconds(url, settings, "backoff", 1.0),
        max_backoff=seconds(url, settings, "max_backoff", 3600.0),
    )


def check_known(url: str, settings: Mapping[str, str], known: Sequence[str]) -> None:
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise BadInput(f"setting {unknown[0]!r} in {redact(url)!r} is not known; known: {', '.join(known)}")


def seconds(url: str, settings: Mapping[str, str], name: str, default: float) -> float:
    try:
        value = float(settings.get(name, default))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf") or (name == "max_runtime" and value == 0):
        raise BadInput(f"{name}={settings[name]} in {redact(url)!r} is not acceptable; use seconds")
    return value


def _whole(url: str, settings: Mapping[str, str], name: str, default: int) -> int:
    text = settings.get(name, str(default))
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise BadInput(f"{name}={text} in {redact(url)!r} is not acceptable; use a whole number from 1")
    return int(text)
