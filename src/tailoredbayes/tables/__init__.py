"""Tables in files, and the recipe that turns their columns into a design matrix.

A file is read in chunks, twice: once to learn what its columns are (`survey`), once to encode them.
What was learned is the recipe, kept with the model, so that another day's file gives the same
columns or is refused in words.
"""

from __future__ import annotations

from pathlib import Path

from tailoredbayes.tables.chunks import Chunk, Table, TableError
from tailoredbayes.tables.delimited import open_delimited
from tailoredbayes.tables.files import check_is_file, is_parquet
from tailoredbayes.tables.parquet import open_parquet

__all__ = ["Chunk", "Table", "TableError", "open_table"]


def open_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
) -> Table:
    """Open a CSV file (or its like, compressed or not) or a Parquet file.

    Parameters
    ----------
    path
        The file. ``.gz``, ``.bz2``, ``.xz``, ``.zip`` and ``.zst`` are decompressed, ``.parquet``
        is Parquet, anything else is text.
    delimiter, encoding, decimal
        Of a text file; found out if None.

    Raises
    ------
    TableError
        If it is no table, or not the one its name says.
    """
    place = Path(path)
    if is_parquet(place, check_is_file(place)):
        return open_parquet(place)
    return open_delimited(place, delimiter=delimiter, encoding=encoding, decimal=decimal)
