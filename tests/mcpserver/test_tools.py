"""Every tool, on a queue of files, by the SDK's client."""

import asyncio
from pathlib import Path
from typing import Any

from .client import connected, queue_in

NAMES = [
    "list_tasks",
    "ready_tasks",
    "show_task",
    "why_task",
    "add_task",
    "claim_task",
    "renew_task",
    "complete_task",
    "fail_task",
    "release_task",
    "queue_stats",
]


def test_the_life_of_tasks_through_every_tool(tmp_path: Path) -> None:
    async def session() -> None:
        async with connected(tmp_path, "q") as call:
            tools = {tool.name: tool for tool in (await call.client.list_tools()).tools}
            assert list(tools) == NAMES
            for tool in tools.values():
                assert tool.description
                assert tool.input_schema["additionalProperties"] is False
                assert tool.output_schema
            reads = {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint}
            assert reads == {"list_tasks", "ready_tasks", "show_task", "why_task", "queue_stats"}
            assert "q" in (call.client.instructions or "")

            first = await call("add_task", title="Fix it", body="all of it", key="fix", priority="high", labels=["a"])
            assert (first["state"], first["duplicate"]) == ("ready", False)
            again = await call("add_task", title="Fix it", key="fix")
            assert (again["id"], again["duplicate"]) == (first["id"], True)
            second = await call("add_task", payload=[1, None, {"x": "y"}], project="shop", after=["fix"])
            assert second["state"] == "blocked"

            listed = await call("list_tasks")
            assert [task["id"] for task in listed["tasks"]] == [first["id"], second["id"]]
            assert [task["summary"] for task in listed["tasks"]] == ["Fix it", '[1,null,{"x":"y"}]']
            assert listed["more"] == 0
            assert [task["key"] for task in (await call("ready_tasks"))["tasks"]] == ["fix"]
            assert [t["id"] for t in (await call("list_tasks", state="blocked"))["tasks"]] == [second["id"]]
            assert (await call("ready_tasks", labels=["b"]))["tasks"] == []
            assert "waits for fix" in (await call("why_task", id=second["id"]))["text"]

            assert (await call("claim_task", max_priority="normal"))["task"] is None
            claimed = (await call("claim_task", labels=["a"]))["task"]
            assert (claimed["id"], claimed["epoch"]) == (first["id"], 1)
            assert claimed["payload"] == {"title": "Fix it", "body": "all of it"}
            shown = await call("show_task", id="fix")
            assert shown["held_here"]
            assert shown["claim"]["epoch"] == 1
            held = {"id": first["id"], "epoch": 1}
            assert (await call("queue_stats"))["held"] == [held | {"key": "fix", "summary": "Fix it"}]
            renewed = await call("renew_task", id="fix", epoch=1)
            assert (renewed["outcome"], renewed["expires_at"] > "2020") == ("renewed", True)

            assert (await call("release_task", **held))["outcome"] == "released"
            claimed = (await call("claim_task"))["task"]
            assert claimed["epoch"] == 2
            held["epoch"] = 2
            assert (await call("complete_task", **held, result={"pages": 12}))["outcome"] == "completed"
            shown = await call("show_task", id=first["id"])
            assert (shown["task"]["state"], shown["result"]) == ("completed", {"pages": 12})

            claimed = (await call("claim_task", project="shop"))["task"]
            assert claimed["payload"] == [1, None, {"x": "y"}]
            held = {"id": second["id"], "epoch": 1}
            assert (await call("fail_task", **held, error="no luck", retry=False))["outcome"] == "failed"
            assert "no luck" in (await call("why_task", id=second["id"]))["text"]
            stats = await call("queue_stats")
            assert (stats["states"]["failed"], stats["states"]["completed"], stats["total"]) == (1, 1, 2)
            assert (stats["projects"], stats["held"], stats["queues"]) == ({"shop": {"failed": 1}}, [], ["q"])
            nothing = await call("claim_task")
            assert nothing["task"] is None
            assert nothing["note"].startswith("nothing to claim")

    asyncio.run(session())


def test_lists_are_bounded_and_say_how_many_more_there_are(tmp_path: Path) -> None:
    with queue_in(tmp_path, tasks=53) as queue:
        for number in range(3):
            queue.push({"title": "long " * 1000}, priority="high", project="shop", labels=["a", f"n{number}"])
        queue.pause("lunch")

    async def session() -> None:
        async with connected(tmp_path, "q", mode="legacy") as call:
            listed = await call("list_tasks")
            assert (len(listed["tasks"]), listed["more"]) == (50, 6)
            assert len(listed["tasks"][0]["summary"]) == 200
            assert (await call("ready_tasks", limit=200))["more"] == 0
            for chosen, more in (({"labels": ["a"]}, 2), ({"project": "shop"}, 2), ({"state": "ready"}, 55)):
                listed = await call("list_tasks", limit=1, **chosen)
                assert (len(listed["tasks"]), listed["more"]) == (1, more)
            listed = await call("list_tasks", limit=1, project="shop", labels=["a"])
            assert (len(listed["tasks"]), listed["more"]) == (1, None)
            assert "lunch" in (await call("claim_task"))["note"]

    asyncio.run(session())


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("add_task", {}, "nothing to add"),
    ("add_task", {"title": "a", "payload": 1}, "do not go together"),
    ("add_task", {"body": "a"}, "needs a title"),
    ("add_task", {"title": "a", "label": "x"}, "no argument 'label'"),
    ("add_task", {"title": "a", "priority": "urgent"}, "priority 'urgent'"),
    ("add_task", {"title": "a", "labels": [1]}, "'labels.0'"),
    ("add_task", {"title": "a", "key": ""}, "key ''"),
    ("add_task", {"title": "a", "key": "k" * 2000}, "at most 1024"),
    ("list_tasks", {"limit": 0}, "'limit'"),
    ("list_tasks", {"limit": 100000}, "'limit'"),
    ("list_tasks", {"state": "lost"}, "'state'"),
    ("show_task", {}, "'id' is missing"),
    ("show_task", {"id": "../../etc/passwd"}, "no task with id or key"),
    ("why_task", {"id": "\x1b[2J\n"}, "no task with id or key"),
    ("claim_task", {"ttl": 0}, "'ttl'"),
    ("claim_task", {"ttl": "soon"}, "'ttl'"),
    ("complete_task", {"id": "x"}, "'epoch' is missing"),
    ("complete_task", {"id": "x", "epoch": 1}, "not claimed by this session"),
    ("fail_task", {"id": "x", "epoch": 1, "error": ""}, "'error'"),
    ("release_task", {"id": "x", "epoch": 1, "delay": -1}, "'delay'"),
    ("delete_task", {"id": "x"}, "no tool 'delete_task'"),
]


def test_bad_arguments_are_refused_in_a_line_and_change_nothing(tmp_path: Path) -> None:
    queue = queue_in(tmp_path, tasks=1)

    async def session() -> None:
        async with connected(tmp_path, "q") as call:
            for name, arguments, words in BAD:
                line = await call.refused(name, **arguments)
                assert words in line, (name, arguments, line)
                assert line.isprintable()
            assert (await call("add_task", title="a list as text", labels='["x", "y"]'))["state"] == "ready"

    asyncio.run(session())
    assert queue.stats().states["ready"] == queue.stats().total == 2
    assert queue.stats().labels.keys() == {"x", "y"}
