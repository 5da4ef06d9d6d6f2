"""The site as it was built: SPLINEAR_SITE names the folder that sphinx-build wrote."""

from __future__ import annotations

import os
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

FOLDER = os.environ.get("SPLINEAR_SITE", "")
SITE = Path(FOLDER or ".").resolve()
PAGES = sorted(SITE.rglob("*.html")) if FOLDER else []
PAGES = [path for path in PAGES if "_static" not in path.parts]
ALL = """
install quick_start guide/index auto_examples/index api/index measured reproduce mathematics
architecture promises changelog contributing
"""
pytestmark = pytest.mark.skipif(not PAGES, reason="SPLINEAR_SITE names no built site")


class Page(HTMLParser):
    """Links, sources and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.images_without_words = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        self.links += [value for name in ("href", "src") if (value := given.get(name))]
        self.images_without_words += tag == "img" and not given.get("alt")


@cache
def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(SITE)))
def test_links_lead_somewhere(path: Path) -> None:
    for link in read(path).links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        assert target.is_relative_to(SITE), link
        assert target.exists(), link
        if parts.fragment and target.suffix == ".html":
            assert unquote(parts.fragment) in read(target).anchors, link


def test_pictures_have_words() -> None:
    """But for those of the gallery, whose titles stand beside them."""
    for path in PAGES:
        if "auto_examples" not in path.parts:
            assert read(path).images_without_words == 0, path


def test_all_there_is() -> None:
    for name in ALL.split():
        assert (SITE / f"{name}.html").exists()
    assert len(list((SITE / "guide").glob("*.html"))) > 15
    assert len(list((SITE / "api" / "generated").glob("*.html"))) > 50


def test_nothing_is_fetched_from_elsewhere() -> None:
    """Fonts, scripts and pictures are the site's own."""
    for path in PAGES:
        for link in read(path).links:
            if urlsplit(link).scheme in ("http", "https"):
                assert not link.endswith((".js", ".css", ".png", ".svg")), (path, link)
