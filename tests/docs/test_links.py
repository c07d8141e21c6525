"""Links between pages lead somewhere."""

import pytest
from tests.docs.pages import ROOT, Page, pages


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links_resolve(page: Page) -> None:
    for link in page.links:
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        path = page.path.parent / target if target else page.path
        assert path.exists(), f"{page.name} links to {link}, which is not there"
        if anchor:
            there = Page(path, path.read_text(encoding="utf-8"))
            assert anchor in there.anchors, f"{page.name} links to {link}: no such heading; there are {there.anchors}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    known = {page.path.resolve(): page for page in pages()}
    todo, seen = [ROOT / "README.md"], set()
    while todo:
        path = todo.pop().resolve()
        if path in seen:
            continue
        seen.add(path)
        if path.is_dir():
            todo += path.glob("*.md")
        elif path in known:
            todo += [path.parent / link.partition("#")[0] for link in known[path].links if "://" not in link]
    assert sorted(str(path) for path in known if path not in seen) == []
