"""The token: asked for once, kept in the tab, never in sight."""

from playwright.sync_api import expect

from browser.conftest import Opening
from dibs.queues.queue import Queue
from serve.daemon import READ_TOKEN, TOKEN, Daemon


def test_without_a_token_the_page_asks_for_it_and_remembers_it_for_the_tab(opened: Opening) -> None:
    page = opened(token=None)
    page.get_by_label("Token").fill("not the right one")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("alert")).to_contain_text("not right")
    page.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Queues", level=1)).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Queues", level=1)).to_be_visible()
    assert page.evaluate("localStorage.length") == 0
    assert page.context.cookies() == []


def test_a_token_in_the_address_is_gone_at_once(opened: Opening, daemon: Daemon) -> None:
    page = opened()
    assert page.url == f"http://127.0.0.1:{daemon.port}/#/"
    page.go_back()
    assert TOKEN not in page.url


def test_forgetting_the_token_asks_again(opened: Opening) -> None:
    page = opened()
    page.get_by_role("button", name="Forget token").click()
    expect(page.get_by_label("Token")).to_be_visible()


def test_who_may_only_look_is_told_so_and_offered_nothing_else(opened: Opening, queue: Queue) -> None:
    queue.push({"n": 1}, key="one")
    page = opened("#/q/q", token=READ_TOKEN)
    expect(page.get_by_text("Read only")).to_be_visible()
    page.get_by_role("link", name="n: 1").click()
    expect(page.get_by_text("ready at priority 50")).to_be_visible()
    for name in ("Pause", "Cancel", "Retry", "Release"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
    expect(page.get_by_role("checkbox")).to_have_count(0)


def test_a_page_of_another_site_cannot_frame_it(opened: Opening, daemon: Daemon) -> None:
    page = opened()
    framed = page.evaluate(
        """async () => {
            const frame = document.createElement("iframe");
            frame.src = "/";
            document.body.append(frame);
            await new Promise((loaded) => { frame.onload = loaded; });
            try { return frame.contentDocument.title } catch { return null }
        }"""
    )
    assert framed != "dibs"
