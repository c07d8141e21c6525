"""The tasks that are drained: numbered JSON documents of 200 bytes, so that each can be checked off afterwards."""

import json
from typing import Any

SIZE = 200


def payload(number: int) -> bytes:
    head = f'{{"n":{number},"pad":"'
    return (head + "x" * (SIZE - len(head) - 2) + '"}').encode()


def payloads(count: int) -> list[bytes]:
    return [payload(number) for number in range(count)]


def number_of(seen: Any) -> int:
    """The number of a task from whatever form a contender hands it out in."""
    document = seen if isinstance(seen, dict) else json.loads(seen)
    number: int = document["n"]
    return number
