"""claim, renew, complete, fail, release, claimed: specs taken and finished by hand or by a script.

A claim made here belongs to no process, or to `--pid`: it holds for its TTL, four hours if nothing is said. The epoch
may be left out by the user who claimed it on this machine.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dibs.cli.exits import DONE, NOTHING, USAGE, CommandError
from dibs.cli.output import clean, emit, say
from dibs.cli.specs.choosing import opened
from dibs.clock import iso
from dibs.errors import Refused
from dibs.states import State

if TYPE_CHECKING:
    from dibs.queues.held import Lease
    from dibs.queues.specs import SpecsQueue
    from dibs.task import Task


def _claim(args: Namespace) -> int:
    with opened(args, pid=args.pid) as queue:
        ttl = args.ttl or queue.stale
        if args.words:
            leases = [queue.claim_one(queue.resolve(ref), ttl) for ref in args.words]
        else:
            leases = queue.claim_many(1, ttl=ttl, project=args.project, labels=args.label or ())
        for lease in leases:
            _told(args, lease, "claimed", {"path": queue.path(lease.id), "expires_at": iso(lease.expires_at)})
        if not leases:
            say("nothing is ready; `dibs specs list` shows what there is, `dibs specs why ID` what keeps it")
        return DONE if leases else NOTHING


def _complete(args: Namespace) -> int:
    result = None
    if args.result is not None:
        from dibs.cli.payloads import read_json

        result = read_json(args.result, "--result")

    def step(lease: Lease) -> str:
        lease.complete(result)
        return "completed"

    return _step(args, step, claim_first=True)


def _fail(args: Namespace) -> int:
    def step(lease: Lease) -> str:
        lease.fail(args.error or "", retry=not args.no_retry)
        return "failed"

    return _step(args, step, claim_first=True)


def _renew(args: Namespace) -> int:
    if args.ttl is not None:
        raise CommandError("renew: a lease keeps the TTL it was claimed with", "dibs specs renew ID", USAGE)

    def step(lease: Lease) -> str:
        lease.renew()
        return "renewed"

    return _step(args, step)


def _release(args: Namespace) -> int:
    def step(lease: Lease) -> str:
        lease.release()
        return "released"

    with opened(args) as queue:
        for ref in args.words or [""]:
            task_id = _named(args, queue, ref)
            by_hand = (
                queue.git is None and queue.get(task_id).state is State.CLAIMED and not queue.detail(task_id).claim
            )
            if args.force or by_hand:
                queue.free(task_id)
                _said(args, {"id": task_id, "outcome": "released"}, clean(f"released {task_id}"))
            else:
                _finish(args, queue, task_id, step)
    return DONE


def _retry(args: Namespace) -> int:
    return _steer(args, lambda queue, task_id: queue.retry(task_id), "put back")


def _cancel(args: Namespace) -> int:
    return _steer(args, lambda queue, task_id: queue.cancel(task_id), "cancelled")


def _steer(args: Namespace, act: Callable[[SpecsQueue, str], Task], outcome: str) -> int:
    with opened(args) as queue:
        for ref in args.words or [""]:
            task = act(queue, _named(args, queue, ref))
            _said(args, {"id": task.id, "outcome": outcome}, clean(f"{outcome} {task.id}"))
    return DONE


def _claimed(args: Namespace) -> int:
    from dibs.cli.tables import table, without_empty

    with opened(args, look=True) as queue:
        claims = queue.claimed()
    if args.json:
        for claim in claims:
            emit(claim.to_json())
        return DONE
    headers = ("ID", "WORKER", "HOST", "PID", "EPOCH", "SINCE", "UNTIL")
    rows = [
        (claim.id, claim.worker, claim.host, _pid(claim), claim.epoch or "", iso(claim.claimed_at), _until(claim))
        for claim in claims
    ]
    print("\n".join(table(*without_empty(headers, rows))) if rows else "nothing is claimed")
    return DONE


def _pid(claim: Any) -> str:
    return "" if claim.pid is None else str(claim.pid)


def _until(claim: Any) -> str:
    return iso(claim.expires_at) if claim.ttl else ""


# Shared


def _step(args: Namespace, step: Callable[[Lease], str], *, claim_first: bool = False) -> int:
    with opened(args) as queue:
        for ref in args.words or [""]:
            _finish(args, queue, _named(args, queue, ref), step, claim_first=claim_first)
    return DONE


def _named(args: Namespace, queue: SpecsQueue, ref: str) -> str:
    if not ref:
        raise CommandError(f"{args.action}: give an id, or a unique part of one", "dibs specs list", USAGE)
    return queue.resolve(ref)


def _finish(
    args: Namespace, queue: SpecsQueue, task_id: str, step: Callable[[Lease], str], *, claim_first: bool = False
) -> None:
    if args.epoch is not None:
        lease = queue.lease(task_id, args.epoch)
    else:
        epoch = queue.own_epoch(task_id)
        if epoch is not None:
            lease = queue.lease(task_id, epoch)
        elif claim_first and queue.get(task_id).state is State.READY:
            lease = queue.claim_one(task_id, queue.stale)  # done without being claimed before: in one go
        else:
            why = queue.why(task_id).text.replace("\n", "; ")
            raise Refused(f"spec {task_id} is not claimed by you on this machine: {why}")
    outcome = step(lease)
    _told(args, lease, outcome, {"expires_at": iso(lease.expires_at)} if outcome == "renewed" else {})


def _told(args: Namespace, lease: Lease, outcome: str, more: dict[str, Any]) -> None:
    until = f" until {more['expires_at']}" if "expires_at" in more else ""
    path = f": {more['path']}" if "path" in more else ""
    words = f"{outcome} {lease.id} (epoch {lease.epoch}){until}{path}"
    _said(args, {"id": lease.id, "epoch": lease.epoch, "outcome": outcome, **more}, clean(words))


def _said(args: Namespace, record: dict[str, Any], words: str) -> None:
    emit(record) if args.json else print(words)


ACTIONS: dict[str, Callable[[Namespace], int]] = {
    "claim": _claim,
    "renew": _renew,
    "complete": _complete,
    "fail": _fail,
    "release": _release,
    "retry": _retry,
    "cancel": _cancel,
    "claimed": _claimed,
}
