"""A real browser for the report page: Debian's Chromium and its driver, without a window."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")


def found(names: tuple[str, ...]) -> str | None:
    """The first of these programs that is installed."""
    return next((path for name in names if (path := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """Start a browser that records what it logs and asks for; skip where there is none."""
    selenium = pytest.importorskip("selenium.webdriver")
    service = pytest.importorskip("selenium.webdriver.chrome.service")
    browser, driver = found(CHROMIUM), found(("chromedriver",))
    if browser is None or driver is None:
        pytest.skip("no Chromium with its driver: apt-get install chromium chromium-driver")
    with tempfile.TemporaryDirectory() as home:
        options = selenium.ChromeOptions()
        options.binary_location = browser
        arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage"]
        arguments += [
            f"--user-data-dir={home}",
            "--window-size=1280,900",
            "--force-color-profile=srgb",
        ]
        arguments += ["--disable-background-networking", "--no-first-run", "--disable-sync"]
        arguments.append("--force-prefers-reduced-motion")  # scrolls at once
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            arguments.append("--no-sandbox")
        for argument in arguments:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        window = selenium.Chrome(options=options, service=service.Service(driver))
        try:
            window.set_page_load_timeout(60)
            yield window
        finally:
            window.quit()


def open_page(window: Any, path: Path) -> None:
    """Open a page and wait until its script has run."""
    for kind in ("browser", "performance"):
        window.get_log(kind)  # forget what was before
    window.get(path.as_uri())
    assert window.execute_script("return document.documentElement.dataset.ready") == "yes"


def complaints(window: Any) -> list[str]:
    """What the browser had to say since the page was opened: errors, broken policies."""
    return [entry["message"] for entry in window.get_log("browser")]


def requests(window: Any, page: Path) -> list[str]:
    """What was asked for since, besides the page itself."""
    asked = []
    for entry in window.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated"):
            params = message["params"]
            asked.append(params.get("url") or params["request"]["url"])
    own = ("data:", "chrome:", "about:")  # what never leaves the browser
    return [
        url for url in asked if url.partition("#")[0] != page.as_uri() and not url.startswith(own)
    ]
