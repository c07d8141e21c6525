"""OpenTelemetry traces, when DIBS_TRACES=1: spans push, claim, run, and complete, fail or release of every task.

Nothing is carried in a task, whatever stores it: the id of the trace is the id of the task. So whoever pushes, works
and serves makes spans of one trace, on any backend, without knowing of each other. What pushed it is linked to. The
spans hang on a root that is nobody's span: it stands for the task itself.

Exporting is the application's to set up, or that of `opentelemetry-instrument` (of opentelemetry-distro); without it
nothing happens.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from dibs.errors import DibsError, MissingExtra

if TYPE_CHECKING:
    from dibs.queues.held import Lease
    from dibs.queues.queue import Queue
    from dibs.task import Task

_ENDS = ("complete", "fail", "release")


def trace(queue: Queue, *, works: bool = True) -> None:
    """From now on the steps of this queue make spans. `works`: whoever claims here runs the tasks too."""
    _Traces(queue, works).install()


def flush(seconds: float) -> None:
    """Export what waits to be. For a process that is about to end without the interpreter's usual end."""
    from opentelemetry import trace as api

    force = getattr(api.get_tracer_provider(), "force_flush", None)  # only of a provider that exports
    if force is not None:
        force(int(seconds * 1000))


def trace_id_of(task_id: str) -> int:
    """The id of a task, which is as long as one of a trace; of names that are no such id (files), a digest."""
    try:
        found = int(task_id, 16) if len(task_id) == 32 else 0
    except ValueError:
        found = 0
    return found or int.from_bytes(sha256(task_id.encode(errors="surrogatepass")).digest()[:16])


class _Traces:
    def __init__(self, queue: Queue, works: bool) -> None:
        try:
            from opentelemetry import trace as api
        except ImportError:
            raise MissingExtra(
                "DIBS_TRACES needs opentelemetry, which is not installed; pip install 'dibs[traces]'"
            ) from None
        self._api = api
        self._tracer = api.get_tracer("dibs")
        self._queue = queue
        self._works = works
        self._about = {"dibs.queue": queue.address, "dibs.backend": type(queue).__name__}

    def install(self) -> None:
        from dibs.queues.queue import Queue

        queue: Any = self._queue
        queue._insert = self._insert(queue._insert)
        queue._take = self._take(queue._take)
        for step in _ENDS:
            setattr(queue, step, self._end(step, getattr(queue, step)))
        if type(queue)._chain is not Queue._chain:  # else it is a complete and a take, which are traced
            queue._chain = self._chain(queue._chain)
        if type(queue)._chain_many is not Queue._chain_many:
            queue._chain_many = self._chain_many(queue._chain_many)
        if type(queue).complete_many is not Queue.complete_many:
            queue.complete_many = self._complete_many(queue.complete_many)

    # Steps

    def _insert(self, act: Callable[[list[Task]], list[Task]]) -> Callable[[list[Task]], list[Task]]:
        def insert(tasks: list[Task]) -> list[Task]:
            began = self._now()
            pushed = act(tasks)
            now = self._api.get_current_span().get_span_context()
            links = [self._api.Link(now)] if now.is_valid else []
            for task in pushed:
                if not task.duplicate:
                    self._span("push", task.id, began, links=links, priority=task.priority, key=task.key)
            return pushed

        return insert

    def _take(self, act: Callable[..., list[Lease]]) -> Callable[..., list[Lease]]:
        def take(*wanted: Any) -> list[Lease]:
            began = self._now()
            leases = act(*wanted)
            for lease in leases:
                self._claimed(lease, began)
            return leases

        return take

    def _end(self, step: str, act: Callable[..., None]) -> Callable[..., None]:
        def end(lease: Lease, *args: Any, **more: Any) -> None:
            began = self._now()
            try:
                act(lease, *args, **more)
            except DibsError as error:
                self._ended(step, lease, began, error)
                raise
            self._ended(step, lease, began)

        return end

    def _chain(self, act: Callable[..., Lease | None]) -> Callable[..., Lease | None]:
        def chain(lease: Lease, *args: Any) -> Lease | None:
            began = self._now()
            try:
                following = act(lease, *args)
            except DibsError as error:
                self._ended("complete", lease, began, error)
                raise
            self._ended("complete", lease, began)
            if following is not None:
                self._claimed(following, began)
            return following

        return chain

    def _chain_many(self, act: Callable[..., list[Lease]]) -> Callable[..., list[Lease]]:
        def chain_many(given: list[Lease], *args: Any) -> list[Lease]:
            began = self._now()
            following = act(given, *args)
            for lease in given:
                if lease.state == "completed":
                    self._ended("complete", lease, began)
            for lease in following:
                self._claimed(lease, began)
            return following

        return chain_many

    def _complete_many(self, act: Callable[[list[Lease]], list[Lease]]) -> Callable[[list[Lease]], list[Lease]]:
        def complete_many(leases: Any) -> list[Lease]:
            given, began = list(leases), self._now()
            lost = act(given)
            for lease in given:
                if lease not in lost:
                    self._ended("complete", lease, began)
            return lost

        return complete_many

    # Spans

    def _claimed(self, lease: Lease, began: int) -> None:
        self._span("claim", lease.id, began, epoch=lease.epoch, worker=lease.worker)

    def _ended(self, step: str, lease: Lease, began: int, error: DibsError | None = None) -> None:
        clock = self._queue.clock
        if self._works:
            claimed = began - int((clock.boottime() - lease.since) * 1e9)
            self._span("run", lease.id, claimed, until=began, epoch=lease.epoch, worker=lease.worker)
        self._span(step, lease.id, began, error=error, epoch=lease.epoch, worker=lease.worker)

    def _span(
        self,
        name: str,
        task_id: str,
        began: int,
        *,
        until: int | None = None,
        links: Any = (),
        error: DibsError | None = None,
        **more: Any,
    ) -> None:
        trace_id = trace_id_of(task_id)
        task = self._api.SpanContext(
            trace_id, trace_id & 0xFFFF_FFFF_FFFF_FFFF or 1, is_remote=True,
            trace_flags=self._api.TraceFlags(self._api.TraceFlags.SAMPLED),
        )  # fmt: skip
        about = {f"dibs.{what}": value for what, value in more.items() if value is not None}
        span = self._tracer.start_span(
            f"dibs.{name}",
            context=self._api.set_span_in_context(self._api.NonRecordingSpan(task)),
            attributes={**self._about, "dibs.task": task_id, **about},
            links=links,
            start_time=began,
        )
        if error is not None:
            span.set_status(self._api.Status(self._api.StatusCode.ERROR, type(error).__name__))
        span.end(end_time=until or self._now())

    def _now(self) -> int:
        return int(self._queue.clock.wall() * 1e9)
