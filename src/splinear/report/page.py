"""The HTML of the page.

Needs jinja2: ``pip install 'splinear[report]'``.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from splinear.inspection.bands import has_band
from splinear.inspection.summary import LEAST_P
from splinear.inspection.text import fixed, places_for
from splinear.model.fitted import FittedTerm
from splinear.report.cards import Card, flat_terms, make_cards
from splinear.report.content import Content
from splinear.report.facts import SHARED, facts, headline, parameters, versions
from splinear.report.pooling import LEAST_ROWS
from splinear.report.quality import Quality
from splinear.report.whatif import WhatIf, what_if

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["render"]


def render(
    content: Content,
    quality: Quality | None,
    title: str,
    n_test: int,
    *,
    weighted: bool,
    moved: bool,
) -> str:
    """Return the page as HTML."""
    environment = _environment()
    style = _file("page.css")
    script = "".join(map(_file, ("page.js", "threshold.js", "tables.js")))
    events = None if quality is None else quality.events
    panel = what_if(content)
    context: dict[str, object] = {
        "title": title,
        "policy": _policy(style, script),
        "style": style,
        "script": script,
        "data": _embedded(
            {
                **panel.data,
                "reach": _reach(content),
                "events": None if events is None else events.data(),
            }
        ),
        "headline": headline(content),
        "facts": facts(content),
        "parameters": parameters(content.model),
        "versions": versions(),
        "quality": quality,
        "events": events,
        "test_rows": f"{n_test:,}" if n_test else "",
        "test_hint": "for the measures below" if quality else "for the histograms below",
        "weighted": weighted,
        "moved": moved,
        "least_rows": LEAST_ROWS,
    }
    template = environment.get_template("page.html.jinja")
    return template.render(**context, **_of_terms(content), **_of_panel(content, panel))


def _environment() -> Environment:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "A report needs jinja2, which is not installed: pip install 'splinear[report]'"
        ) from error
    return Environment(
        loader=PackageLoader("splinear.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _file(name: str) -> str:
    return files("splinear.report").joinpath("templates", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return a content security policy that allows only the page's own style and script."""

    def hashed(text: str) -> str:
        return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; style-src {hashed(style)}; script-src {hashed(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _embedded(data: Mapping[str, object]) -> str:
    """Return JSON that is safe inside a script element, whatever text it contains."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # ASCII only
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _reach(content: Content) -> float:
    """Return the range of the bars of contributions, which covers nearly all rows."""
    ends = [max(abs(s.line.lowest), abs(s.line.highest)) for s in content.shown]
    usual = 1.5 * max((s.line.importance for s in content.shown), default=0.0)
    return min(max(ends, default=0.0), usual) or 1.0


def _of_panel(content: Content, panel: WhatIf) -> dict[str, object]:
    return {
        "what_if": panel,
        "outputs": content.outputs,
        "n_outputs": content.pieces.n_outputs,
        "has_probability": content.pieces.link in ("logistic", "softmax", "ordinal"),
    }


def _of_terms(content: Content) -> dict[str, object]:
    cards, lines = make_cards(content), _lines(content)
    pairs = [shown.is_pair for shown in content.drawn]
    curves: list[Card] = [card for card, is_pair in zip(cards, pairs, strict=True) if not is_pair]
    return {
        "unit": content.units[0] if content.is_factor else content.unit,
        "target": content.target_name,
        "is_factor": content.is_factor,
        "unit_long": content.units[0] if len(content.units) == 1 else content.unit,
        "lines": lines,
        "flat": flat_terms(content),
        "shared": [line for line, s in zip(lines, content.drawn, strict=True)
                   if s.line.concurvity >= SHARED],
        "has_edf": any(line["edf"] for line in lines),
        "has_tests": bool(content.model._posteriors),
        "has_concurvity": any(line["concurvity"] for line in lines),
        "has_bands": _has_bands(content),
        "largest": max((card.share for card in cards), default=1.0) or 1.0,
        "n_hidden": content.n_hidden,
        "curve_cards": curves,
        "surface_cards": [card for card in cards if card not in curves],
        "surfaces": any(pairs),
    }  # fmt: skip


def _has_bands(content: Content) -> bool:
    terms = [shown.term for shown in content.drawn if isinstance(shown.term, FittedTerm)]
    single = content.pieces.n_outputs == 1
    return single and any(has_band(content.model, term) for term in terms)


def _lines(content: Content) -> list[dict[str, object]]:
    """Return the lines of the table of terms, as text."""
    out: list[dict[str, object]] = []
    places = places_for(_reach(content) / 4)
    for k, shown in enumerate(content.drawn):
        line = shown.line
        p = "" if np.isnan(line.p_value) else f"{line.p_value:.2g}"
        out.append(
            {
                "anchor": f"term-{k + 1}",
                "name": line.feature,
                "kind": line.term,
                "share": shown.share,
                "importance": fixed(line.importance, places),
                "edf": "" if np.isnan(line.edf) else f"{line.edf:,.1f}",
                "p_value": f"< {LEAST_P:.0e}" if line.p_value < LEAST_P else p,
                "concurvity": "" if np.isnan(line.concurvity) else f"{line.concurvity:.2f}",
                "lowest": content.effect(line.lowest, places),
                "highest": content.effect(line.highest, places),
            }
        )
    return out
