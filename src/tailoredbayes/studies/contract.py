"""What a study is: the records that a study's file fills in, and nothing that runs them.

A study is one file in this package that ends in a :class:`Study` called ``STUDY``. Its skeleton::

    @dataclass(frozen=True)
    class CoinSettings:
        n: tuple[int, ...] = setting((10, 100), "tosses")
        repetitions: int = setting(20, "repetitions of each setting")
        seed: int = setting(2021, "seed of everything")


    def cells(settings):
        for n, repetition in product(settings.n, range(settings.repetitions)):
            yield {"n": n, "repetition": repetition}


    def cell(settings, at):
        rng = stream(settings.seed, at)
        return {"share": [{"share": rng.binomial(at["n"], 0.5) / at["n"]}]}


    def claims(results):
        error = float((results["share"]["share"] - 0.5).abs().mean())
        yield Claim("section 1", "Half of the tosses are heads.", f"{error:.3f} off", error < 0.1)


    def exhibits(results):
        table = results["share"].groupby("n")["share"].agg(["mean", "sem"]).reset_index()
        yield Exhibit("share", "Share of heads by number of tosses.", table, shows="Figure 1")


    def about(results):
        return "A coin is tossed *n* times; the paper tossed it by hand."


    STUDY = Study(
        name="coin",
        title="Tossing a coin",
        settings=CoinSettings,
        cells=cells,
        cell=cell,
        claims=claims,
        exhibits=exhibits,
        about=about,
        shows=("Figure 1",),
    )

``tailoredbayes study run coin --n 10,1000`` then runs it, and its page lists ``Figure 1``. An
exhibit with ``draw=`` is a figure, one without is a table. Studies compute and never draw:
``draw`` hands a record to a function of ``tailoredbayes.plots``.

A cell is the unit that runs by itself, in any process, in any order, and is kept as it ends: it
takes its randomness from :func:`stream` alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Claim",
    "Coordinates",
    "Exhibit",
    "Results",
    "Rows",
    "Run",
    "Study",
    "Tables",
    "setting",
    "stream",
    "write_coordinates",
]

Coordinates: TypeAlias = Mapping[str, Any]
"""Where a cell lies: names to numbers and words, such as {"n": 500, "repetition": 3}."""
Rows: TypeAlias = "Sequence[Mapping[str, Any]] | pd.DataFrame"
Tables: TypeAlias = Mapping[str, Rows]
"""What a cell gives: rows by table. The cell's coordinates are put in front of each row; a column
of the same name, such as the n that a split came to, takes its place."""


def setting(default: Any, about: str) -> Any:
    """Return a dataclass field with a default and the help text of its flag.

    Numbers, words, booleans and tuples of numbers or words become flags; a tuple's is given as
    ``--n 500,1000``.
    """
    return field(default=default, metadata={"about": about})


def write_coordinates(at: Coordinates) -> str:
    """Write coordinates as text that depends on their names and values alone.

    >>> write_coordinates({"repetition": 3, "n": 500}) == write_coordinates(
    ...     {"n": 500, "repetition": 3}
    ... )
    True
    """
    return json.dumps(dict(at), sort_keys=True)


def stream(seed: int, at: Coordinates) -> np.random.Generator:
    """Return the stream of random numbers that belongs to these coordinates.

    Equal seeds and coordinates give equal streams, in any process and at any time; others give
    independent ones. Hand it fewer coordinates than the cell has and cells that agree in those
    share the stream: data common to several settings, say.

    >>> here, there = {"n": 500, "repetition": 0}, {"n": 500, "repetition": 1}
    >>> stream(1, here).random() == stream(1, here).random()
    True
    >>> stream(1, here).random() == stream(1, there).random()
    False
    """
    digest = hashlib.sha256(write_coordinates(at).encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.default_rng(np.random.SeedSequence([seed, *words]))


@dataclass(frozen=True)
class Claim:
    """One line of the table "paper / ours / agree?".

    Parameters
    ----------
    where
        The place in the paper: "section 3.1", "Figure 5".
    paper
        What the paper says there.
    ours
        What these results say, with its numbers.
    agrees
        Whether that is the same; None where the results cannot tell.
    """

    where: str
    paper: str
    ours: str
    agrees: bool | None


@dataclass(frozen=True)
class Exhibit:
    """A table of a page and, where there is a way to draw it, its figure.

    Parameters
    ----------
    name
        Part of the file's name: lower case, no spaces.
    caption
        What is seen, with what the marks mean.
    table
        A tidy frame: what is drawn, or shown.
    draw
        Called without arguments, returns matplotlib axes, an array of them, or a figure:
        ``lambda: plots.boundaries(record)``. None shows the table itself.
    shows
        The figure or table of the paper that this is, such as "Figure 2"; empty for our own.
    """

    name: str
    caption: str
    table: pd.DataFrame
    draw: Callable[[], Any] | None = None
    shows: str = ""


@dataclass(frozen=True)
class Run:
    """One run of a study, from its start to its end or its last cell."""

    started: str
    seconds: float
    cells: int
    workers: int
    backend: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Results:
    """What a study has found: its tables, with all that made them.

    ``results["name"]`` is the table of that name, cells in their own order, whatever the order in
    which they ran.
    """

    study: str
    settings: Any
    tables: Mapping[str, pd.DataFrame]
    runs: Sequence[Run]
    cells: int
    processor_seconds: float = 0.0
    missing: int = 0

    def __getitem__(self, name: str) -> pd.DataFrame:
        """Return one table."""
        if name not in self.tables:
            raise KeyError(f"no cell gave a table {name!r}; there are {', '.join(self.tables)}")
        return self.tables[name]

    @property
    def seconds(self) -> float:
        """Wall time of all runs together."""
        return sum(run.seconds for run in self.runs)


@dataclass(frozen=True)
class Study:
    """An experiment.

    Parameters
    ----------
    name
        The command's word, and the module's name.
    title
        The heading of its page.
    settings
        A frozen dataclass whose fields are all :func:`setting`; ``seed`` is one of them.
    cells
        Settings to the coordinates of every cell.
    cell
        Settings and coordinates to rows, by table. A function of a module, as processes find it
        by name.
    claims
        Results to the table "paper / ours / agree?".
    exhibits
        Results to figures and tables, in the page's order.
    about
        Results to the page's first paragraphs (Markdown): what was done, and where that differs
        from the paper.
    shows
        Every figure and table of the paper that the exhibits show, for the index of all pages.
    for_page
        Settings of the committed page that differ from the paper's, where those take too long.
    """

    name: str
    title: str
    settings: type
    cells: Callable[[Any], Iterable[Coordinates]]
    cell: Callable[[Any, Coordinates], Tables]
    claims: Callable[[Results], Iterable[Claim]]
    exhibits: Callable[[Results], Iterable[Exhibit]]
    about: Callable[[Results], str]
    shows: tuple[str, ...] = ()
    for_page: Mapping[str, Any] = field(default_factory=dict)
