"""Options that several commands share, and how their texts become values."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Decimal", "Delimiter", "Encoding", "Json", "TablePath", "read_thresholds", "words"]

# Whether a file can be read is told by those who read it, with what to do.
TablePath = Annotated[
    Path,
    typer.Argument(
        help="CSV (also .gz, .bz2, .xz, .zip, .zst) or Parquet", metavar="TABLE", readable=False
    ),
]
ModelPath = Annotated[
    Path, typer.Argument(help="what `fit` has written", metavar="MODEL", readable=False)
]
Delimiter = Annotated[str | None, typer.Option(help="between fields; found out if not given")]
Encoding = Annotated[str | None, typer.Option(help="of a text file; found out if not given")]
Decimal = Annotated[str | None, typer.Option(help="'.' or ','; found out if not given")]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for machines")]


def words(given: list[str] | None, columns: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names in an option given several times, or once with commas between.

    What is one of the columns as it stands is one name, whatever commas it holds.

    >>> words(["age,nodes", "grade"]), words(["BMI, kg/m2", "age,sex"], ["BMI, kg/m2", "age"])
    (('age', 'nodes', 'grade'), ('BMI, kg/m2', 'age', 'sex'))
    """
    found = []
    for text in given or ():
        parts = [text] if text in columns else text.split(",")
        found += [name.strip() for name in parts if name.strip()]
    return tuple(found)


def read_thresholds(text: str) -> list[float]:
    """Return thresholds from a list or a range with its end.

    >>> read_thresholds("0.1:0.3:0.1"), read_thresholds("0.1,0.25")
    ([0.1, 0.2, 0.3], [0.1, 0.25])
    """
    parts = text.split(":")
    try:
        if len(parts) == 1:
            return [float(number) for number in text.split(",") if number.strip()]
        first, last, step = map(float, parts)
        if not (0 < first <= last < 1 and step > 0 and (last - first) / step < 1000):
            raise ValueError
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is neither a range, as 0.1:0.5:0.05, nor a list, as 0.1,0.2"
        ) from None
    count = int((last - first) / step + 1e-9)
    return [round(first + step * i, 12) for i in range(count + 1)]
