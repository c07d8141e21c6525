"""The queue itself on the server: its URL, its making, its attributes, and where its dead letters go.

A queue made here keeps messages for 14 days, the most SQS offers, and has a dead-letter queue beside it,
`NAME-failed`, so that the console and `aws sqs start-message-move-task` can bring failed tasks back.
"""

import json
from threading import Lock
from typing import Any

from dibs.queues.sqs.address import FAILED, Address
from dibs.queues.sqs.service import Exists, NoQueue, Service

RETENTION_SECONDS = 14 * 86400
#: SQS's own limit, for what dibs does not end itself: it looks at max_attempts and max_deaths of each task.
MAX_RECEIVES = 100


class Place:
    def __init__(self, address: Address, service: Service, *, create: bool) -> None:
        self._address = address
        self._service = service
        self._create = create
        self._lock = Lock()
        self._url = address.queue_url
        self._failed_url: str | None = None

    @property
    def url(self) -> str:
        """NoQueue when there is none and it is not to be created."""
        if self._url is None:
            with self._lock:
                if self._url is None:
                    self._url = self._found_or_made()
        return self._url

    def attributes(self, *names: str, url: str | None = None) -> dict[str, str]:
        answer = self._service.ask("get_queue_attributes", QueueUrl=url or self.url, AttributeNames=list(names))
        return dict(answer.get("Attributes", {}))

    def failed_url(self, *, create: bool = True) -> str | None:
        """The dead-letter queue: the one that the queue's redrive policy names, else `NAME-failed`."""
        url = self.url
        with self._lock:
            if self._failed_url is None:
                policy = self.attributes("RedrivePolicy", url=url).get("RedrivePolicy")
                if policy:
                    self._failed_url = self._named_by(policy)
                else:
                    try:
                        self._failed_url = self._find(self._address.name + FAILED)
                    except NoQueue:
                        self._failed_url = self._make(self._address.name + FAILED) if create else None
            return self._failed_url

    def _named_by(self, policy: str) -> str:
        *_, account, name = json.loads(policy)["deadLetterTargetArn"].split(":")
        try:
            return self._find(name, account)
        except NoQueue:
            text = f"the dead-letter queue {name} of {self._address.name} is not there; create it, or mend the policy"
            raise NoQueue(text) from None

    def _found_or_made(self) -> str:
        name = self._address.name
        try:
            return self._find(name)
        except NoQueue:
            if not self._create:
                raise
        failed = self._make(name + FAILED)
        arn = self.attributes("QueueArn", url=failed)["QueueArn"]
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": MAX_RECEIVES})
        return self._make(name, RedrivePolicy=policy)

    def _find(self, name: str, account: str | None = None) -> str:
        owner: dict[str, Any] = {"QueueOwnerAWSAccountId": account} if account else {}
        return str(self._service.ask("get_queue_url", QueueName=name, **owner)["QueueUrl"])

    def _make(self, name: str, **attributes: str) -> str:
        wanted: dict[str, Any] = {"MessageRetentionPeriod": str(RETENTION_SECONDS), **attributes}
        try:
            return str(self._service.ask("create_queue", QueueName=name, Attributes=wanted)["QueueUrl"])
        except Exists:
            return self._find(name)  # somebody else made it in their own way
