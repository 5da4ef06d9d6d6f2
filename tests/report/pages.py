"""Pages of reports as the tests read them."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from splinear import report

VOID = {"meta", "link", "input", "br"}
EVIL = "<script>alert(1)</script>"


class Page(HTMLParser):
    """The elements of a page: their names and attributes, and the text in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.content: dict[int, str] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self.open and self.open[-1] in ("script", "style"):
            self.content[len(self.elements) - 1] = data

    def named(self, *tags: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag in tags]

    @property
    def words(self) -> str:
        """What a reader can see or hear; neither scripts nor styles."""
        hidden = set(self.content.values())
        seen = [text for text in self.texts if text not in hidden]
        return " ".join(" ".join(seen).split())

    @property
    def data(self) -> dict[str, Any]:
        named = [attributes.get("id") for _, attributes in self.elements]
        at = named.index("model-data")
        return json.loads(self.content[at])  # type: ignore[no-any-return]


def written(folder: Path, model: Any, *arguments: Any, **more: Any) -> tuple[str, Page]:
    path = folder / "model.html"
    report.write(model, path, *arguments, **more)
    text = path.read_text(encoding="utf-8")
    return text, Page(text)


def unpacked(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f8")


def check_structure(text: str, page: Page) -> None:
    """Names that lead somewhere, labels, and nothing that is loaded from elsewhere."""
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.elements:
        for name in ("for", "aria-labelledby", "aria-describedby"):
            assert name not in attributes or attributes[name] in ids
        assert "style" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        assert "src" not in attributes
        href = attributes.get("href") or "#"
        assert href == "data:," if tag == "link" else href[1:] in ["", *ids]
    for attributes in page.named("svg"):
        assert attributes.get("aria-hidden") == "true" or (
            attributes["role"] == "img" and attributes["aria-label"]
        )
    labeled = {a["for"] for a in page.named("label") if "for" in a}
    for attributes in page.named("input", "select"):
        inside_a_label = attributes.get("type") == "checkbox"
        assert inside_a_label or "aria-label" in attributes or attributes["id"] in labeled
    assert len(page.named("h1", "main", "head")) == 3
    assert all("scope" in a for a in page.named("th"))
    assert page.named("html")[0]["lang"] == "en"
    assert "http:" not in re.sub(r"http://www\.w3\.org/2000/svg", "", text)
    assert "https:" not in text
    assert not re.findall(r"\b(?:nan|inf|undefined)\b", page.words)


def shown(page: Page, name: str) -> str:
    """The measure of this name."""
    found = re.search(rf"{re.escape(name)} (\S+) without features (\S+)", page.words)
    assert found, name
    return found[1]
