"""`postgres://user@host/db?queue=scrape&schema=dibs&…`: what is ours in the URL, and what is for the server.

Every setting that is not ours goes to libpq, which knows sslmode, connect_timeout, target_session_attrs and more. A
password is in the URL, in PGPASSWORD, or in ~/.pgpass; it is never shown.
"""

from typing import Any
from urllib.parse import quote, urlencode

from dibs.errors import BadInput
from dibs.redact import redact
from dibs.values import dataclass

OURS = ("queue", "schema", "pool_size", "retention", "pooler")
MAX_NAME_BYTES = 63
MAX_POOL = 1000
_FOR_LIBPQ = {
    "application_name": "dibs",
    "connect_timeout": "5",
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    shown: str  # for people: without secrets
    conninfo: str
    queue: str = "default"
    schema: str = "dibs"
    pool_size: int = 10
    retention: float | None = None
    pooler: bool = False  # something stands between that gives each transaction another session


def parse(url: str, path: str, settings: dict[str, str]) -> Address:
    shown = redact(url)
    given: dict[str, Any] = {name: settings[name] for name in OURS if name in settings}
    for name, limit in (("queue", 128), ("schema", MAX_NAME_BYTES)):
        if name in given:
            given[name] = _name(name, given[name], limit)
    if "pool_size" in given:
        given["pool_size"] = int(_number(given["pool_size"], "pool_size", "a whole number", 1, MAX_POOL))
    if "retention" in given:
        given["retention"] = _number(given["retention"], "retention", "a number of seconds", 0, 1e11)
    if "pooler" in given:
        if given["pooler"] not in ("yes", "no"):
            raise BadInput(f"pooler {given['pooler']!r} is not acceptable; write yes or no")
        given["pooler"] = given["pooler"] == "yes"
    others = _FOR_LIBPQ | {name: value for name, value in settings.items() if name not in OURS}
    conninfo = f"postgresql:{path if path.startswith('//') else '//' + path}?{urlencode(others, quote_via=quote)}"
    _check(conninfo, shown)
    return Address(shown=shown, conninfo=conninfo, **given)


def named(address: Address) -> str:
    """The queue's name: the same for every user, and wherever libpq was told the rest."""
    from dibs.queues.postgres.driver import psycopg

    defaults = {option.keyword.decode(): (option.val or b"").decode() for option in psycopg.pq.Conninfo.get_defaults()}
    given = {**defaults, **psycopg.conninfo.conninfo_to_dict(address.conninfo)}
    host, port = given["host"] or given["hostaddr"], given["port"] or "5432"
    database = given["dbname"] or given["user"] or ""
    names = f"queue={quote(address.queue, safe='')}&schema={quote(address.schema, safe='')}"
    return f"postgres://{quote(str(host), safe=',:[]')}:{port}/{quote(str(database), safe='')}?{names}"


def _name(what: str, text: str, limit: int) -> str:
    if what == "schema" and "$" in text:  # it stands in the bodies of functions
        raise BadInput(f"schema {text[:40]!r} is not acceptable; use one without $")
    if not text or "\0" in text or len(text.encode(errors="surrogatepass")) > limit:
        raise BadInput(f"{what} {text[:40]!r} is not acceptable; use 1 to {limit} bytes, none of them NUL")
    return text


def _number(text: str, name: str, kind: str, low: float, high: float) -> float:
    try:
        number = float(text)
        if (kind == "a whole number" and not number.is_integer()) or not low <= number <= high:
            raise ValueError
    except ValueError:
        raise BadInput(f"{name} {text!r} is not acceptable; use {kind} from {low:g} to {high:g}") from None
    return number


def _check(conninfo: str, shown: str) -> None:
    """libpq's own words about a bad URL may quote a part of the password, so only those on a setting are passed on."""
    from dibs.queues.postgres.driver import psycopg

    try:
        found = psycopg.conninfo.conninfo_to_dict(conninfo)
        ports = str(found.get("port") or "").split(",")
        if not all(port == "" or (port.isascii() and port.isdigit()) for port in ports):
            raise psycopg.ProgrammingError("no port")
    except psycopg.Error as error:
        words = str(error).strip()
        if "query parameter" in words:
            raise BadInput(f"{shown}: {words}; ours are {', '.join(OURS)}, the rest is for libpq") from None
        raise BadInput(
            f"{shown} is no PostgreSQL URL; write postgres://user@host:5432/db?queue=NAME (%40 for @ in a password)"
        ) from None
