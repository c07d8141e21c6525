"""`dibs search`, with and without a daemon: the same answers."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dibs
from serve.process import PROGRAM, Process


@pytest.fixture
def folder(quick_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A queue of files, the default one, and specs, and a cache of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(quick_folder / "xdg"))
    (quick_folder / "dibs.toml").write_text(
        'queue = "work"\n[queues.work]\nurl = "file:q?sync=off"\n[queues.plans]\nurl = "specs:.dibs/specs"\n'
    )
    specs = quick_folder / ".dibs" / "specs"
    specs.mkdir(parents=True)
    for number, status in enumerate(("pending", "completed", "pending")):
        page = f"---\nstatus: {status}\nlabels: [backend]\npriority: {number}\n---\n# Auth {number}\n\nTokens.\n"
        (specs / f"auth-{number}.md").write_text(page)
    with dibs.open(f"file:{quick_folder}/q?sync=off") as queue:
        for number in range(5):
            queue.push({"n": number, "word": "needle"}, priority=number, labels=["backend"])
    return quick_folder


def run(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DIBS_")}
    return subprocess.run([PROGRAM, *words], cwd=folder, env=clean, capture_output=True, text=True, check=False)


def found(folder: Path, *words: str) -> list[Any]:
    done = run(folder, "search", *words, "--json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_here_and_through_a_daemon(folder: Path) -> None:
    asked = [
        ("needle label:backend status:pending", "work", "--sort", "priority"),
        ("tokens status:pending", "plans", "--sort", "priority"),
        ("auth", "plans", "--sort", "oldest"),
        ("status:pending AND ready:true", "plans", "--sort", "newest"),
    ]
    alone = [found(folder, *words) for words in asked]
    assert [task["priority"] for task in alone[0]] == [4, 3, 2, 1, 0]
    assert [task["id"] for task in alone[1]] == ["auth-2", "auth-0"]
    assert [task["id"] for task in alone[2]] == ["auth-0", "auth-1", "auth-2"]
    assert [task["id"] for task in alone[3]] == ["auth-2", "auth-0"]
    process = Process(folder, "work", "plans")
    try:
        for words, before in zip(asked, alone, strict=True):
            query, name, *more = words
            assert found(folder, query, f"unix:{folder}/s/{name}", *more) == before
            assert found(folder, *words) == before  # the daemon has the index: one in memory does as well
    finally:
        assert process.end() == 0


def test_a_table_for_people(folder: Path) -> None:
    done = run(folder, "search", "needle", "--limit", "2", "--sort", "priority")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].split() == ["ID", "STATE", "PRIO", "LABELS", "PAYLOAD"]
    assert len(done.stdout.splitlines()) == 3
    assert "and 3 more" in done.stderr
    assert run(folder, "search", "nowhere").stdout == "nothing found\n"


def test_what_is_wrong_is_one_line(folder: Path) -> None:
    done = run(folder, "search", "(a")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == ["dibs: the query cannot be read: a `(` is not closed"]
    assert run(folder, "search", "a", "--limit", "5000").returncode == 2
    assert run(folder, "search", "a", "--sort", "size").returncode == 2


def test_without_the_extra_it_says_what_to_install(folder: Path) -> None:
    code = (
        "import sys; sys.modules['tantivy'] = None\n"
        "from dibs.cli import main\n"
        "sys.exit(main(['search', 'a', 'work']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'dibs[serve]'" in done.stderr


def test_settings_of_the_daemon(folder: Path) -> None:
    with (folder / "dibs.toml").open("a") as file:
        file.write(f'[daemon]\ncache = false\nindex = "{folder}/elsewhere"\nrescan = "5s"\n')
    process = Process(folder, "work")
    try:
        assert len(found(folder, "needle", f"unix:{folder}/s/work")) == 5
        assert list((folder / "elsewhere").glob("search-*/index/meta.json"))
    finally:
        process.end()
    (folder / "dibs.toml").write_text('[daemon]\ncache = "perhaps"\n')
    done = run(folder, "serve", "q", "--listen", "127.0.0.1:0", "--token", str(folder / "token"), "--socket", "none")
    assert done.returncode == 2
    assert "true or false" in done.stderr
