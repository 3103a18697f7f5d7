"""The plane of two covariates: rows, and where the decision changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.text import Annotation
from numpy.typing import ArrayLike, NDArray

from tailoredbayes.checks import check_array, check_finite, check_outcome, check_same_length
from tailoredbayes.evaluation.boundaries import Boundaries, Boundary
from tailoredbayes.plots.style import (
    EVENT,
    INK,
    NO_EVENT,
    Style,
    band,
    canvas,
    caption,
    key,
    pictures,
    role,
    styles,
    tint,
)

__all__ = ["boundaries", "points"]

Floats = NDArray[np.float64]
Range = tuple[float, float]


@pictures(Boundaries)
def boundaries(record: Boundaries, ax: Axes | None = None) -> Axes:
    """Draw decision boundaries, optimal, observed or fitted, with the bands of fitted ones.

    Figures 1, 3 and S2 of [Karapanagiotis2021]: draw the optimal boundaries first, then fitted
    ones on the same axes.

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.optimal_boundaries`,
        :func:`~tailoredbayes.observed_boundaries` or
        :func:`~tailoredbayes.decision_boundaries`.
    ax
        Where to draw; None makes a figure.

    Returns
    -------
    Axes
        One line a boundary and branch, in the order of the record.
    """
    looks = styles(curve.model for curve in record.curves)
    with canvas(ax, 3.4, 3.4) as ax:
        limits = None if not ax.has_data() else (ax.get_xlim(), ax.get_ylim())
        said = {text.get_label() for text in ax.get_lines()}
        for curve in record.curves:
            _boundary(ax, curve, looks[curve.model], said)
        ax.set_xlabel(record.names[0])
        ax.set_ylabel(record.names[1])
        if limits is None:
            x1 = record.curves[0].x1
            across = record.x1_range or (float(x1.min()), float(x1.max()))
            limits = across, record.x2_range or across
        ax.set_xlim(limits[0])
        ax.set_ylim(limits[1])
        several = len({curve.threshold for curve in record.curves}) > 1
        for curve in record.curves:
            if several or role(curve.model) == "optimal":
                color = INK if role(curve.model) == "optimal" else looks[curve.model].color
                _name_threshold(ax, curve, color)
        caption(ax, _out_of_view(record, *limits))
        key(ax, above=8)
    return ax


def _boundary(ax: Axes, curve: Boundary, look: Style, said: set[object]) -> None:
    known = role(curve.model) == "optimal"
    line: dict[str, Any] = {"linestyle": "-", "linewidth": 0.9} if known else {"linewidth": 1.6}
    for x1, x2 in curve.branches():
        label = "_" if curve.model in said else curve.model
        said.add(curve.model)
        ax.plot(x1, x2, label=label, **{**look.line, **line})
    if curve.low is not None and curve.high is not None:
        band(ax, curve.x1, curve.low, curve.high, look.color, 0.45)


def _out_of_view(record: Boundaries, across: Range, up: Range) -> str:
    """Say which boundaries there is nothing to see of."""
    missing = [
        f"{curve.model} at {curve.threshold:g}"
        for curve in record.curves
        if not any(_inside(*path, across, up).any() for path in curve.branches())
    ]
    return f"not in view: {', '.join(missing)}" if missing else ""


def _inside(x1: Floats, x2: Floats, across: Range, up: Range) -> NDArray[np.bool_]:
    return np.asarray((x1 >= across[0]) & (x1 <= across[1]) & (x2 >= up[0]) & (x2 <= up[1]))


# Names nearer to each other than this, in shares of the axes, would overlap.
_NAME = np.array([0.065, 0.04])


def _name_threshold(ax: Axes, curve: Boundary, color: str) -> None:
    """Write the threshold where the boundary leaves the axes, at the right and along the top."""
    across, up = ax.get_xlim(), ax.get_ylim()
    size = np.array([across[1] - across[0], up[1] - up[0]])
    ends = [end for path in curve.branches() for end in _ends(*path, across, up)]
    for place, above in ends or _last(curve, across, up):
        apart = [np.abs((place - np.array(text.xy)) / size) for text in _names(ax)]
        if not any((gap < _NAME).all() for gap in apart):
            ax.annotate(
                f"{curve.threshold:g}",
                (float(place[0]), float(place[1])),
                xytext=(0, 2) if above else (3, 0),
                textcoords="offset points",
                ha="center" if above else "left",
                va="bottom" if above else "center",
                color=color,
                fontsize=7,
                annotation_clip=False,
            )


def _names(ax: Axes) -> list[Annotation]:
    return [text for text in ax.texts if isinstance(text, Annotation)]


def _ends(x1: Floats, x2: Floats, across: Range, up: Range) -> Iterator[tuple[Floats, bool]]:
    """Give where a branch crosses the top or ends to the right, and whether it is at the top."""
    seen = (x1 >= across[0]) & (x1 <= across[1])
    x, y = x1[seen], x2[seen]
    with np.errstate(invalid="ignore"):  # nan where there is no branch
        crossed = np.flatnonzero((y[:-1] < up[1]) != (y[1:] < up[1]))
    for i in crossed:
        if np.isfinite(y[i : i + 2]).all():
            share = (up[1] - y[i]) / (y[i + 1] - y[i])
            yield np.array([x[i] + share * (x[i + 1] - x[i]), up[1]]), True
    if len(y) and up[0] <= y[-1] <= up[1]:
        yield np.array([x[-1], y[-1]]), bool(up[1] - y[-1] < _NAME[1] * (up[1] - up[0]))


def _last(curve: Boundary, across: Range, up: Range) -> Iterator[tuple[Floats, bool]]:
    """Give the last points in view of a boundary that leaves through the bottom, or not at all."""
    for x1, x2 in curve.branches():
        for place in np.flatnonzero(_inside(x1, x2, across, up))[-1:]:
            yield np.array([x1[place], x2[place]]), False


def points(
    X: ArrayLike,
    y: ArrayLike,
    ax: Axes | None = None,
    *,
    marked: ArrayLike | None = None,
    marked_label: str = "marked",
) -> Axes:
    """Draw rows in the plane of two covariates, by outcome.

    Figure 5 of [Karapanagiotis2021], where contaminated rows are marked.

    Parameters
    ----------
    X, y
        Covariates (n, 2) and outcomes (n,), 0 or 1. The columns' names, if there are any, name the
        axes.
    ax
        Where to draw; None makes a figure. On axes with something drawn the view stays, but for a
        little room about it; rows outside are not seen.
    marked
        Rows to draw as triangles (n,), such as contaminated ones.
    marked_label
        What the legend calls them.

    Returns
    -------
    Axes
        A collection of points for each outcome, marked rows apart.
    """
    x, event = check_array(X, "X", ndim=(2,)), check_outcome(y, "y")
    if x.shape[1] != 2:
        raise ValueError(f"X must have two columns to be drawn in their plane, got {x.shape}")
    check_finite(x, "X", advice="drop the row")
    special = np.zeros(len(event), bool) if marked is None else check_outcome(marked, "marked")
    check_same_length(X=x[:, 0], y=event, marked=special)
    names = tuple(map(str, getattr(X, "columns", ("x1", "x2"))))
    with canvas(ax, 3.4, 3.4) as ax:
        _share_view(ax, names, hasattr(X, "columns"))
        kinds = (
            ("no event", NO_EVENT, tint(NO_EVENT, 0.7), ~event),
            ("event", EVENT, EVENT, event),
        )
        for label, color, face, rows in kinds:
            for shape, chosen, size, edge, text in (
                ("o", rows & ~special, 9, color, label),
                ("^", rows & special, 18, "black", f"{label}, {marked_label}"),
            ):
                if chosen.any():
                    how: dict[str, Any] = {"facecolor": face, "edgecolor": edge}
                    how |= {"linewidths": 0.5, "zorder": 1.8}
                    x1, x2 = x[chosen].T
                    ax.scatter(x1, x2, size, marker=shape, label=text, **how)
        if hasattr(X, "columns") or not (ax.get_xlabel() or ax.get_ylabel()):
            ax.set_xlabel(names[0])
            ax.set_ylabel(names[1])
        key(ax)
    return ax


def _share_view(ax: Axes, names: tuple[str, ...], named: bool) -> None:
    """Keep the view of axes with something drawn, with room for the rows at its edges."""
    if not ax.has_data():
        return
    there = (ax.get_xlabel(), ax.get_ylabel())
    if named and all(there) and there != names:
        raise ValueError(
            f"X must have the covariates of these axes, {' and '.join(there)}, got "
            f"{' and '.join(names)}; order its columns likewise"
        )
    if any(isinstance(drawn, PathCollection) for drawn in ax.collections):
        return  # there are points already, and room for them
    for low, high, put in ((*ax.get_xlim(), ax.set_xlim), (*ax.get_ylim(), ax.set_ylim)):
        room = 0.025 * (high - low)
        put(low - room, high + room)
