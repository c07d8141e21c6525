"""Sending in batches: as few requests as SQS allows, and nothing that was not sent goes unsaid."""

from collections.abc import Iterator, Sequence
from typing import Any

from dibs.errors import BadInput, DibsError, StorageError
from dibs.queues.sqs.service import TRIES, Service

BATCH = 10
BATCH_BYTES = 256 * 1024
Entry = dict[str, Any]


def send(service: Service, url: str, bodies: Sequence[tuple[str, int]]) -> None:
    """Send each body with its delay in whole seconds. When it fails the error says how many were added.

    A request whose answer was lost is sent again: then a message may be there twice.
    """
    added = 0
    for batch in _batches(bodies):
        waiting = {str(n): {"Id": str(n), "MessageBody": body, "DelaySeconds": wait} for n, (body, wait) in batch}
        problem: DibsError | None = None
        for _ in range(TRIES):
            try:
                answer = service.ask("send_message_batch", QueueUrl=url, Entries=list(waiting.values()))
            except (StorageError, BadInput) as error:
                problem = error
                break
            for done in answer.get("Successful", ()):
                added += waiting.pop(done["Id"], None) is not None
            if not waiting:
                break
            problem, final = _problem(answer.get("Failed", ()))
            if final:
                break
        if waiting:
            problem = problem or StorageError("SQS did not say what became of them")
            raise type(problem)(f"{added} of {len(bodies)} tasks were added, then: {problem}")


def _batches(bodies: Sequence[tuple[str, int]]) -> Iterator[list[tuple[int, tuple[str, int]]]]:
    batch: list[tuple[int, tuple[str, int]]] = []
    size = 0
    for n, (body, wait) in enumerate(bodies):
        length = len(body.encode())
        if batch and (len(batch) == BATCH or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((n, (body, wait)))
        size += length
    if batch:
        yield batch


def _problem(failed: Sequence[Entry]) -> tuple[DibsError, bool]:
    """The error, and whether trying again is of no use."""
    for entry in failed:
        if entry.get("SenderFault"):
            return BadInput(f"SQS refused one: {entry.get('Message') or entry.get('Code')}"), True
    return StorageError(f"SQS failed: {failed[0].get('Code') if failed else 'no answer'}; try again later"), False
