"""Parquet tables: columns come with their types, rows in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailoredbayes.tables.chunks import Cells, Chunk, Table, TableError, listed

__all__ = ["ParquetTable", "open_parquet"]


@dataclass
class ParquetTable(Table):
    """A Parquet file."""

    def chunks(self, columns: Iterable[str] | None = None) -> Iterator[Chunk]:
        """Yield the rows; numbers are numbers (missing: NaN), all else is text (missing: "")."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = list(self.columns if columns is None else columns)
        start = 0
        try:
            with pq.ParquetFile(self.path) as file:
                for batch in file.iter_batches(batch_size=self.rows_a_chunk, columns=names):
                    if len(batch):
                        cells = {name: _cells(batch.column(name)) for name in names}
                        yield Chunk(start, cells)
                        start += len(batch)
        except (pa.ArrowException, OSError) as error:
            raise _damaged(self.path, error) from None
        if not start:
            raise TableError(f"{self.path} has column names but no rows")


def open_parquet(path: Path) -> ParquetTable:
    """Open a Parquet file by its footer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from None
    names = tuple(schema.names)
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise TableError(f"{path} has several columns named {listed(doubled)}; rename them")
    if "" in names:
        raise TableError(f"{path} has a column without a name; name it")
    nested = [field.name for field in schema if pa.types.is_nested(field.type)]
    if nested:
        raise TableError(
            f"{path} holds lists or records in {listed(nested)}; write one value a cell"
        )
    return ParquetTable(path, names)


def _cells(column: Any) -> Cells:
    """Numbers as float64 with NaN for null; everything else as text with "" for null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _cells(column.dictionary_decode())
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
        kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return np.array(values, dtype=np.float64)
    if pa.types.is_boolean(kind):
        return ["" if value is None else str(value) for value in column.to_pylist()]
    if pa.types.is_null(kind):
        return [""] * len(column)
    return [str(text) for text in pc.fill_null(column.cast(pa.string()), "").to_pylist()]


def _damaged(path: Path, error: Exception) -> TableError:
    reason = str(error).splitlines()[0]
    return TableError(f"{path} cannot be read as Parquet ({reason}); copy or write it again")
