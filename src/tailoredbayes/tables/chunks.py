"""A table as its readers see it: named columns, chunks of rows, and the place of a cell.

A chunk holds the cells of some rows, column by column. A text file's cells are texts as they stand
in it; a Parquet file's are numbers already, or texts. No reader holds more than a chunk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["CELLS_A_CHUNK", "Cells", "Chunk", "Table", "TableError", "listed", "shown"]

Cells = Sequence[str] | NDArray[np.float64]

# A text cell takes some 60 bytes: 16 MB a chunk, however wide the table is.
CELLS_A_CHUNK = 2**18


class TableError(ValueError):
    """A table, or what was asked of it, cannot be used as it stands; the message says why."""


@dataclass(frozen=True)
class Chunk:
    """Some rows of a table: ``start`` rows stand before them."""

    start: int
    columns: Mapping[str, Cells]
    lines: Sequence[int] | None = None
    """The line of the file at which each row ends; None where a file has no lines."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


@dataclass
class Table(ABC):
    """A file's columns, and its rows in chunks, as often as asked."""

    path: Path
    columns: tuple[str, ...]
    decimal: str = "."
    notes: list[str] = field(default_factory=list)
    """What was found out about the file and the user may want to know."""

    @abstractmethod
    def chunks(self, columns: Iterable[str] | None = None) -> Iterator[Chunk]:
        """Yield the rows in order, all columns or those named."""

    @property
    def rows_a_chunk(self) -> int:
        """How many rows go into a chunk."""
        return max(100, CELLS_A_CHUNK // len(self.columns))

    def place(self, chunk: Chunk, row: int, column: str) -> str:
        """Say where a cell is: file, row, line and column."""
        line = "" if chunk.lines is None else f" (line {chunk.lines[row]})"
        return f"{self.path}, row {chunk.start + row + 1}{line}, column {column!r}"

    def require(self, columns: Iterable[str], purpose: str) -> None:
        """Raise unless every named column is there."""
        missing = [column for column in columns if column not in self.columns]
        if not missing:
            return
        near = get_close_matches(missing[0], self.columns, n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"its columns are {listed(self.columns)}"
        word = "columns" if len(missing) > 1 else "column"
        raise TableError(f"{self.path} has no {word} {listed(missing)} {purpose}; {advice}")


def listed(names: Iterable[str], most: int = 8) -> str:
    """Return names in quotes, separated by commas, the first ones if there are many.

    >>> listed(["age", "nodes"])
    "'age', 'nodes'"
    >>> listed("abcdef", most=2)
    "'a', 'b' and 4 more"
    """
    quoted = [repr(shown(name)) for name in names]
    rest = len(quoted) - most
    return ", ".join(quoted[:most]) + (f" and {rest} more" if rest > 0 else "")


def shown(text: str, most: int = 40) -> str:
    """Return a cell's text, cut short if it is long.

    >>> shown("a" * 100, most=5)
    'aaaaa…'
    """
    return text if len(text) <= most else text[:most] + "…"
