"""A browser, a daemon with a dashboard, and pages signed in to it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

import dibs
from browser import chromium
from dibs.queues.queue import Queue
from dibs.serve.dashboard.dashboard import Dashboard
from serve.daemon import TOKEN, Daemon

expect.set_options(timeout=60_000)
LONGEST = 60_000.0  # milliseconds that anything may take to appear
Opening = Callable[..., Page]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One for all, but not for longer: while it runs, this thread has an event loop."""
    program = chromium.program()
    assert program is not None, "there is no chromium; apt-get install chromium"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=chromium.ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def url(quick_folder: Path) -> str:
    return f"file:{quick_folder}/q?sync=off"


@pytest.fixture
def queue(url: str) -> Iterator[Queue]:
    with dibs.open(url) as opened:
        yield opened


@pytest.fixture
def daemon(url: str, queue: Queue) -> Iterator[Daemon]:
    running = Daemon(lambda: dibs.open(url, pid=None), beside=[Dashboard(["password"])])
    yield running
    running.stop()


@pytest.fixture
def opened(browser: Browser, daemon: Daemon) -> Iterator[Opening]:
    """Opens a page of the dashboard in a fresh profile. Whatever goes wrong in a page fails the test."""
    contexts: list[BrowserContext] = []
    wrong: list[str] = []

    def show(at: str = "#/", *, token: str | None = TOKEN, **settings: Any) -> Page:
        contexts.append(browser.new_context(locale="en-GB", **settings))
        contexts[-1].set_default_timeout(LONGEST)
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: request.url.startswith(home) or wrong.append(f"asked {request.url}"))
        home = f"http://127.0.0.1:{daemon.port}/"
        page.goto(home + (f"#token={token}" if token else ""))
        if token:
            page.wait_for_selector("main h1")
            page.evaluate("hash => { location.hash = hash }", at)
        return page

    yield show
    for context in contexts:
        context.close()
    assert not wrong, wrong
