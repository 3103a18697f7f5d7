"""The plane of two covariates: rows, and where the decision changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Annotation
from numpy.typing import ArrayLike, NDArray

from tailoredbayes.checks import check_array, check_outcome, check_same_length
from tailoredbayes.evaluation.boundaries import Boundaries, Boundary
from tailoredbayes.plots.style import (
    EVENT,
    INK,
    NO_EVENT,
    Style,
    band,
    canvas,
    key,
    role,
    styles,
    tint,
)

__all__ = ["boundaries", "points"]

Floats = NDArray[np.float64]
Range = tuple[float, float]


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
            across = float(x1.min()), float(x1.max())
            limits = across, record.x2_range or across
        ax.set_xlim(limits[0])
        ax.set_ylim(limits[1])
        several = len({curve.threshold for curve in record.curves}) > 1
        for curve in record.curves:
            if several or role(curve.model) == "optimal":
                color = INK if role(curve.model) == "optimal" else looks[curve.model].color
                _name_threshold(ax, curve, color)
        key(ax, above=8)
    return ax


def _boundary(ax: Axes, curve: Boundary, look: Style, said: set[object]) -> None:
    thin = curve.low is None
    for x2 in curve.x2:
        label = "_" if curve.model in said else curve.model
        said.add(curve.model)
        line = look.line if not thin else {**look.line, "linestyle": "-"}
        ax.plot(curve.x1, x2, label=label, linewidth=0.9 if thin else 1.6, **line)
    if curve.low is not None and curve.high is not None:
        band(ax, curve.x1, curve.low, curve.high, look.color, 0.45)


# Names nearer to each other than this, in shares of the axes, would overlap.
_NAME = np.array([0.065, 0.04])


def _name_threshold(ax: Axes, curve: Boundary, color: str) -> None:
    """Write the threshold where the boundary leaves the axes, at the right and along the top."""
    across, up = ax.get_xlim(), ax.get_ylim()
    size = np.array([across[1] - across[0], up[1] - up[0]])
    ends = [end for x2 in curve.x2 for end in _ends(curve.x1, x2, across, up)]
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
    if up[0] <= y[-1] <= up[1]:
        yield np.array([x[-1], y[-1]]), bool(up[1] - y[-1] < _NAME[1] * (up[1] - up[0]))


def _last(curve: Boundary, across: Range, up: Range) -> Iterator[tuple[Floats, bool]]:
    """Give the last points in view of a boundary that leaves through the bottom, or not at all."""
    for x2 in curve.x2:
        seen = (x2 >= up[0]) & (x2 <= up[1]) & (curve.x1 >= across[0]) & (curve.x1 <= across[1])
        for place in np.flatnonzero(seen)[-1:]:
            yield np.array([curve.x1[place], x2[place]]), False


def points(
    X: ArrayLike, y: ArrayLike, ax: Axes | None = None, *, marked: ArrayLike | None = None
) -> Axes:
    """Draw rows in the plane of two covariates, by outcome.

    Figure 5 of [Karapanagiotis2021], where contaminated rows are marked.

    Parameters
    ----------
    X, y
        Covariates (n, 2) and outcomes (n,), 0 or 1.
    ax
        Where to draw; None makes a figure.
    marked
        Rows to draw as triangles (n,), such as contaminated ones.

    Returns
    -------
    Axes
        A collection of points for each outcome, marked rows apart.
    """
    x, event = check_array(X, "X", ndim=(2,)), check_outcome(y, "y")
    if x.shape[1] != 2:
        raise ValueError(f"X must have two columns to be drawn in their plane, got {x.shape}")
    special = np.zeros(len(event), bool) if marked is None else check_outcome(marked, "marked")
    check_same_length(X=x[:, 0], y=event, marked=special)
    with canvas(ax, 3.4, 3.4) as ax:
        kinds = (
            ("no event", NO_EVENT, tint(NO_EVENT, 0.7), ~event),
            ("event", EVENT, EVENT, event),
        )
        for label, color, face, rows in kinds:
            edge: dict[str, Any] = {"facecolor": face, "edgecolor": color, "linewidths": 0.5}
            for shape, chosen, size, text in (
                ("o", rows & ~special, 9, label),
                ("^", rows & special, 18, f"{label}, marked"),
            ):
                if chosen.any():
                    x1, x2 = x[chosen].T
                    ax.scatter(x1, x2, size, marker=shape, label=text, zorder=1.2, **edge)
        across, up = getattr(X, "columns", ("x1", "x2"))
        ax.set_xlabel(str(across))
        ax.set_ylabel(str(up))
        key(ax)
    return ax
