"""A task as an SQS message: what is sent, and what is made of what comes.

The body is the task's record with `"dibs": 1` in it. What others sent to the queue is a task too: its payload is the
body (as JSON, if it is JSON) and its id is SQS's own. A task's epoch is how often SQS gave it out.
"""

import base64
from typing import Any

from dibs.errors import BadInput, FormatError
from dibs.states import State
from dibs.task import Task, decode, encode, is_id, task_from_record
from dibs.values import dataclass, replace

VERSION = 1
MAX_BODY_BYTES = 1 << 20  # of any queue; a queue may allow less, and then SQS says so
#: SQS refuses these two; everything else that JSON text may contain it takes.
_NOT_IN_XML = {ord("\ufffe"): "\\ufffe", ord("\uffff"): "\\uffff"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What SQS gave: `receipt` is what every later step on it must show."""

    id: str
    receipt: str
    body: str
    count: int  # how often it was given out, this time included
    sent_at: float
    attributes: dict[str, dict[str, str]]  # as others set them, binary ones in base64

    def task(self) -> Task:
        """FormatError when a newer dibs wrote it."""
        found = self._own() or Task(id=self.id, payload=self._payload(), pushed_at=self.sent_at)
        return replace(found, state=State.CLAIMED, epoch=self.count, attempts=self.count - 1)

    def _own(self) -> Task | None:
        if not self.body.startswith("{"):
            return None
        try:
            record = decode(self.body.encode())
            version = record.get("dibs")
            if isinstance(version, int) and version > VERSION:
                raise FormatError(
                    f"message {self.id} has format {version}, this dibs knows up to {VERSION}; install a newer one"
                )
            task = task_from_record(record) if version == VERSION else None
        except BadInput:
            return None
        return task if task is not None and is_id(task.id) else None

    def _payload(self) -> Any:
        try:
            return decode(self.body.encode())
        except BadInput:
            return self.body


def body_of(task: Task) -> str:
    """BadInput when it is no JSON, or more than any SQS queue takes."""
    body = encode({"dibs": VERSION, **task.to_record()}).decode().rstrip("\n").translate(_NOT_IN_XML)
    size = len(body.encode())
    if size > MAX_BODY_BYTES:
        raise BadInput(
            f"payload takes {size} bytes as a message, SQS takes at most {MAX_BODY_BYTES}; "
            "put it into a file or bucket and push its name"
        )
    return body


def message_from_answer(answer: dict[str, Any]) -> Message:
    system = answer.get("Attributes", {})
    return Message(
        id=answer["MessageId"],
        receipt=answer["ReceiptHandle"],
        body=answer["Body"],
        count=max(1, int(system.get("ApproximateReceiveCount", 1))),
        sent_at=int(system.get("SentTimestamp", 0)) / 1000,
        attributes={name: _to_text(value) for name, value in answer.get("MessageAttributes", {}).items()},
    )


def attributes_to_send(message: Message) -> dict[str, dict[str, Any]]:
    return {name: _from_text(value) for name, value in message.attributes.items()}


def _to_text(value: dict[str, Any]) -> dict[str, str]:
    if "BinaryValue" in value:
        return {"DataType": value["DataType"], "base64": base64.b64encode(value["BinaryValue"]).decode()}
    return {"DataType": value["DataType"], "StringValue": value.get("StringValue", "")}


def _from_text(value: dict[str, str]) -> dict[str, Any]:
    if "base64" in value:
        return {"DataType": value["DataType"], "BinaryValue": base64.b64decode(value["base64"])}
    return dict(value)
