"""What people do with it: see what is new, act on tasks and queues, find things."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import expect

import dibs
from browser.conftest import Opening
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.task import NewTask
from serve.daemon import Daemon


def test_what_another_process_pushes_and_claims_appears_without_a_reload(
    opened: Opening, queue: Queue, url: str
) -> None:
    page = opened("#/q/q")
    expect(page.get_by_text("Nothing is ready.")).to_be_visible()
    page.evaluate("window.same = true")
    push = f"import dibs; dibs.open({url!r}).push({{'n': 41}}, key='from-elsewhere')"
    subprocess.run([sys.executable, "-c", push], check=True)
    expect(page.get_by_role("row").filter(has_text="from-elsewhere")).to_be_visible()
    assert queue.claim() is not None
    expect(page.get_by_text("Nothing is ready.")).to_be_visible()
    page.get_by_role("link", name="claimed").click()
    expect(page.get_by_role("row").filter(has_text="from-elsewhere")).to_contain_text("heartbeat")
    assert page.evaluate("window.same") is True


def test_a_failed_task_is_retried(opened: Opening, queue: Queue) -> None:
    queue.push({"url": "https://example.com"}, key="broken", max_attempts=1)
    lease = queue.claim()
    assert lease is not None
    lease.fail("HTTP 503")
    page = opened("#/q/q?state=failed")
    page.get_by_role("link", name="url: https://example.com").click()
    expect(page.locator(".why")).to_contain_text("HTTP 503")
    expect(page.locator(".history")).to_contain_text("Lease 1 failed")
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_text("broken is back in the queue")).to_be_visible()
    expect(page.locator(".why")).to_contain_text("ready at priority 50")
    assert queue.get("broken").state is State.READY


def test_a_held_task_is_released_and_its_holder_is_fenced_off(opened: Opening, queue: Queue) -> None:
    queue.push(1, key="held")
    lease = queue.claim()
    assert lease is not None
    page = opened("#/q/q/workers")
    page.locator("tbody").get_by_role("link").click()
    page.get_by_role("button", name="Release").click()
    page.get_by_role("button", name="Leave it").click()
    assert queue.get("held").state is State.CLAIMED
    page.get_by_role("button", name="Release").click()
    page.get_by_role("dialog").get_by_role("button", name="Release").click()
    expect(page.locator(".why")).to_contain_text("ready at priority 50")
    assert queue.get("held").state is State.READY
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.locator(".why")).to_contain_text("cancelled")
    assert queue.get("held").state is State.CANCELLED


def test_the_priority_of_a_waiting_task_is_changed(opened: Opening, queue: Queue) -> None:
    queue.push(1, key="slow")
    page = opened("#/q/q/t/slow")
    page.get_by_label("Priority").select_option("200")
    expect(page.locator(".why")).to_contain_text("ready at priority 200")
    assert queue.get("slow").priority == 200


def test_a_queue_is_paused_and_resumed(opened: Opening, queue: Queue) -> None:
    page = opened("#/q/q")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("main .badge")).to_contain_text("paused: from the dashboard")
    assert queue.paused is not None
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("main .badge")).to_have_count(0)
    assert queue.paused is None


def test_several_are_cancelled_at_once(opened: Opening, queue: Queue) -> None:
    queue.push_many(NewTask(payload={"n": number}, key=f"k{number}") for number in range(5))
    page = opened("#/q/q")
    for number in (1, 3):
        page.get_by_label(f"Choose k{number}").check()
    expect(page.get_by_text("2 tasks chosen")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("row").filter(has_text="k3")).to_have_count(0)
    assert {task.key for task in queue.tasks("cancelled")} == {"k1", "k3"}


def test_what_is_refused_is_said(opened: Opening, queue: Queue) -> None:
    queue.push(1, key="one")
    page = opened("#/q/q/t/one")
    page.get_by_role("button", name="Cancel").click()
    queue.cancel("one")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.locator(".toast.bad")).to_contain_text("cannot cancel a task that is cancelled")


def test_filters_search_and_states_stay_in_the_address(opened: Opening, queue: Queue) -> None:
    queue.push({"url": "https://a.example"}, key="a", project="news", labels=["html"])
    queue.push({"url": "https://b.example"}, key="b", project="shop", delay=600)
    page = opened("#/q/q?state=all")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    page.get_by_label("Filter by project").select_option("shop")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("b.example")
    page.get_by_label("Filter by project").select_option("")
    page.get_by_label("Search tasks").fill("a.exam")
    expect(page).to_have_url(re.compile("text=a.exam"))
    expect(rows).to_have_count(1)
    page.reload()
    expect(page.get_by_label("Search tasks")).to_have_value("a.exam")
    expect(rows).to_contain_text("a.example")
    page.get_by_label("Search tasks").fill("nowhere")
    expect(page.get_by_text("No task matches.")).to_be_visible()


def test_a_search_that_did_not_read_all_says_so(opened: Opening, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.serve.dashboard.finding.MOST_READ", 3)
    queue.push_many(range(5))
    page = opened("#/q/q?state=ready")
    page.get_by_label("Search tasks").fill("nowhere")
    expect(page.get_by_text("No match in the first 3 tasks.")).to_be_visible()
    expect(page.get_by_text("No task matches.")).to_have_count(0)


def test_a_search_that_cannot_be_read_says_why(opened: Opening, queue: Queue) -> None:
    queue.push("needle")
    page = opened("#/q/q?text=needle")
    expect(page.get_by_role("row").filter(has_text="needle")).to_be_visible()
    page.get_by_label("Search tasks").fill("(((")
    expect(page.get_by_text("the query cannot be read")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="needle")).to_be_hidden()
    page.get_by_label("Search tasks").fill("needle")
    expect(page.get_by_role("row").filter(has_text="needle")).to_be_visible()
    expect(page.get_by_text("the query cannot be read")).to_be_hidden()


def test_what_is_found_can_be_paged_through(opened: Opening, queue: Queue) -> None:
    queue.push_many(f"needle {number}" for number in range(70))
    page = opened("#/q/q?text=needle")
    expect(page.locator("tbody tr")).to_have_count(50)
    page.get_by_role("button", name="Next").click()
    expect(page.locator("tbody tr")).to_have_count(20)
    expect(page.locator(".said")).to_have_text("51–70")


def test_what_is_over_says_when_it_ended(opened: Opening, queue: Queue) -> None:
    queue.push(1)
    lease = queue.claim()
    assert lease is not None
    lease.complete()
    page = opened("#/q/q?state=completed")
    expect(page.get_by_role("columnheader", name="Ended")).to_be_visible()


def test_workers_that_wait_are_no_nobody(opened: Opening, daemon: Daemon) -> None:
    page = opened("#/q/q/workers")
    expect(page.get_by_text("Nobody works on anything.")).to_be_visible()
    with dibs.open(daemon.url) as queue, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(queue.claim, wait=60)
        expect(page.get_by_text("1 worker waits for tasks.")).to_be_visible()
        queue.push("enough")
        assert waiting.result(60) is not None


def test_secrets_are_not_in_what_the_browser_gets(opened: Opening, queue: Queue) -> None:
    queue.push({"user": "ada", "password": "hunter2"}, key="login")
    page = opened("#/q/q")
    expect(page.get_by_text("user: ada · password: •••")).to_be_visible()
    page.get_by_role("link", name="user: ada").click()
    expect(page.locator("pre").first).to_contain_text('"password": "•••"')
    assert "hunter2" not in page.content()


def test_a_daemon_that_is_gone_is_noticed(opened: Opening, daemon: object) -> None:
    page = opened()
    expect(page.locator(".live")).to_have_text("live")
    daemon.stop()  # type: ignore[attr-defined]
    expect(page.locator(".live")).to_have_text("connection lost")
