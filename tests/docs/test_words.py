"""What the documentation must and must not say."""

import re

import pytest
from tests.docs.pages import ROOT, Page, pages


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_nothing_promises_exactly_once_delivery(page: Page) -> None:
    assert not re.search(r"exactly[- ]once (delivery|processing|execution|running)", page.text, re.IGNORECASE)


def test_the_readme_says_that_a_task_can_run_more_than_once() -> None:
    assert "A task can run more than once" in (ROOT / "README.md").read_text()


def test_lock_files_name_no_place_to_download_from() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text()
        assert "--hash=sha256:" in text
        assert not re.search(r"://|index-url|find-links|^-", text, re.MULTILINE), path.name
