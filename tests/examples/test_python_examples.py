"""The Python examples do what they say."""

import http.server
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.examples.conftest import EXAMPLES

import dibs

SITE = {
    "/": '<a href="/a">a</a> <a href="/b#part">b</a> <a href="http://elsewhere.invalid/">away</a>',
    "/a": '<a href="/">home</a> <a href="b">b</a>',
    "/b": '<a href="/gone">gone</a>',
}


@pytest.fixture
def site() -> Iterator[tuple[str, Counter[str]]]:
    """(address, how often each page was asked for)"""
    asked: Counter[str] = Counter()

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked[self.path] += 1
            body = SITE.get(self.path, "").encode()
            self.send_response(200 if body else 404)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/", asked
        server.shutdown()
        thread.join()


def run(tmp_path: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(EXAMPLES)}, timeout=60,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def example(tmp_path: Path, name: str, *arguments: str) -> list[str]:
    return run(tmp_path, sys.executable, "-W", "error", str(EXAMPLES / name), *arguments).splitlines()


def test_crawl_fetches_each_page_once_also_when_run_again(tmp_path: Path, site: tuple[str, Counter[str]]) -> None:
    address, asked = site
    for _ in range(2):
        example(tmp_path, "crawl.py", "queue", address)
    assert asked == {"/": 1, "/a": 1, "/b": 1, "/gone": 1}
    with dibs.open(str(tmp_path / "queue")) as queue:
        assert queue.detail(f"{address}a").result == {"characters": len(SITE["/a"])}
        assert queue.get(f"{address}gone").state == "failed"


def test_functions_are_pushed_and_called_by_a_worker(tmp_path: Path) -> None:
    said = example(tmp_path, "functions.py")
    assert said[0].startswith("{'a': 1")
    program = str(Path(sys.executable).with_name("dibs"))
    run(tmp_path, program, "work", "queues/words", "--call", "functions:tasks", "--until-empty", "-j", "2")
    with dibs.open(str(tmp_path / "queues/words")) as queue:
        assert queue.detail("hello").result == "HELLO HELLO"
        assert queue.detail(said[1]).result["it"] == 2


def test_the_pipeline_runs_in_order(tmp_path: Path) -> None:
    said = example(tmp_path, "pipeline.py", "queue")
    assert said[0] == "waits for join, which is blocked"
    assert sorted(said[1:4]) == ["load-customers", "load-items", "load-orders"]
    assert said[4:6] == ["join", "report"]
    assert said[6].startswith("completed")


def test_the_async_worker_completes_all(tmp_path: Path) -> None:
    assert example(tmp_path, "async_worker.py", "queue") == ["10 completed"]
