"""The way to the server: connections that are kept and made anew, scripts by their digest, answers that got lost.

A script whose answer was lost is sent again: every step carries a nonce (a push: its ids) and finds its own effect.
Only a claim is not: its caller looks first for what it got (`Unanswered`). redis-py's own retries are off.
In a cluster the node that has the queue is found by asking any; while the queue moves to another, we wait: a script
could see only a half of it.
Safe for threads; a forked process makes connections of its own.
"""

import os
import random
from collections import deque
from collections.abc import Sequence
from math import inf
from typing import Any

from dibs.clock import Clock
from dibs.errors import FormatError, MissingExtra, StorageError
from dibs.queues.redis.address import Address
from dibs.queues.redis.scripts import script

try:
    from hiredis import pack_command
except ImportError:  # redis-py then packs by itself
    pack_command = None  # type: ignore[assignment]

OLDEST = (6, 2)
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 1.0
_MOST_HOPS = 5
Connection = Any  # redis-py's, whose methods have no types
Call = tuple[str, Sequence[Any]]


class Unanswered(StorageError):
    """Nobody knows whether it was done."""


class Server:
    def __init__(self, address: Address, clock: Clock, rng: random.Random) -> None:
        self.address = address
        self._clock = clock
        self._rng = rng
        self._base = address.base.encode()
        self._idle: tuple[int, deque[Connection]] = (os.getpid(), deque())
        self._node: tuple[str, int] | None = None  # of a cluster, where it is not the one that was named
        self._patience = 0.0  # until the first answer: a wrong address is said at once
        self.asked = 0  # commands sent
        self.trips = 0  # and in how many round trips

    def ask(self, verb: str, *args: Any, twice: bool = True, before: float = inf) -> Any:
        """The answer of one script. It is not tried again at boottime `before` or later."""
        return self.ask_many([(verb, args)], twice=twice, before=before)[0]

    def ask_many(self, calls: Sequence[Call], *, twice: bool = True, before: float = inf) -> list[Any]:
        """The answers of several, one after the other in one round trip. With `twice` false: Unanswered when the
        connection broke after they were sent."""
        return self._tried([self._evalsha(*call) for call in calls], twice, calls, before)

    def info(self) -> dict[str, str]:
        """What the server says of itself."""
        answer: bytes = self._tried([("INFO",)], True)[0]
        lines = answer.decode("utf-8", "replace").splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))

    def check(self) -> dict[str, str]:
        """FormatError when the server is too old."""
        info = self.info()
        version = info.get("redis_version", "0")
        if tuple(int(part) if part.isdigit() else 0 for part in version.split(".")[:2]) < OLDEST:
            raise FormatError(
                f"Redis at {self.address.where} has version {version}; dibs needs 6.2 or newer, or Valkey: upgrade it"
            )
        return info

    def _evalsha(self, verb: str, args: Sequence[Any]) -> tuple[Any, ...]:
        return ("EVALSHA", script(verb).sha, 1, self._base, *args)

    def _tried(
        self, commands: list[tuple[Any, ...]], twice: bool, calls: Sequence[Call] = (), before: float = inf
    ) -> list[Any]:
        connection = self._connection()
        pause = _FIRST_PAUSE
        hops = 0
        give_up = min(self._clock.boottime() + self._patience, before)
        while True:
            sent = False
            try:
                if connection._sock is None:
                    connection.connect()
                sent = True
                self.asked += len(commands)
                self.trips += 1
                connection.send_packed_command([_packed(connection, commands)], check_health=False)
                answers = [_answer(connection) for _ in commands]
            except Exception as error:  # of the driver or the socket; told apart below
                from dibs.queues.redis.refusals import passing, refusal

                connection.disconnect()
                if not passing(error) or (sent and not twice) or self._clock.boottime() >= give_up:
                    told = refusal(error, self.address, sent=sent)
                    if sent and passing(error):
                        raise Unanswered(str(told)) from None
                    raise told from None
                if not sent and self._node is not None:
                    connection = self._go_to(None)  # that node is away: the one that was named knows who took over
            except BaseException:
                connection.disconnect()
                raise
            else:
                failures = [answer for answer in answers if isinstance(answer, Exception)]
                if not failures:
                    self._keep(connection)
                    return answers
                from dibs.queues.redis.refusals import moved_to, passing, refusal

                if hops < _MOST_HOPS and (node := moved_to(failures[0])):
                    hops += 1
                    connection.disconnect()
                    connection = self._go_to(node)
                    continue
                if any(_no_script(failure) for failure in failures):
                    return self._loaded(connection, answers, commands, twice, calls)
                if len(commands) > 1 or not passing(failures[0]) or self._clock.boottime() >= give_up:
                    self._keep(connection)
                    raise refusal(failures[0], self.address, sent=False)
                connection.disconnect()
            self._clock.sleep(pause * (0.5 + self._rng.random()))
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _loaded(
        self,
        connection: Connection,
        answers: list[Any],
        commands: list[tuple[Any, ...]],
        twice: bool,
        calls: Sequence[Call],
    ) -> list[Any]:
        """The server did not know some of the scripts: send those again, whole."""
        self._keep(connection)
        missing = [
            number for number, answer in enumerate(answers) if isinstance(answer, Exception) and _no_script(answer)
        ]
        whole = [("EVAL", script(calls[number][0]).text, *commands[number][2:]) for number in missing]
        for number, answer in zip(missing, self._tried(whole, twice), strict=True):
            answers[number] = answer
        return answers

    # Connections

    def _connection(self) -> Connection:
        pid, idle = self._idle
        if pid != os.getpid():
            self._idle = (os.getpid(), deque())
            idle = self._idle[1]
        try:
            return idle.pop()
        except IndexError:
            return self.connection(self.address.timeout)

    def _go_to(self, node: tuple[str, int] | None) -> Connection:
        """A connection to another node of the cluster, where the next will go too."""
        self._node = None if node is None else (node[0] or self.address.host, node[1])
        self.close()
        return self._connection()

    def _keep(self, connection: Connection) -> None:
        self._patience = self.address.patience
        self._idle[1].append(connection)

    def connection(self, timeout: float | None) -> Connection:
        """A new one, not yet connected."""
        try:
            from redis import connection as kinds
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ImportError:
            raise MissingExtra("redis: needs redis-py, which is not installed; pip install 'dibs[redis]'") from None
        address = self.address
        options: dict[str, Any] = {
            "db": address.db,
            "username": address.username,
            "password": address.password,
            "socket_timeout": timeout,
            "socket_connect_timeout": min(address.timeout, 10.0),
            "retry": Retry(NoBackoff(), 0),
            "protocol": 2,
        }
        if address.socket:
            kind: Any = kinds.UnixDomainSocketConnection
            return kind(path=address.socket, **options)
        host, port = self._node or (address.host, address.port)
        kind = kinds.SSLConnection if address.tls else kinds.Connection
        if address.tls:
            options |= {"ssl_ca_certs": address.ca, "ssl_certfile": address.cert, "ssl_keyfile": address.key}
        return kind(host=host, port=port, **options)

    def close(self) -> None:
        pid, idle = self._idle
        while pid == os.getpid() and idle:
            idle.pop().disconnect()


def _packed(connection: Connection, commands: list[tuple[Any, ...]]) -> bytes:
    """redis-py would look at each argument first, for kinds that are never sent here."""
    if pack_command is None:
        return b"".join(connection.pack_commands(commands))
    return b"".join([pack_command(command) for command in commands])


def _answer(connection: Connection) -> Any:
    """Errors that the server said about one command are values here: others of the same round trip come after."""
    try:
        return connection.read_response(disconnect_on_error=False)
    except Exception as error:
        from redis.exceptions import ConnectionError, ResponseError

        if isinstance(error, ResponseError) or (
            isinstance(error, ConnectionError) and type(error) is not ConnectionError
        ):
            return error  # the second: BusyLoadingError and the like
        raise


def _no_script(error: Exception) -> bool:
    from redis.exceptions import NoScriptError

    return isinstance(error, NoScriptError)
