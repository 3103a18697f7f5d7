"""Figures for the page: drawn by :mod:`tailoredbayes.plots`, made fit to stand inline."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from tailoredbayes.plots.style import settings, svg
from tailoredbayes.report.tables import Table

__all__ = ["Figure", "figure", "inline_svg"]

_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_HREF = f"{{{_LINK}}}href"
_URL = re.compile(r"url\(#([^)]+)\)")
# Attributes that may hold url(#...).
_POINTING = ("clip-path", "fill", "stroke", "style", "mask", "marker-end", "marker-start")


@dataclass(frozen=True)
class Figure:
    """A picture, what it shows in words, and the table behind it."""

    key: str
    title: str
    caption: str
    picture: Markup
    table: Table | None = None
    wide: bool = False
    """Whether it takes the whole width of the page."""


def figure(
    key: str,
    draw: Callable[[], Any],
    title: str,
    caption: str,
    table: Table | None = None,
    *,
    mathematics: bool = False,
    wide: bool = False,
) -> Figure:
    """Draw a figure; ``key`` names it, and all that is inside, within the page.

    Names from data are drawn as they are: a dollar sign is no mathematics unless asked for.
    """
    with _quietly(), settings({"text.parse_math": mathematics}):
        drawn = draw()
        text = svg(drawn)
        _close(drawn)
    return Figure(key, title, caption, inline_svg(text, key, title, caption), table, wide)


@contextmanager
def _quietly() -> Iterator[None]:
    """Draw on no screen; a browser has the letters that the fonts here may lack."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        yield


def _close(drawn: Any) -> None:
    import matplotlib.pyplot as plt

    first = drawn if isinstance(drawn, Axes | Drawing) else np.ravel(drawn)[0]
    plt.close(first if isinstance(first, Drawing) else first.get_figure(root=True))


def inline_svg(text: str, key: str, title: str, description: str) -> Markup:
    """Return an SVG element with a text for those who do not see it, and ids of its own.

    Every id gets ``key`` in front, so that many may stand in one page. The picture takes the width
    there is, up to its own.

    >>> print(inline_svg('<svg xmlns="http://www.w3.org/2000/svg" width="9pt" height="4pt">'
    ...                  '<g id="a"/></svg>', "f", "A & B", "Nothing."))
    <svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="f-title f-desc" \
style="width:9pt"><title id="f-title">A &amp; B</title><desc id="f-desc">Nothing.</desc>\
<g id="f-a" /></svg>
    """
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _LINK)
    root = ElementTree.fromstring(text)
    for metadata in root.findall(f"{{{_SVG}}}metadata"):
        root.remove(metadata)
    for element in root.iter():
        if "id" in element.attrib:
            element.set("id", f"{key}-{element.get('id')}")
        if element.get(_HREF, "").startswith("#"):
            element.set(_HREF, f"#{key}-{element.get(_HREF, '')[1:]}")
        for name in _POINTING:
            if "url(#" in element.get(name, ""):
                element.set(name, _URL.sub(rf"url(#{key}-\1)", element.get(name, "")))
    width = root.attrib.pop("width", "100%")
    for name in ("height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-labelledby", f"{key}-title {key}-desc")
    root.set("style", f"width:{width}")
    for place, (tag, words) in enumerate((("title", title), ("desc", description))):
        element = ElementTree.Element(f"{{{_SVG}}}{tag}", {"id": f"{key}-{tag}"})
        element.text = words
        root.insert(place, element)
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # escaped by ElementTree
