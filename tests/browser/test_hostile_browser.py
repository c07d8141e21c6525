"""Whatever stands in a queue is shown as text: no script of it runs, nothing of it becomes part of the page."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import Opening
from dibs.queues.queue import Queue

RAN = "window.ran = true"
HOSTILE = [
    f"<img src=x onerror='{RAN}'>",
    f"</script><script>{RAN}</script>",
    f"<svg onload='{RAN}'><a href='javascript:{RAN}'>x</a>",
    f'\'"><iframe srcdoc="<script>parent.{RAN}</script>">',
    f"${{{RAN}}} {{{{constructor.constructor('{RAN}')()}}}}",
    "\u202egnp.exe \u0000\u0007 \U0001f4a5 \ufffd",
]
PAGES = ("#/q/q?state=all", "#/q/q/graph", "#/q/q/workers", "#/q/q?state=all&text=%3Cimg", "#/q/q?state=failed")


def nothing_ran(page: Page) -> None:
    page.wait_for_timeout(100)  # for what would have run
    assert page.evaluate("window.ran") is None
    assert (
        page.evaluate("document.querySelectorAll('main iframe, main script, main img, main svg a[href^=java]').length")
        == 0
    )


@pytest.fixture
def full(queue: Queue) -> Queue:
    deep: Any = HOSTILE[0]
    for _ in range(200):
        deep = {HOSTILE[1]: deep}
    for number, text in enumerate(HOSTILE):
        queue.push(
            {"title": text, text: text}, key=f"{number}{text}", labels=[text[:60]], project=text[:60], priority=100
        )
        queue.push({text: [text]}, after=[f"{number}{text}", text])
    queue.push(deep, key="deep", priority=100)
    queue.push("x" * 2_000_000 + HOSTILE[0], key="huge", priority=100)
    lease = queue.claim()
    assert lease is not None
    lease.fail(HOSTILE[0], retry=False)
    lease = queue.claim()
    assert lease is not None
    lease.complete({HOSTILE[1]: HOSTILE[0]})
    queue.claim()
    queue.pause(HOSTILE[0])
    return queue


def test_lists_and_drawings(full: Queue, opened: Opening) -> None:
    page = opened()
    for at in PAGES:
        page.evaluate("hash => { location.hash = hash }", at)
        expect(page.locator("main [data-row], main a.node").first).to_be_visible()
        nothing_ran(page)
    page.evaluate("location.hash = '#/q/q?state=all'")
    expect(page.locator("main .line", has_text=HOSTILE[0]).first).to_be_visible()


def test_the_pages_of_tasks(full: Queue, opened: Opening) -> None:
    page = opened()
    for task in list(full.tasks()):
        page.evaluate("id => { location.hash = `#/q/q/t/${id}` }", task.id)
        expect(page.locator(".id", has_text=task.id)).to_be_visible()
        nothing_ran(page)
        if task.key == "huge":
            expect(page.get_by_text("Only the beginning is shown")).to_be_visible()


def test_an_address_that_somebody_sent(full: Queue, opened: Opening) -> None:
    page = opened()
    for text in (*HOSTILE[:4], "%", "..", "q/../../v1"):
        page.evaluate("text => { location.hash = `#/q/${encodeURIComponent(text)}/t/${text}` }", text)
        expect(page.get_by_text("is not served here")).to_be_visible()
        nothing_ran(page)
        page.evaluate("text => { location.hash = `#/q/q/t/${encodeURIComponent(text)}` }", text)
        expect(page.get_by_role("alert")).to_be_visible()
        nothing_ran(page)


WAYS_IN = (
    f"document.body.setAttribute('onclick', '{RAN}')",
    f"document.body.innerHTML = '<img onerror={RAN}>'",
    f"document.body.append(Object.assign(document.createElement('script'), {{textContent: '{RAN}'}}))",
    f"setTimeout('{RAN}')",
)


@pytest.mark.parametrize("way", WAYS_IN)
def test_the_browser_itself_refuses_what_the_page_never_does(opened: Opening, way: str) -> None:
    page = opened()
    assert (
        page.evaluate(f"() => {{ try {{ {way}; return 'done' }} catch (error) {{ return error.name }} }}")
        == "TypeError"
    )
    nothing_ran(page)
