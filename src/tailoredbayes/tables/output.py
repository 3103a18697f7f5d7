"""Write files whole or not at all, and cells that a spreadsheet will not run."""

from __future__ import annotations

import csv
import gzip
import io
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tailoredbayes.tables.chunks import TableError

__all__ = ["SafeCells", "check_not_input", "check_target", "csv_writer", "whole_file"]

# A cell that begins so is a formula to Excel, LibreOffice and others.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def check_target(path: Path) -> Path:
    """Return where a file is to be written, or say why it cannot be."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise TableError(f"{path} is a folder; give the name of a file in it")
    if not target.parent.is_dir():
        raise TableError(f"there is no folder {target.parent} to write {path} in; make it")
    if target.exists() and not (target.is_file() and os.access(target, os.W_OK)):
        raise TableError(f"{path} cannot be written over; choose another name")
    if not os.access(target.parent, os.W_OK):
        raise TableError(f"the folder {target.parent} is write-protected; choose another")
    return target


def check_not_input(out: Path, source: Path) -> None:
    """Raise if the file to write is one that is read."""
    if out.exists() and source.exists() and os.path.samefile(out, source):
        raise TableError(f"{out} is read, and cannot be written over; choose another name")


@contextmanager
def whole_file(path: Path) -> Iterator[IO[str]]:
    """Give a text file that takes its name when all went well, and vanishes otherwise."""
    target = check_target(path)
    beside = target.with_name(f".tailoredbayes-{secrets.token_hex(8)}.part")
    try:
        with open(beside, "xb") as raw:
            binary: Any = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if _packed(target) else raw
            with io.TextIOWrapper(binary, encoding="utf-8", newline="") as text:
                yield text
        os.replace(beside, target)
    except BaseException:  # an interrupt, too, leaves nothing behind
        beside.unlink(missing_ok=True)
        raise


def _packed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


class SafeCells:
    """Texts for a CSV file: those that a spreadsheet would run get an apostrophe in front.

    >>> safe = SafeCells()
    >>> safe(["=cmd()", "-5", "P-17"]), safe.changed
    (["'=cmd()", '-5', 'P-17'], 1)
    """

    def __init__(self, verbatim: bool = False) -> None:
        self.verbatim = verbatim
        self.changed = 0

    def __call__(self, cells: Sequence[str]) -> list[str]:
        """Return the cells, made safe unless they are to stay as they are."""
        if self.verbatim:
            return list(cells)
        return [self._one(cell) if cell.startswith(_FORMULA_STARTS) else cell for cell in cells]

    def _one(self, cell: str) -> str:
        try:
            float(cell)
        except ValueError:
            self.changed += 1
            return f"'{cell}"
        return cell


def csv_writer(file: IO[str]) -> Any:
    """Return a writer of rows, each ended as most programs expect."""
    return csv.writer(file, lineterminator="\n")
