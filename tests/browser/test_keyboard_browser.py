"""Everything can be done without a mouse, and it is always seen where one is."""

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import Opening
from dibs.queues.queue import Queue
from dibs.task import NewTask


@pytest.fixture
def page(opened: Opening, queue: Queue) -> Page:
    queue.push_many(NewTask(payload={"n": number}, key=f"k{number:03}") for number in range(120))
    return opened("#/q/q")


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.closest('tr')?.dataset.key ?? document.activeElement.tagName"))


def test_rows_pages_search_and_back(page: Page) -> None:
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(50)
    first, second = (str(rows.nth(place).get_attribute("data-key")) for place in (0, 1))
    page.keyboard.press("ArrowDown")
    assert focused(page) == first
    page.keyboard.press("j")
    assert focused(page) == second
    page.keyboard.press("k")
    page.keyboard.press("x")
    expect(page.get_by_text("1 task chosen")).to_be_visible()
    page.keyboard.press("x")
    page.keyboard.press("n")
    expect(page.get_by_text("51–100 of 120")).to_be_visible()
    page.keyboard.press("p")
    expect(page.get_by_text("1–50 of 120")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".why")).to_be_visible()
    page.keyboard.press("Escape")
    expect(rows).to_have_count(50)
    page.keyboard.press("/")
    page.keyboard.type("k117")
    expect(rows).to_have_count(1)


def test_jumps_and_the_list_of_keys(page: Page) -> None:
    for key, heading in (("w", "Workers"), ("c", "Charts"), ("d", "Dependencies"), ("t", "Tasks")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page.locator(".tabs [aria-current]")).to_have_text(heading)
    page.keyboard.press("g")
    page.keyboard.press("o")
    expect(page.get_by_role("heading", name="Queues", level=1)).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Keys")).to_have_count(0)


STOP = """() => {
    const one = document.activeElement;
    const seen = (element) => Boolean(element) && getComputedStyle(element).outlineStyle !== "none";
    const name = one.textContent.trim() || one.getAttribute("aria-label") || one.tagName;
    return [name, seen(one) || seen(one.closest("tr"))];
}"""
REACHED = (
    "Skip to the content",
    "Overview",
    "Forget token",
    "Pause",
    "Workers",
    "scheduled",
    "Search tasks",
    "Choose k",
)


def test_tab_reaches_everything_and_each_stop_is_seen(page: Page) -> None:
    expect(page.locator("tbody tr")).to_have_count(50)
    page.evaluate("document.body.tabIndex = -1; document.body.focus()")
    stops = []
    for _ in range(30):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(STOP))
    names = [name for name, _ in stops]
    assert [wanted for wanted in REACHED if not any(wanted in name for name in names)] == []
    assert [name for name, seen in stops if not seen] == []


def test_the_skip_link_leads_to_the_content_and_nowhere_else(page: Page) -> None:
    page.evaluate("document.body.tabIndex = -1; document.body.focus()")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert focused(page) == "MAIN"
    assert page.url.endswith("#/q/q")


def test_where_one_is_stays_there_when_something_new_comes(page: Page, queue: Queue) -> None:
    expect(page.locator("tbody tr")).to_have_count(50)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    here = focused(page)
    queue.push({"n": "urgent"}, key="urgent", priority=200)
    expect(page.locator("tbody tr").first).to_contain_text("urgent")
    assert focused(page) == here
