"""How whole tasks leave a Redis queue and come in. What has departed is in the state `leaving`, which no step knows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dibs.facets import facet_of
from dibs.queues.gate import Gate
from dibs.queues.history import event_record
from dibs.queues.keyed import taken
from dibs.queues.parcel import Outcome, Parcel
from dibs.queues.redis.answers import Known, events, known, micro
from dibs.queues.redis.pusher import fields_of
from dibs.queues.redis.server import Server
from dibs.states import TERMINAL, State
from dibs.task import encode
from dibs.values import replace

PAGE = 200
LEAVING = "leaving"


class RedisGate(Gate):
    def __init__(self, address: str, server: Server, tend: Callable[[], None], now: Callable[[], float]) -> None:
        self.address = address
        self._server = server
        self._tend = tend
        self._now = now

    @property
    def identity(self) -> str:
        """The server is known by the name that it gave itself when it started, whatever its address."""
        address = self._server.address
        return f"{self._server.info().get('run_id', address.where)}/{address.db}/{address.base}"

    def tend(self) -> None:
        self._tend()

    # Out

    def export(self, state: State) -> Iterator[Parcel]:
        return self._packed(list(self.ids(state)))

    def ids(self, state: State) -> Iterator[str]:
        return self._ids(str(state))

    def find(self, ref: str) -> Parcel | None:
        (found,) = self._standing([ref])
        return next(self._packed([found[0]]), None) if found[1] not in ("", LEAVING) else None

    def depart(self, parcels: Sequence[Parcel], to: str) -> list[Parcel]:
        gone: list[Parcel] = []
        for part in _parts(parcels):
            arguments: list[Any] = [to]
            for parcel in part:
                task = parcel.task
                arguments += [task.id, str(task.state), task.epoch, task.attempts, task.deaths, parcel.token or ""]
            answers = self._server.ask("depart", *arguments)
            gone += [
                replace(parcel, to=to, token=left.decode()) for parcel, left in zip(part, answers, strict=True) if left
            ]
        return gone

    def departed(self, to: str | None = None) -> Iterator[Parcel]:
        return (parcel for parcel in self._packed(list(self._ids(LEAVING))) if parcel.to and to in (None, parcel.to))

    def dismiss(self, parcels: Iterable[Parcel]) -> None:
        for part in _parts(list(parcels)):
            self._server.ask("dismiss", *[word for parcel in part for word in (parcel.id, parcel.token)])

    # In

    def objections(self, parcels: Iterable[Parcel]) -> dict[str, str]:
        given = list(parcels)
        found = taken(given, self._owner, self._state)
        for part in _parts(given):
            for parcel, (_, state) in zip(part, self._standing([parcel.id for parcel in part]), strict=True):
                if state == LEAVING:
                    found[parcel.id] = "it is on its way from there to another queue"
        return found

    def admit(self, parcels: Sequence[Parcel]) -> dict[str, Outcome]:
        outcomes: dict[str, Outcome] = {}
        for parcel in parcels:
            answer = self._admitted(parcel, parcel.task.key or "")
            if answer[0] == b"taken":
                self._admitted(parcel.refused(answer[1].decode(), round(self._now(), 3)), "")
                answer = [Outcome.DUPLICATE.encode()]
            outcomes.setdefault(parcel.id, Outcome(answer[0].decode()))
        return outcomes

    def missing(self, ids: Iterable[str]) -> set[str]:
        return {
            task_id
            for part in _parts(list(ids))
            for task_id, (_, state) in zip(part, self._standing(part), strict=True)
            if not state
        }

    def _admitted(self, parcel: Parcel, key: str) -> Sequence[bytes]:
        task, cell, facet = parcel.task, parcel.cell, facet_of(parcel.task)
        now = micro(self._now())
        fields = fields_of(task) | {name: str(getattr(cell, name)) for name in ("epoch", "attempts", "deaths")}
        score = now
        if cell.state is State.SCHEDULED:
            score = micro(cell.due)
            fields["due"] = str(score)
        elif cell.state in TERMINAL:
            score = micro(parcel.history[-1].at) if parcel.history else now
            fields["holder"] = parcel.holder
        answer: Sequence[bytes] = self._server.ask(
            "admit",
            task.id,
            encode(task.to_record()),
            facet.code,
            facet.to_bytes() if "-" in facet.code else b"",
            key.encode(),
            task.unique,
            micro(task.pushed_at),
            str(cell.state),
            score,
            encode(fields),
            *[encode(event_record(event)) for event in parcel.history],
        )
        return answer

    # Look

    def _ids(self, state: str) -> Iterator[str]:
        offset = 0
        while True:
            page = self._server.ask("ids", state, offset, PAGE * 10)
            yield from (task_id.decode() for task_id in page)
            if len(page) < PAGE * 10:
                return
            offset += len(page)

    def _packed(self, ids: Sequence[str]) -> Iterator[Parcel]:
        for part in _parts(ids):
            for view, past in self._server.ask("pack", *part):
                found = known(view)
                yield _parcel(found, past)

    def _standing(self, refs: Sequence[str]) -> list[tuple[str, str]]:
        return [(found.decode(), state.decode()) for found, state in self._server.ask("standing", *refs)]

    def _owner(self, key: str) -> str | None:
        return self._standing([key])[0][0] or None

    def _state(self, task_id: str) -> State | None:
        state = self._standing([task_id])[0][1]
        return State(state) if state in list(State) else None


def _parcel(found: Known, past: Sequence[bytes]) -> Parcel:
    return Parcel(
        task=found.task,
        due=found.cell.due,
        holder=found.cell.holder if found.cell.state is State.COMPLETED else "",
        history=events(past, found),
        to=found.fields.get("to", ""),
        token=found.fields.get("departed" if found.fields["state"] == LEAVING else "by", ""),
    )


def _parts(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (items[start : start + PAGE] for start in range(0, len(items), PAGE))
