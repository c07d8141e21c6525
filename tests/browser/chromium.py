"""The browser of these tests: the system's own, which no package of Python brings."""

import os
import shutil

ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
_NAMES = ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome")


def program() -> str | None:
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


def wanted() -> bool:
    """Where everything must be tested a missing browser is a failure, not an excuse."""
    return program() is not None or os.environ.get("CI") == "true"
