"""Requests made up from the description of the API: no answer is a 500, and each is as the description says."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import dibs
from dibs.serve import handlers
from dibs.serve.answers import ANSWERS
from dibs.serve.openapi import describe
from serve.daemon import TOKEN, Daemon

EXAMPLES = 200 if os.environ.get("DIBS_LONG") else 12
CHECKS = (status_code_conformance, content_type_conformance, response_schema_conformance)
API = schemathesis.openapi.from_dict(describe("0")).exclude(operation_id="session")  # a stream, which has no end


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Daemon, list[str]]]:
    folder: Path = tmp_path_factory.mktemp("schema")
    longest, handlers.LONGEST_WAIT = handlers.LONGEST_WAIT, 0.01
    daemon = Daemon(lambda: dibs.open(f"file:{folder}/q?sync=off", pid=None))
    with dibs.open(daemon.url) as queue:
        ids = [task.id for task in queue.push_many([{"n": 1}, {"n": 2}, "three"])]
    yield daemon, ids
    daemon.stop()
    handlers.LONGEST_WAIT = longest


@API.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_as_described(case: Any, serving: tuple[Daemon, list[str]]) -> None:
    daemon, ids = serving
    if "queue" in case.path_parameters and len(case.path_parameters["queue"]) % 5:
        case.path_parameters["queue"] = "q"  # a made-up name never gets any further
    if "ref" in case.path_parameters and len(case.path_parameters["ref"]) % 3:
        case.path_parameters["ref"] = ids[len(case.path_parameters["ref"]) % len(ids)]
    given = {"Authorization": f"Bearer {TOKEN}"}
    answer = case.call(base_url=f"http://127.0.0.1:{daemon.port}", headers=given)
    assert answer.status_code != 500, answer.text
    case.validate_response(answer, checks=CHECKS)
    assert not [line for line in daemon.logged if "internal error" in line]


def test_every_answer_has_a_description() -> None:
    """One that says something: an empty one is met by anything."""
    described = describe("0")
    answers = {
        operation["operationId"]: next(iter(operation["responses"]["200"]["content"].values()))
        for operations in described["paths"].values()
        for operation in operations.values()
    }
    assert [name for name, answer in answers.items() if not answer.get("schema")] == []
    assert set(ANSWERS) == set(answers) - {"session", "metrics"}  # these two are plain text


def test_what_is_described_is_what_there_is(serving: tuple[Daemon, list[str]]) -> None:
    """Answers with something in them, which requests that are made up seldom get."""
    daemon, _ = serving
    with dibs.open(daemon.url) as queue:
        get, post = queue._connections.get, queue._connections.post  # type: ignore[attr-defined]
        queue.resume()  # whatever was made up before
        first = queue.push({"n": 1}, key="first", labels=["a"], project="p")
        queue.push(2, key="second", after=["first"], project="p", priority=60)
        answers = {
            "tasks": get("/tasks"),
            "get": get("/tasks/first"),
            "push": post("/tasks", {"tasks": [{"key": "second"}]}),
        }
        answers["claim"] = post("/claim", {"labels": ["a"], "project": "p", "session": "w"})
        assert [lease["id"] for lease in answers["claim"]["leases"]] == [first.id]
        answers |= {"claimed": get("/claimed"), "stats": get("/stats"), "lease": get("/tasks/first/lease", epoch=1)}
        answers |= {"detail": get("/tasks/first/detail"), "why": get("/tasks/second/why")}
        answers["complete"] = post("/tasks/first/complete", {"epoch": 1, "result": [1], "claim": {"project": "p"}})
        assert answers["complete"]["lease"] is not None
        answers["detail "] = get("/tasks/first/detail")
        answers["fail"] = post("/tasks/second/fail", {"epoch": 1, "error": "no", "retry": False})
        answers |= {"detail  ": get("/tasks/second/detail"), "retry": post("/tasks/second/retry")}
        answers |= {
            "prioritise": post("/tasks/second/priority", {"priority": 1}),
            "cancel": post("/tasks/second/cancel"),
        }
    schemas = describe("0")["components"]
    for name, answer in answers.items():
        jsonschema.validate(answer, {**ANSWERS[name.strip()], "components": schemas})
