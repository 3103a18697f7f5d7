"""What the columns of a table are: numbers, categories, dates, or texts that are neither.

A column is a number column if every cell is a number or missing. It is a category if most of its
different cells are texts, and few; in between lies a number column with a typing error, which is
named with its place. Nothing is guessed that a model would then rest on.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.tables.chunks import Cells, Chunk, Table, TableError, listed, shown

__all__ = ["MISSING", "ColumnSurvey", "level_of", "numbers", "refuse_number", "survey", "texts"]

Floats = NDArray[np.float64]
Kind = Literal["number", "category", "date", "text", "mixed", "empty"]

MISSING = frozenset(
    ["", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "Null", "<NA>", "#N/A", ".", "?"]
)
"""How a missing value is spelled; "None" and "-" are not here, as they are answers, too."""

# The square of a larger number, or its product with a coefficient, is soon infinite.
LARGEST = 1e100
# More different texts than this are names or notes rather than categories, unless the user says so.
MOST_LEVELS, MOST_NAMED_LEVELS = 50, 1000
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?|\d{1,2}[./-]\d{1,2}[./-](\d{2}|\d{4})([ T].*)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([,.' \u00a0\u202f]\d{3})+([.,]\d+)?")


# --- Cells ------------------------------------------------------------------------------------


def numbers(cells: Cells, decimal: str = ".") -> tuple[Floats, NDArray[np.intp]]:
    """Return cells as numbers (missing: NaN), and the places of those that are not numbers.

    >>> numbers(["1", " 2.5", "NA", "three", "1_000"])
    (array([1. , 2.5, nan, nan, nan]), array([3, 4]))
    >>> numbers(["1,5", "1.500"], decimal=",")
    (array([1.5, nan]), array([1]))
    """
    if isinstance(cells, np.ndarray):
        return cells, np.empty(0, dtype=np.intp)
    joined = "".join(cells)
    plain = "_" not in joined  # float() takes 1_000, and a file's author meant a name by it
    if decimal == ",":
        plain = plain and "." not in joined  # a point would be a thousands separator
        cells = [cell.replace(",", ".").strip() if "." not in cell else "\0" for cell in cells]
    if plain:
        try:
            return np.array(list(map(float, cells))), np.empty(0, dtype=np.intp)
        except ValueError:
            pass  # some cell is no number: missing, or wrong
    values = np.full(len(cells), math.nan)
    wrong = []
    for i, cell in enumerate(cells):
        try:
            values[i] = math.nan if "_" in cell else float(cell)
            if "_" in cell:
                wrong.append(i)
        except ValueError:
            if cell.strip() not in MISSING:
                wrong.append(i)
    return values, np.array(wrong, dtype=np.intp)


def texts(cells: Cells) -> list[str]:
    """Return cells as they are written; numbers that are whole without a point.

    >>> texts(np.array([17.0, 0.5, np.nan])), texts(["017"])
    (['17', '0.5', ''], ['017'])
    """
    if not isinstance(cells, np.ndarray):
        return list(cells)
    return ["" if x != x else str(int(x)) if x.is_integer() else repr(x) for x in cells.tolist()]


def level_of(cell: str | float, decimal: str = ".") -> str:
    """Return the name of a level, the same however a number is written; "" if it is missing.

    >>> [level_of(cell) for cell in ("2", "2.0", 2.0, "IIa ", "NA")]
    ['2', '2', '2', 'IIa', '']
    """
    text = cell.strip() if isinstance(cell, str) else f"{cell:.15g}"
    if text in MISSING:
        return ""
    value, wrong = numbers([text], decimal)
    return text if len(wrong) or not math.isfinite(value[0]) else f"{value[0]:.15g}"


def refuse_number(place: str, text: str, *, decimal: str = ".", known: bool = False) -> TableError:
    """Say that a cell of a number column holds no number, and what to do.

    ``known`` says that a model waits for this column, so that its kind cannot change.
    """
    said = f"{place}: {shown(text)!r} is not a number"
    if text.lstrip().startswith("="):
        return TableError(f"{said} but a spreadsheet's formula; save its value instead")
    if _DATE.fullmatch(text.strip()):
        return TableError(f"{said} but a date; turn it into one, such as years since a day")
    if decimal == "." and re.fullmatch(r"\s*[+-]?\d+,\d+\s*", text):
        return TableError(f"{said}; write it with a point, or say --decimal , for decimal commas")
    if _THOUSANDS.fullmatch(text.strip()):
        return TableError(f"{said}; write it without thousands separators")
    if known:
        return TableError(f"{said}; correct the cell, or leave it empty if it is missing")
    return TableError(f"{said}; correct it, leave it empty if missing, or say --categorical COLUMN")


# --- The survey -------------------------------------------------------------------------------


@dataclass
class ColumnSurvey:
    """What one pass over a column has found."""

    name: str
    rows: int = 0
    missing: int = 0
    low: float = math.inf
    high: float = -math.inf
    levels: Counter[str] | None = field(default_factory=Counter)
    """How often each cell is met, by `level_of`; None once there are too many."""
    texts: set[str] = field(default_factory=set)
    """The different cells that are no numbers, up to the most that are counted."""
    first_text: tuple[str, str] | None = None
    """Where the first cell that is no number stands, and what it holds."""
    unusable: tuple[str, float] | None = None
    """Where the first number stands that is infinite or as good as."""

    @property
    def kind(self) -> Kind:
        """What the column is."""
        if self.missing == self.rows:
            return "empty"
        if not self.texts:
            return "number"
        if self.low > self.high and all(_DATE.fullmatch(text) for text in self.texts):
            return "date"
        if len(self.texts) > MOST_LEVELS:
            return "text"
        if self.levels is None or 2 * len(self.texts) <= len(self.levels):
            return "mixed"
        return "category" if len(self.levels) <= MOST_LEVELS else "text"

    def add(self, chunk: Chunk, cells: Cells, table: Table, *, named: bool) -> None:
        """Count a chunk; ``named`` columns are categories by the user's word."""
        self.rows += len(cells)
        values, wrong = numbers(cells, table.decimal)
        self._count_numbers(chunk, values, table)
        self.missing += int(np.isnan(values).sum()) - len(wrong)
        if len(wrong) and self.first_text is None:
            place = int(wrong[0])
            self.first_text = table.place(chunk, place, self.name), str(cells[place])
        most = MOST_NAMED_LEVELS if named else MOST_LEVELS
        if len(wrong) and len(self.texts) <= most:
            self.texts.update(str(cells[i]).strip() for i in wrong)
        if self.levels is not None:
            self._count_levels(values if isinstance(cells, np.ndarray) else cells, table, most)

    def _count_numbers(self, chunk: Chunk, values: Floats, table: Table) -> None:
        seen = values[~np.isnan(values)]
        if not len(seen):
            return
        self.low, self.high = min(self.low, seen.min()), max(self.high, seen.max())
        if self.unusable is None and not max(-self.low, self.high) <= LARGEST:
            place = int(np.flatnonzero(np.abs(values) > LARGEST)[0])
            self.unusable = table.place(chunk, place, self.name), float(values[place])

    def _count_levels(self, cells: Cells, table: Table, most: int) -> None:
        assert self.levels is not None
        different = Counter(cells.tolist() if isinstance(cells, np.ndarray) else cells)
        if len(different) > 2 * most:
            self.levels = None
            return
        for cell, count in different.items():
            level = level_of(cell, table.decimal)
            if level:
                self.levels[level] += count
        if len(self.levels) > most:
            self.levels = None

    def category_levels(self) -> tuple[str, ...]:
        """Levels as categories: numbers by size, then texts by the alphabet."""
        if self.levels is None:
            raise TableError(
                f"column {self.name!r} has more than {MOST_NAMED_LEVELS} different values, too "
                "many for categories; say --drop, or --id if it names the rows"
            )
        return tuple(sorted(self.levels, key=_level_order))

    def check_usable(self) -> None:
        """Raise unless the column can be a covariate as it stands."""
        name = self.name
        if self.kind == "empty":
            raise TableError(f"column {name!r} is empty in all {self.rows} rows; say --drop")
        if self.kind == "date":
            assert self.first_text is not None
            raise TableError(
                f"{self.first_text[0]}: {shown(self.first_text[1])!r} is a date; turn the column "
                "into a number, such as years since a day, or say --drop"
            )
        if self.kind == "text":
            raise TableError(
                f"column {name!r} holds too many different texts for categories, as "
                f"{listed(sorted(self.texts)[:2])}; say --id if it names the rows, --drop to leave "
                "it out, or --categorical"
            )


def _level_order(level: str) -> tuple[bool, float, str]:
    value, wrong = numbers([level])
    return (True, 0.0, level) if len(wrong) else (False, float(value[0]), level)


def survey(
    table: Table,
    columns: Sequence[str],
    *,
    categorical: Sequence[str] = (),
    progress: Callable[[int], None] = lambda rows: None,
) -> dict[str, ColumnSurvey]:
    """Pass over a table once and return what each of the columns is."""
    found = {name: ColumnSurvey(name) for name in columns}
    for chunk in table.chunks(columns):
        for name, one in found.items():
            one.add(chunk, chunk.columns[name], table, named=name in categorical)
        progress(chunk.start + len(chunk))
    return found
