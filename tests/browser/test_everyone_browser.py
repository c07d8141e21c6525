"""Every page, in light and dark and on a phone, passes what axe checks and fits its width."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from browser.conftest import Opening
from dibs.queues.queue import Queue
from dibs.task import NewTask

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}
PAGES = {
    "#/": "main tbody tr",
    "#/q/q": "main tbody tr",
    "#/q/q?state=claimed": "main tbody tr",
    "#/q/q?state=cancelled": "main .empty",
    "#/q/q/workers": "main tbody tr",
    "#/q/q/charts": "main .chart",
    "#/q/q/graph": "main a.node",
    "#/q/q/t/broken": "main .history",
    "#/q/q/t/last": "main .linked",
    "#/q/other": "main .empty",
}


@pytest.fixture
def full(queue: Queue) -> Queue:
    queue.push({"url": "https://broken.example"}, key="broken", max_attempts=1, priority=200)
    lease = queue.claim()
    assert lease is not None
    lease.fail("HTTP 503\nupstream said: later")
    queue.push_many(
        NewTask(payload={"url": f"https://example.com/{n}"}, project="news", labels=("html", "a-rather-long-label"))
        for n in range(12)
    )
    queue.claim_many(2)
    queue.push({"title": "A first step"}, key="first", delay=600)
    queue.push(
        {"title": "The last step, which has a title that is long enough for two lines"}, key="last", after=["first"]
    )
    queue.pause("disk full")
    return queue


@pytest.mark.parametrize(
    ("scheme", "size"), [("light", DESK), ("dark", DESK), ("light", PHONE)], ids=["light", "dark", "phone"]
)
def test_every_page(full: Queue, opened: Opening, scheme: str, size: Any) -> None:
    page = opened(color_scheme=scheme, viewport=size, reduced_motion="reduce")
    for at, there in PAGES.items():
        page.evaluate("hash => { location.hash = hash }", at)
        expect(page.locator(there).first).to_be_visible()
        fits(page, at)
        sound(page, f"{at} {scheme}")
    page.keyboard.press("?")
    sound(page, f"keys {scheme}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_that_asks_for_the_token(opened: Opening, scheme: str) -> None:
    page = opened(token=None, color_scheme=scheme, viewport=PHONE)
    expect(page.get_by_label("Token")).to_be_visible()
    fits(page, "token")
    sound(page, f"token {scheme}")


def fits(page: Page, at: str) -> None:
    wide = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert wide[0] <= wide[1], f"{at} is {wide[0]} wide"


def sound(page: Page, at: str) -> None:
    found = Axe().run(page)
    assert found.violations_count == 0, f"{at}: {found.generate_report()}"
