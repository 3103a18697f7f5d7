"""Small fits to report on, and a reader that takes a page apart."""

import warnings
from dataclasses import dataclass, field
from html.parser import HTMLParser

import numpy as np
import pandas as pd

import tailoredbayes as tb

VOID = {"meta", "link", "input", "br", "img", "hr"}
HOSTILE = ["<script>alert(1)</script>", "a\"b&c'd", "cost $x$ $\\frac", "</title>{{7*7}}"]


def rows(n, seed, names=("age", "nodes")):
    """Rows of the paper's first simulation, with more columns of noise if more names are given."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, len(names)))
    y = rng.random(n) < x[:, 1] / (x[:, 0] + x[:, 1])
    return pd.DataFrame(x, columns=list(names)), y


def quietly(model, *given, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tb.TailoringWarning)
        return model.fit(*given, **more)


def family(names=("age", "nodes"), thresholds=(0.2, 0.3, 0.5), **more):
    parameters = {"discount_grid": [2, 10, 40], "draws": 400, "random_state": 0, **more}
    return quietly(tb.TailoredFamily(thresholds, **parameters), *rows(300, 1, names))


@dataclass
class Element:
    tag: str
    attributes: dict
    text: str = ""
    inside: list = field(default_factory=list)

    def find(self, tag, **wanted):
        """All elements of a tag inside, in order, with these attributes."""
        found = []
        for one in self.inside:
            if one.tag == tag and all(one.attributes.get(k) == v for k, v in wanted.items()):
                found.append(one)
            found += one.find(tag, **wanted)
        return found

    def walk(self):
        yield self
        for one in self.inside:
            yield from one.walk()

    @property
    def words(self):
        """All text inside, in order."""
        return " ".join("".join(self._pieces()).split())

    def _pieces(self):
        for one in self.inside:
            yield from [one.text] if one.tag == "#text" else one._pieces()


class Page(HTMLParser):
    """A page as a tree; it fails on elements that are not closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.root = Element("page", {})
        self.open = [self.root]
        self.feed(text)
        self.close()
        assert self.open == [self.root], [one.tag for one in self.open]

    def handle_starttag(self, tag, attrs):
        one = Element(tag, dict(attrs))
        self.open[-1].inside.append(one)
        if tag not in VOID:
            self.open.append(one)

    def handle_startendtag(self, tag, attrs):
        self.open[-1].inside.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].inside.append(Element("#text", {}, data))

    def find(self, tag, **wanted):
        return self.root.find(tag, **wanted)

    def section(self, key):
        (found,) = self.find("section", id=key)
        return found


def table(place, caption):
    """The cells of the table whose caption begins so: a list of dicts by heading."""
    for one in place.find("table"):
        if one.find("caption")[0].words.startswith(caption):
            head = [cell.words for cell in one.find("thead")[0].find("th")]
            body = one.find("tbody")[0].find("tr")
            cells = [[c.words for c in row.inside if c.tag in ("th", "td")] for row in body]
            assert all(len(row) == len(head) for row in cells)
            return [dict(zip(head, row, strict=True)) for row in cells]
    raise AssertionError(f"no table {caption!r}")
