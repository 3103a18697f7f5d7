"""The way of the data through a fit."""

from __future__ import annotations

import textwrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from tailoredbayes.evaluation.splitting import Part, Splitting
from tailoredbayes.plots.style import INK, canvas, pictures, tint

__all__ = ["data_splitting"]

_COLORS = {
    "all rows": "#9AA5AD",
    "train": "#9AA5AD",
    "test": "#009E73",
    "design": "#0072B2",
    "development": "#D55E00",
}

# A box below this share of the rows has smaller type.
_NARROW = 0.2
# Between cohorts, as a share of their rows.
_APART = 0.02


@pictures(Splitting)
def data_splitting(record: Splitting, ax: Axes | None = None) -> Axes:
    """Draw which rows were used for what: a row of boxes a split, as wide as the parts are large.

    Figure S1 of [Karapanagiotis2021].

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.data_splitting`.
    ax
        Where to draw; None makes a figure.

    Returns
    -------
    Axes
        A rectangle a part, its width the number of rows.
    """
    levels = _levels(record.parts)
    # A test cohort of its own stands beside the training rows, a little apart.
    apart = _APART * sum(part.rows for part in levels[0])
    whole = sum(part.rows for part in levels[0]) + apart * (len(levels[0]) - 1)
    with canvas(ax, 4.6, 0.75 * len(levels) + 0.45) as ax:
        starts: dict[str, float] = {}
        for depth, parts in enumerate(levels):
            taken: dict[str | None, float] = {}
            for part in parts:
                left = starts[part.within] if part.within else 0.0
                left += taken.get(part.within, 0.0)
                gap = apart if part.within is None else 0.0
                taken[part.within] = taken.get(part.within, 0.0) + part.rows + gap
                starts[part.name] = left
                _box(ax, part, left, -depth, whole)
        _uses(ax, record.parts, 1 - len(levels))
        ax.set_xlim(0, whole)
        ax.set_axis_off()
    return ax


def _levels(parts: tuple[Part, ...]) -> list[list[Part]]:
    """Parts by how often their rows were split before."""
    depth: dict[str | None, int] = {None: -1}
    levels: list[list[Part]] = []
    for part in parts:
        depth[part.name] = depth[part.within] + 1
        levels[depth[part.name] :] = levels[depth[part.name] :] or [[]]
        levels[depth[part.name]].append(part)
    return levels


def _box(ax: Axes, part: Part, left: float, bottom: float, whole: float) -> None:
    color = _COLORS[part.name]
    face: dict[str, Any] = {"facecolor": tint(color, 0.65), "edgecolor": color}
    ax.add_patch(Rectangle((left, bottom), part.rows, 0.72, label=part.name, **face))
    middle = left + part.rows / 2
    words = f"{part.name}\n{part.rows}"
    size = 8 if part.rows > _NARROW * whole else 6.5
    ax.text(middle, bottom + 0.36, words, ha="center", va="center", linespacing=1.3, fontsize=size)


def _uses(ax: Axes, parts: tuple[Part, ...], lowest: float) -> None:
    """List what each part was used for, below the boxes."""
    lines = [
        textwrap.fill(f"{part.name}: {part.use}", 58, subsequent_indent="    ")
        for part in parts
        if part.use
    ]
    ax.set_ylim(lowest - 0.15 - 0.3 * sum(line.count("\n") + 1 for line in lines), 0.75)
    text = "\n".join(lines)
    ax.text(0, lowest - 0.12, text, va="top", fontsize=7, color=INK, linespacing=1.35)
