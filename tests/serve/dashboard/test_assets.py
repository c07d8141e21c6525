"""The files of the page: there for anybody, nothing from elsewhere, no way for data to become markup."""

import http.client
import re

import pytest
from hatchling.builders.wheel import WheelBuilder
from tests.docs.pages import ROOT

from dibs.serve.dashboard.assets import files
from serve.conftest import Ask
from serve.daemon import Daemon
from waiting import PATIENCE

SCRIPTS = sorted(name for name in files() if name.endswith(".js"))


def fetched(daemon: Daemon, path: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=PATIENCE)
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()


def test_they_need_no_token_and_forbid_all_that_is_not_theirs(daemon: Daemon) -> None:
    for path in ("/", *(f"/assets/{name}" for name in files() if name != "index.html")):
        status, headers, body = fetched(daemon, path)
        assert status == 200, path
        assert body
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


OTHERS = (
    "/assets/../places.py",
    "/assets/%2e%2e/places.py",
    "/assets//etc/passwd",
    "/assets/",
    "/assets/js",
    "/index.html",
)


@pytest.mark.parametrize("path", OTHERS)
def test_nothing_else_can_be_had(ask: Ask, path: str) -> None:
    assert ask("GET", path).status == 404


def test_the_page_has_no_script_or_style_of_its_own_and_names_no_other_host() -> None:
    page = files()["index.html"][0].decode()
    assert not re.search(r"<style|style=|\son\w+=|<script(?![^>]*\ssrc=)", page)
    for name, (content, _) in files().items():
        text = re.sub(r"http://www\.w3\.org/2000/svg", "", content.decode())
        found = re.findall(r"(?:https?:)?//[a-z][\w.-]*\.[a-z]{2,}", re.sub(r"https://example\.com", "", text))
        assert not found, f"{name}: {found}"


def test_everything_that_the_page_loads_is_there() -> None:
    page = files()["index.html"][0].decode()
    for name in re.findall(r'(?:href|src)="assets/([^"]+)"', page):
        assert name in files()
    for script in SCRIPTS:
        for name in re.findall(r'from "\./([^"]+)"', files()[script][0].decode()):
            assert f"js/{name}" in files(), f"{script} imports {name}"


@pytest.mark.parametrize("script", SCRIPTS)
def test_nothing_that_is_shown_is_read_as_markup(script: str) -> None:
    text = files()[script][0].decode()
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser",
                "createContextualFragment", "srcdoc", "javascript:"):  # fmt: skip
        assert way not in text
    assert len(text.splitlines()) < 300


def test_they_are_in_the_wheel() -> None:
    packed = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert {f"dibs/serve/dashboard/assets/{name}" for name in files()} <= packed
