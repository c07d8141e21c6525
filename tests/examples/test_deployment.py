"""What is handed out for running a daemon: the dashboard asks for metrics that exist, and what is run is known."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dibs.cli import load, parser_of
from dibs.serve.metrics import METRICS

EXAMPLES = Path(__file__).parents[2] / "examples"
DOCS = Path(__file__).parents[2] / "docs"
_ENDINGS = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}
KNOWN = {f"{name}{ending}" for name, (kind, _, _) in METRICS.items() for ending in _ENDINGS[kind]}


def dashboard() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((EXAMPLES / "grafana-dashboard.json").read_text())
    return document


def expressions() -> list[str]:
    return [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]


def test_the_dashboard_asks_only_for_what_there_is() -> None:
    for expression in expressions():
        named = set(re.findall(r"\bdibs_\w+", expression))
        assert named, expression
        assert named <= KNOWN, expression
        for name, given in re.findall(r"(dibs_\w+)\{([^}]*)\}", expression):
            known = next(labels for metric, (_, labels, _) in METRICS.items() if name.startswith(metric))
            assert set(re.findall(r"(\w+)\s*[=!]~?", given)) <= set(known), expression


def test_the_dashboard_shows_every_metric() -> None:
    asked = " ".join(expressions())
    assert [name for name in METRICS if not re.search(rf"\b{name}(_bucket)?\b", asked)] == []


def test_every_metric_is_documented() -> None:
    page = (DOCS / "guides" / "monitoring.md").read_text()
    assert [name for name in METRICS if f"`{name}`" not in page] == []
    assert set(re.findall(r"\bdibs_\w+", page)) <= KNOWN | set(METRICS)


def test_panels_lie_beside_each_other() -> None:
    taken = set()
    for panel in dashboard()["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells


def unit() -> dict[str, list[str]]:
    parser = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",), dict_type=dict)
    parser.optionxform = str  # type: ignore[method-assign, assignment]
    parser.read(EXAMPLES / "dibs.service")
    return {name: shlex.split(value) for name, value in parser["Service"].items()}


def served(words: list[str]) -> Any:
    assert words[0] == "serve"
    return parser_of("serve", load("serve")).parse_args(words[1:])


def test_the_service_runs_a_command_that_exists() -> None:
    given = unit()
    args = served(given["ExecStart"][1:])
    assert (args.log, args.token) == ("json", "/var/lib/dibs/token")
    assert args.socket.startswith("/run/dibs/")  # made by RuntimeDirectory
    assert given["RuntimeDirectory"] == given["StateDirectory"] == ["dibs"]


def test_the_service_may_do_little() -> None:
    given = unit()
    for name in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices", "RestrictSUIDSGID"):
        assert given[name] == ["yes"]
    assert given["ProtectSystem"] == ["strict"]
    assert given["CapabilityBoundingSet"] == []
    assert given["User"] != ["root"]


def test_systemd_itself_finds_no_fault(tmp_path: Path) -> None:
    tool = shutil.which("systemd-analyze")
    if tool is None:
        return  # the rest is checked above
    text = (EXAMPLES / "dibs.service").read_text().replace("/opt/dibs/bin/dibs", "/bin/true")
    text = re.sub(r"(User|Group)=dibs", r"\1=daemon", text)  # one that is there
    (tmp_path / "dibs.service").write_text(text)
    done = subprocess.run([tool, "verify", str(tmp_path / "dibs.service")], capture_output=True, text=True, check=False)
    assert "dibs.service:" not in done.stderr, done.stderr


@pytest.fixture
def dockerfile() -> list[tuple[str, str]]:
    text = (EXAMPLES / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in lines]


def test_the_container_runs_a_command_that_exists(dockerfile: list[tuple[str, str]]) -> None:
    known = {"FROM", "RUN", "USER", "WORKDIR", "VOLUME", "ENV", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
    assert {name for name, _ in dockerfile} <= known
    assert dockerfile[0][0] == "FROM"
    given = dict(dockerfile)
    args = served([*json.loads(given["ENTRYPOINT"])[1:], *json.loads(given["CMD"])])
    assert (args.listen, args.socket, args.queue) == ("0.0.0.0:8750", "none", ["/queues/default"])
    assert given["EXPOSE"] == "8750"
    assert given["USER"] == "dibs"
    check = json.loads(given["HEALTHCHECK"].partition("CMD ")[2])
    compile(check[2], "healthcheck", "exec")
    assert "/readyz" in check[2]
