"""Text tables: one row a line, fields apart by a character (RFC 4180, and what passes for it).

Delimiter, encoding and decimal mark are found out from the file unless they are given. Rows of
another length than the header's are refused: which of their fields is missing cannot be known.
"""

from __future__ import annotations

import contextlib
import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path

from tailoredbayes.tables.chunks import Chunk, Table, TableError, listed, shown
from tailoredbayes.tables.files import find_encoding, open_text

__all__ = ["DelimitedTable", "open_delimited"]

_DELIMITERS = (",", ";", "\t", "|")
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}
_SAMPLE_ROWS = 200
# Excel takes the delimiter from a first line such as "sep=;", and writes it so.
_TOLD_DELIMITER = re.compile(r'"?sep=(.|\\t)"?', re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")
_DECIMAL_POINT = re.compile(r"\s*[+-]?\d*\.\d+([eE][+-]?\d+)?\s*")


@dataclass
class DelimitedTable(Table):
    """A text file of rows."""

    delimiter: str = ","
    encoding: str = "utf-8"
    before: int = 0
    """Lines before the column names."""

    def chunks(self, columns: Iterable[str] | None = None) -> Iterator[Chunk]:
        """Yield the rows; cells are texts as they stand in the file."""
        names = self.columns if columns is None else tuple(columns)
        places = [self.columns.index(name) for name in names]
        start = 0
        for rows, lines in self._rows():
            cells = _columns(rows, places if columns is not None else None)
            yield Chunk(start, dict(zip(names, cells, strict=True)), lines)
            start += len(rows)
        if not start:
            raise TableError(f"{self.path} has column names but no rows")

    def _rows(self) -> Iterator[tuple[list[list[str]], list[int]]]:
        """Yield chunks of rows and the line at which each ends."""
        rows: list[list[str]] = []
        lines: list[int] = []
        width, most, header = len(self.columns), self.rows_a_chunk, True
        with open_text(self.path, self.encoding) as text:
            reader = csv.reader(
                islice(text, self.before, None), delimiter=self.delimiter, strict=True
            )
            try:
                for row in reader:
                    if len(row) != width or header:
                        if row and not header:
                            self._refuse(row, self.before + reader.line_num)
                        header = header and not row
                        continue  # the column names, or an empty line
                    rows.append(row)
                    lines.append(self.before + reader.line_num)
                    if len(rows) == most:
                        yield rows, lines
                        rows, lines = [], []
            except csv.Error as error:
                raise _unreadable(self.path, self.before + reader.line_num, error) from None
        if rows:
            yield rows, lines

    def _refuse(self, row: Sequence[str], line: int) -> None:
        few = len(row) < len(self.columns)
        raise TableError(
            f"{self.path}, line {line}: has {len(row)} fields where the header has "
            f"{len(self.columns)} ({shown(self.delimiter.join(row))!r}); "
            + (
                "a field is missing, or the file is cut off"
                if few
                else f"put texts that hold {self.delimiter!r} in quotation marks"
            )
        )


def _columns(
    rows: Sequence[Sequence[str]], places: Sequence[int] | None
) -> Sequence[Sequence[str]]:
    """Turn rows into columns, all of them or those at some places."""
    if places is None:
        return list(zip(*rows, strict=True))
    return [tuple(map(itemgetter(place), rows)) for place in places]


def _unreadable(path: Path, line: int, error: csv.Error) -> TableError:
    if "field larger" in str(error) or "unexpected end" in str(error):
        return TableError(
            f"{path}, line {line}: a quotation mark is opened and not closed; close it, or double "
            'it ("") where it is part of the text'
        )
    return TableError(
        f"{path}, line {line}: cannot be cut into fields ({error}); a quotation mark inside a "
        'quoted text is doubled ("")'
    )


def open_delimited(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
) -> DelimitedTable:
    """Open a text table; what is None is found out."""
    notes = []
    if encoding is None:
        encoding = find_encoding(path)
        if encoding == "cp1252":
            notes.append(f"{path} is not UTF-8; read as Windows-1252 (or say --encoding)")
    if delimiter is not None:
        delimiter = _NAMED.get(delimiter.lower(), delimiter)
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise TableError(f"a delimiter is one character, as ';' or 'tab', got {delimiter!r}")
    if decimal not in (None, ".", ","):
        raise TableError(f"the decimal mark is '.' or ',', got {decimal!r}")
    with open_text(path, encoding) as text:
        sample = list(islice(text, _SAMPLE_ROWS))
    told = _TOLD_DELIMITER.fullmatch(sample[0].rstrip("\r\n")) if sample else None
    if told is not None:
        sample, delimiter = sample[1:], delimiter or told[1].replace("\\t", "\t")
    if delimiter is None:
        delimiter = _find_delimiter(sample)
    if decimal is None:
        decimal = _find_decimal(_sample_rows(sample, delimiter)[1:]) if delimiter != "," else "."
    elif decimal == delimiter:
        raise TableError(f"delimiter and decimal mark cannot both be {decimal!r}")
    header = next((row for row in _sample_rows(sample, delimiter) if row), None)
    if header is None:
        raise TableError(f"{path} is empty; it should hold column names and rows")
    return DelimitedTable(
        path,
        _check_header(path, header, sample, delimiter),
        decimal,
        notes,
        delimiter,
        encoding,
        before=0 if told is None else 1,
    )


def _sample_rows(sample: Sequence[str], delimiter: str) -> list[list[str]]:
    """Rows of the sample, as far as it can be read."""
    rows: list[list[str]] = []
    with contextlib.suppress(csv.Error):  # told, with its line, when the whole file is read
        rows.extend(csv.reader(iter(sample), delimiter=delimiter))
    return rows


def _find_delimiter(sample: Sequence[str]) -> str:
    """Take the delimiter that cuts most rows into as many fields as the header, and into most."""

    def agreement(delimiter: str) -> tuple[bool, float]:
        widths = [len(row) for row in _sample_rows(sample, delimiter) if row]
        if not widths or widths[0] < 2:
            return False, 0.0
        share = sum(width == widths[0] for width in widths) / len(widths)
        return share > 0.5, widths[0] * share

    return max(_DELIMITERS, key=agreement)


def _find_decimal(rows: Iterable[Sequence[str]]) -> str:
    cells = [cell for row in rows for cell in row]
    commas = any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    points = any(_DECIMAL_POINT.fullmatch(cell) for cell in cells)
    return "," if commas and not points else "."


def _check_header(
    path: Path, header: Sequence[str], sample: Sequence[str], delimiter: str
) -> tuple[str, ...]:
    """Return the column names, or say what is wrong with them."""
    names = tuple(name.strip() for name in header)
    widths = Counter(len(row) for row in _sample_rows(sample, delimiter)[1:] if row)
    if "" in names:
        where = ", ".join(str(i + 1) for i, name in enumerate(names) if not name)
        raise TableError(
            f"{path} has no name for column {where}; name it in the first line (row names that "
            "R or pandas wrote, or a delimiter at the end of each line, look like this)"
        )
    doubled = [name for name, count in Counter(names).items() if count > 1]
    if doubled:
        raise TableError(
            f"{path} has several columns named {listed(doubled)}; rename them, or put the names in "
            "the first line if they are missing"
        )
    if widths and widths.most_common(1)[0][0] == len(names) + 1:
        raise TableError(
            f"{path}, line 1: has {len(names)} column names, but rows have {len(names) + 1} "
            "fields; name the row names, too (in R, write.csv with row.names = FALSE)"
        )
    if len(names) == 1:
        raise TableError(
            f"{path} has one column, {shown(names[0])!r}; an outcome and something to predict it "
            "with are needed (is the delimiter another? say --delimiter)"
        )
    if all(_is_number(name) for name in names):
        raise TableError(
            f"{path}, line 1: holds numbers ({listed(names, 3)}) where column names should be; "
            "put the names there"
        )
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
