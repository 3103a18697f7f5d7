"""The recipe: how the columns of a table become a design matrix, today and on another day.

Number columns go in as they are (or centred and scaled), a category of k levels as k - 1 columns of
0 and 1 against its baseline, the most frequent level; a formula says otherwise. The recipe is plain
data and goes into the model file as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.tables.chunks import Chunk, Table, TableError, listed, shown
from tailoredbayes.tables.columns import LARGEST, level_of, numbers, refuse_number
from tailoredbayes.tables.formula import Formula

__all__ = ["Category", "Number", "Raw", "Recipe", "TrainingData", "encode_category"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Raw = dict[str, NDArray[Any]]
"""Columns before the design: numbers (missing: NaN), or codes of levels (missing: -1)."""


@dataclass(frozen=True)
class Number:
    """A number column, and what its training values were."""

    name: str
    low: float
    high: float
    mean: float
    sd: float
    median: float
    missing: int = 0


@dataclass(frozen=True)
class Category:
    """A column of levels, the baseline first, and how often each was met in training."""

    name: str
    levels: tuple[str, ...]
    counts: tuple[int, ...]
    missing: int = 0


@dataclass(frozen=True)
class TrainingData:
    """Where a model comes from: the file, its rows and its events."""

    file: str
    sha256: str
    rows: int
    events: int
    left_out: int
    """Rows left out as they miss a value."""


@dataclass(frozen=True)
class Recipe:
    """All that `predict` must know to make of a table what `fit` made of it.

    Parameters
    ----------
    outcome, labels
        The outcome's column and its two labels: without the event, with it.
    columns
        The covariates in order.
    missing
        "refuse", "drop" or "impute": what was done about missing values.
    scale
        Whether number columns are centred and divided by their standard deviation.
    formula
        The right-hand side that makes the design, if there is one.
    ids, weights, reference_risk
        Columns with other roles.
    threshold
        The threshold that decisions are made at unless another is asked for.
    data, call
        The training data and the command, for the report.
    """

    outcome: str
    labels: tuple[str, str]
    columns: tuple[Number | Category, ...]
    missing: str = "refuse"
    scale: bool = False
    formula: Formula | None = None
    ids: tuple[str, ...] = ()
    weights: str | None = None
    reference_risk: str | None = None
    threshold: float | None = None
    data: TrainingData | None = None
    call: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def names(self) -> tuple[str, ...]:
        """The covariates' columns."""
        return tuple(column.name for column in self.columns)

    # --- From cells to columns, to the design ---------------------------------------------------

    def encode(self, table: Table, chunk: Chunk) -> Raw:
        """Return the covariates of a chunk as numbers and codes, or say which cell is wrong."""
        return {
            column.name: encode_number(table, chunk, column.name, known=True)
            if isinstance(column, Number)
            else encode_category(table, chunk, column.name, column.levels)
            for column in self.columns
        }

    def fill(self, raw: Raw) -> Raw:
        """Put the training median, or the most frequent level, where a value is missing."""
        filled = {}
        for column in self.columns:
            values = raw[column.name]
            if isinstance(column, Number):
                filled[column.name] = np.where(np.isnan(values), column.median, values)
            else:
                most = int(np.argmax(column.counts))
                filled[column.name] = np.where(values < 0, most, values)
        return filled

    def design(self, raw: Raw) -> Floats:
        """Return the design matrix of rows without missing values."""
        if self.formula is not None:
            return self.formula.design(self.frame(raw))
        matrix = np.empty((len(next(iter(raw.values()))), len(self.design_names)))
        place = 0
        for column in self.columns:
            values = raw[column.name]
            if isinstance(column, Number):
                matrix[:, place] = (values - column.mean) / column.sd if self.scale else values
                place += 1
            else:
                for code in range(1, len(column.levels)):
                    matrix[:, place] = values == code
                    place += 1
        return matrix

    @property
    def design_names(self) -> tuple[str, ...]:
        """Names of the design's columns; a formula gives its own."""
        names = []
        for column in self.columns:
            if isinstance(column, Number):
                names.append(f"scale({column.name})" if self.scale else column.name)
            else:
                names += [f"{column.name}[{level}]" for level in column.levels[1:]]
        return tuple(names)

    def frame(self, raw: Raw) -> Any:
        """Return the columns as a frame, categories as pandas has them."""
        import pandas as pd

        return pd.DataFrame(
            {
                column.name: raw[column.name]
                if isinstance(column, Number)
                else pd.Categorical.from_codes(raw[column.name], categories=list(column.levels))
                for column in self.columns
            }
        )

    def beyond(self, raw: Raw) -> NDArray[np.bool_]:
        """Tell the rows in which some number lies outside the training data's range."""
        rows = len(next(iter(raw.values())))
        found = np.zeros(rows, dtype=np.bool_)
        for column in self.columns:
            if isinstance(column, Number):
                values = raw[column.name]
                found |= (values < column.low) | (values > column.high)
        return found

    # --- JSON -----------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Return the recipe in JSON's terms."""
        packed = asdict(self)
        for column, one in zip(packed["columns"], self.columns, strict=True):
            column["kind"] = "number" if isinstance(one, Number) else "category"
        packed["formula"] = None if self.formula is None else self.formula.to_json()
        return packed

    @classmethod
    def from_json(cls, packed: Mapping[str, Any]) -> Recipe:
        """Return what `to_json` has packed."""
        given = dict(packed)
        given["labels"] = tuple(given["labels"])
        given["columns"] = tuple(_column(column) for column in given["columns"])
        if given["formula"] is not None:
            given["formula"] = Formula.from_json(given["formula"])
        if given["data"] is not None:
            given["data"] = TrainingData(**given["data"])
        for name in ("ids", "notes"):
            given[name] = tuple(given[name])
        return cls(**given)


def _column(packed: Mapping[str, Any]) -> Number | Category:
    given = dict(packed)
    if given.pop("kind") == "number":
        return Number(**given)
    return Category(**{**given, "levels": tuple(given["levels"]), "counts": tuple(given["counts"])})


def encode_number(table: Table, chunk: Chunk, name: str, *, known: bool) -> Floats:
    """Return a chunk's column as numbers, missing ones NaN, or say which cell is wrong."""
    cells = chunk.columns[name]
    values, wrong = numbers(cells, table.decimal)
    if len(wrong):
        row = int(wrong[0])
        place = table.place(chunk, row, name)
        raise refuse_number(place, str(cells[row]), decimal=table.decimal, known=known)
    large = np.abs(values) > LARGEST
    if large.any():
        row = int(np.argmax(large))
        raise refuse_large(table.place(chunk, row, name), float(values[row]))
    return values


def refuse_large(place: str, value: float) -> TableError:
    """Say that a number is too large to compute with."""
    what = "infinite" if np.isinf(value) else f"too large to compute with (beyond {LARGEST:g})"
    return TableError(f"{place}: {value:g} is {what}; correct it, or leave it empty if missing")


def encode_category(table: Table, chunk: Chunk, name: str, levels: Sequence[str]) -> Codes:
    """Return a chunk's column as places in ``levels``, -1 where missing, or say what is unknown."""
    code = {level: i for i, level in enumerate(levels)}
    code[""] = -1
    cells = chunk.columns[name]
    met = {cell: code.get(level_of(cell, table.decimal)) for cell in set(_plain(cells))}
    unknown = [cell for cell, number in met.items() if number is None]
    if unknown:
        row = next(i for i, cell in enumerate(_plain(cells)) if met[cell] is None)
        raise TableError(
            f"{table.place(chunk, row, name)}: {shown(level_of(cells[row], table.decimal))!r} is "
            f"not among the levels that the model knows, {listed(levels)}; correct the cell, "
            "leave the row out, or fit the model to data that hold it"
        )
    return np.array([met[cell] for cell in _plain(cells)], dtype=np.int32)


def _plain(cells: Any) -> Sequence[Any]:
    """Cells as Python's own, so that they can be looked up; all NaN are one."""
    if isinstance(cells, np.ndarray):
        return ["" if cell != cell else cell for cell in cells.tolist()]
    return list(cells)
