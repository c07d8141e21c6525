"""Which queues a client can use: those it was given, unless a person said otherwise."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

import dibs
from dibs.errors import BadInput
from dibs.mcp.places import Places
from waiting import PATIENCE

from .client import PROGRAM, connected, environment, queue_in


def served(folder: Path, *words: str, **env: str) -> dict[str, object]:
    done = subprocess.run(
        [PROGRAM, "mcp", *words, "--json"], cwd=folder, env=environment(**env), capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


def test_other_queues_are_refused_and_not_made(tmp_path: Path) -> None:
    queue_in(tmp_path, "secret", tasks=1)

    async def session() -> None:
        async with connected(tmp_path, "one", "file:two") as call:
            assert "no queue at" in await call.refused("list_tasks")
            assert not (tmp_path / "one").exists()
            for name in ("secret", str(tmp_path / "secret"), "file:secret", "../secret", "memory:", "", "s3://b/q"):
                for tool, more in (("list_tasks", {}), ("add_task", {"title": "x"}), ("claim_task", {})):
                    line = await call.refused(tool, queue=name, **more)
                    assert "is not served here; use one of: one, file:two" in line
            added = await call("add_task", title="made by adding")
            assert added["queue"] == "one"
            assert (await call("queue_stats", queue="file:one"))["queue"] == "one"
            assert (await call("add_task", title="x", queue="file:two"))["queue"] == "file:two"
            assert (await call("queue_stats"))["queues"] == ["one", "file:two"]

    asyncio.run(session())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "secret", "two"]


def test_any_queue_when_a_person_says_so(tmp_path: Path) -> None:
    queue_in(tmp_path, "other", tasks=1)

    async def session() -> None:
        async with connected(tmp_path, "one", "--any-queue") as call:
            claimed = await call("claim_task", queue="other")
            assert claimed["queue"] == "other"
            assert "memory:" in await call.refused("add_task", title="x", queue="memory:")
            assert "no backend for" in await call.refused("list_tasks", queue="ftp:x")
            line = await call.refused("list_tasks", queue="postgres://me:hunter2@db/q?token=abc")
            assert "hunter2" not in line
            assert "abc" not in line

    asyncio.run(session())
    assert dibs.open(str(tmp_path / "other")).stats().states["ready"] == 1


def test_without_names_the_queues_of_dibs_toml_or_the_default_place(tmp_path: Path) -> None:
    assert served(tmp_path)["queues"] == {"file:.dibs/queues/default": "file:.dibs/queues/default"}
    (tmp_path / "dibs.toml").write_text(
        '[queues.a]\nurl = "in/a"\n[queues.b]\nurl = "s3://key:${SECRET}@bucket/b"\nttl = "2m"\n'
    )
    answer = served(tmp_path, SECRET="hunter2")
    assert answer["queues"] == {"a": f"file:{tmp_path}/in/a", "b": "s3://key:***@bucket/b"}
    assert answer["any_queue"] is False
    assert served(tmp_path, "b", "x", "--any-queue", SECRET="s")["any_queue"] is True
    chosen = served(tmp_path, SECRET="s", DIBS_QUEUE="b")["queues"]
    assert list(chosen) == ["b", "a"]
    assert not (tmp_path / "in").exists()


def test_settings_of_a_queue_hold_for_its_client(tmp_path: Path) -> None:
    (tmp_path / "dibs.toml").write_text('[queues.a]\nurl = "a"\nttl = "2m"\nmax_attempts = 7\n')

    async def session() -> None:
        async with connected(tmp_path) as call:
            await call("add_task", title="x")
            claimed = (await call("claim_task"))["task"]
            shown = await call("show_task", id=claimed["id"])
            assert (shown["task"]["max_attempts"], shown["claim"]["ttl"]) == (7, 120)

    asyncio.run(session())


def test_markdown_specs_are_a_queue_like_any_other(tmp_path: Path) -> None:
    folder = tmp_path / "specs"
    folder.mkdir()

    async def session() -> Path:
        async with connected(tmp_path, "specs:specs") as call:
            first = await call("add_task", title="Fix it", body="All of it.", labels=["a"])
            second = await call("add_task", title="Then this", after=[first["id"]])
            assert [task["summary"] for task in (await call("ready_tasks"))["tasks"]] == ["Fix it"]
            task = (await call("claim_task", labels=["a"]))["task"]
            assert (task["id"], task["payload"]["title"]) == (first["id"], "Fix it")
            assert "status: in_progress" in (folder / f"{first['id']}.md").read_text()
            await call("complete_task", id=task["id"], epoch=task["epoch"])
            assert "status: completed" in (folder / f"{first['id']}.md").read_text()
            assert (await call("claim_task"))["task"]["id"] == second["id"]
            return folder / f"{second['id']}.md"

    assert "status: pending" in asyncio.run(session()).read_text()


def test_two_queues_that_differ_only_in_their_secrets_are_refused() -> None:
    class There:
        def __init__(self, url: str) -> None:
            self.url = url

        def setting(self, name: str) -> None:
            raise AssertionError

    def opening(place: object, *, create: bool) -> dibs.Queue:
        raise AssertionError

    given = [(url, There(url)) for url in ("s3://a:x@b/q", "s3://a:y@b/q")]
    with pytest.raises(BadInput, match=r"s3://a:\*\*\*@b/q"):
        Places(given, opening)


@pytest.mark.parametrize("missing", ["mcp", "mcp_types"])
def test_without_the_sdk_the_error_names_the_command(tmp_path: Path, missing: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{missing!r}] = None\n")
    done = subprocess.run(
        [sys.executable, "-m", "dibs", "mcp", "q"],
        cwd=tmp_path,
        env=environment(PYTHONPATH=str(tmp_path)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("dibs: ")
    assert "pip install 'dibs[mcp]'" in line
