"""100,000 tasks: the list opens at once, because the browser gets a page of them."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Response, Route, expect

from browser.conftest import Opening
from serve.daemon import Daemon

MANY = 100_000


@pytest.fixture
def url(quick_folder: Path) -> str:
    return f"lmdb:{quick_folder}/q?sync=off"  # the quickest to fill


def test_a_queue_of_100_000(opened: Opening, daemon: Daemon) -> None:
    daemon.house.counters["q"].desk.queue.push_many({"n": number} for number in range(MANY))
    got: list[Response] = []
    page = opened("#/")
    page.on("response", lambda response: got.append(response) if "/v1/dashboard/tasks" in response.url else None)
    page.get_by_role("row").get_by_role("link", name="q").click()
    expect(page.get_by_text("1–50 of 100,000")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(50)
    for wanted in ("51–100", "101–150", "151–200"):
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_text(f"{wanted} of 100,000")).to_be_visible()
    page.get_by_role("button", name="Previous").click()
    expect(page.get_by_text("101–150 of 100,000")).to_be_visible()
    sizes = [len(json.loads(response.text())["tasks"]) for response in got]
    assert set(sizes) == {50}
    assert len(sizes) <= 6


def test_who_turns_the_page_is_not_called_back_by_news(opened: Opening, daemon: Daemon) -> None:
    queue = daemon.house.counters["q"].desk.queue
    queue.push_many(range(120))
    page = opened("#/q/q")
    expect(page.get_by_text("1–50 of 120")).to_be_visible()
    held: list[Route] = []
    page.route(lambda url: "next=" in url, lambda route: held.append(route))
    with page.expect_request(lambda request: "next=" in request.url):
        page.get_by_role("button", name="Next").click()
    queue.push(1)
    expect(page.get_by_role("link", name="ready 121")).to_be_visible()
    held[0].continue_()
    expect(page.get_by_text("51–100 of 121")).to_be_visible()
