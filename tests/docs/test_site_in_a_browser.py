"""Every page of the built site in a real Chromium: wide and phone-wide, light and dark."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium")

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FOLDER = os.environ.get("SPLINEAR_SITE", "")
SITE = Path(FOLDER or ".").resolve()
PAGES = sorted(SITE.rglob("*.html")) if FOLDER else []
PAGES = [path for path in PAGES if "_static" not in path.parts]
SIZES = {"wide": (1400, 900), "phone": (390, 844)}

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not BROWSER or not DRIVER, reason="there is no Chromium, or no driver"),
    pytest.mark.skipif(not PAGES, reason="SPLINEAR_SITE names no built site"),
]

LOOK = """
document.querySelectorAll("img").forEach((own) => own.setAttribute("loading", "eager"));
const done = arguments[arguments.length - 1];
const images = [...document.querySelectorAll("img")];
const wide = document.documentElement;
const look = () => {
  if (!images.every((own) => own.complete)) return setTimeout(look, 10);
  done({
    broken: images.filter((own) => !own.naturalWidth).map((own) => own.src),
    overflow: wide.scrollWidth - wide.clientWidth,
    theme: wide.dataset.theme,
    words: document.querySelector("main").innerText.length,
  });
};
look();
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(60)
    yield driver
    driver.quit()


def look(browser: Any, path: Path, size: str, theme: str) -> dict[str, Any]:
    width, height = SIZES[size]
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    wanted = {"name": "prefers-color-scheme", "value": theme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [wanted]})
    browser.get(path.as_uri())
    return browser.execute_async_script(LOOK)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(SITE)))
def test_pages(browser: Any, path: Path) -> None:
    browser.get_log("browser")  # what other pages have left
    for size in SIZES:
        for theme in ("light", "dark"):
            seen = look(browser, path, size, theme)
            where = f"{size}, {theme}"
            assert not seen["broken"], where
            assert seen["overflow"] <= 0, where
            assert seen["theme"] == theme, where
            assert seen["words"] > 0, where
    said = browser.get_log("browser")
    assert not [entry["message"] for entry in said if entry["level"] == "SEVERE"]
