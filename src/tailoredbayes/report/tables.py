"""Tables of the page, and how numbers are written in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Table",
    "accepted_text",
    "frame_table",
    "interval",
    "number",
    "pairs",
    "per_1000",
    "percent",
    "text",
    "threshold_text",
]

Writer: TypeAlias = Callable[[Any], str]

_NOT = "–"
"""Stands where there is no number."""


@dataclass(frozen=True)
class Table:
    """A table as it will be read: a caption, names of columns, rows of text."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    prose: bool = False
    """Whether cells hold sentences, which may be broken into lines."""


def frame_table(
    frame: pd.DataFrame,
    caption: str,
    columns: Mapping[str, tuple[str, Writer]],
    *,
    most: int | None = None,
) -> Table:
    """Return some columns of a frame, each with its heading and the way its values are written.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"model": ["TB"], "net_benefit": [0.0512]})
    >>> frame_table(frame, "", {"net_benefit": ("Net benefit", per_1000)}).rows
    (('51.2',),)
    """
    shown = frame if most is None else frame.head(most)
    writers = [write for _, write in columns.values()]
    rows = tuple(
        tuple(write(value) for write, value in zip(writers, row, strict=True))
        for row in shown[list(columns)].itertuples(index=False, name=None)
    )
    left = len(frame) - len(shown)
    note = f"{left} more rows are not shown." if left else ""
    return Table(caption, tuple(name for name, _ in columns.values()), rows, note)


def _finite(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def _signed(written: str) -> str:
    """Write a true minus, and no minus before 0."""
    if not written.strip("-0."):
        written = written.lstrip("-")
    return written.replace("-", "−")


def text(value: Any) -> str:
    """Write a text."""
    return str(value)


def number(digits: int) -> Writer:
    """Return a writer of numbers with so many decimals.

    >>> number(2)(-0.5), number(2)(float("nan")), number(1)(-0.01)
    ('−0.50', '–', '0.0')
    """
    return lambda value: _signed(f"{value:.{digits}f}") if _finite(value) else _NOT


def per_1000(value: Any) -> str:
    """Write a share of the patients per 1000.

    >>> per_1000(0.0512), per_1000(-0.00004)
    ('51.2', '0.0')
    """
    return number(1)(1000 * value) if _finite(value) else _NOT


def percent(value: Any) -> str:
    """Write a share in per cent.

    >>> percent(0.1234), percent(float("nan"))
    ('12.3%', '–')
    """
    return f"{number(1)(100 * value)}%" if _finite(value) else _NOT


def accepted_text(t: float) -> str:
    """Write how many unnecessary treatments a threshold accepts for one that is needed.

    >>> accepted_text(0.2), accepted_text(0.15), accepted_text(0.8)
    ('4', '5.67', '0.25')
    """
    return f"{(1 - t) / t:.3g}"


def threshold_text(t: float) -> str:
    """Write a threshold in per cent, as exactly as it is.

    >>> threshold_text(0.15), threshold_text(0.0125)
    ('15%', '1.25%')
    """
    return f"{100 * t:.6g}%"


def interval(value: float, low: float, high: float, write: Writer) -> str:
    """Write a value and its interval.

    >>> interval(0.05, 0.04, 0.06, per_1000), interval(0.5, float("nan"), 1, number(1))
    ('50.0 (40.0 to 60.0)', '0.5')
    """
    if not (_finite(low) and _finite(high)):
        return write(value)
    return f"{write(value)} ({write(low)} to {write(high)})"


def pairs(caption: str, head: Sequence[str], rows: Iterable[tuple[str, Any]]) -> Table:
    """Return a table of two columns, a name and what belongs to it."""
    written = tuple((name, str(value)) for name, value in rows)
    return Table(caption, tuple(head), written, prose=True)
