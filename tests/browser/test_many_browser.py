"""100,000 tasks: the list opens at once, because the browser gets a page of them."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Response, expect

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
