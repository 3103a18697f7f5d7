"""The plane of two covariates: rows, and where the decision changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from tailoredbayes.checks import check_array, check_outcome, check_same_length
from tailoredbayes.evaluation.boundaries import Boundaries, Boundary
from tailoredbayes.plots.style import EVENT, INK, NO_EVENT, Style, band, canvas, key, styles, tint

__all__ = ["boundaries", "points"]


def boundaries(record: Boundaries, ax: Axes | None = None) -> Axes:
    """Draw decision boundaries, optimal or fitted, with the bands of fitted ones.

    Figures 1, 3 and S2 of [Karapanagiotis2021]: draw the optimal boundaries first, then fitted
    ones on the same axes.

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.optimal_boundaries` or
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
            limits = ((float(x1.min()), float(x1.max())),) * 2
        ax.set_xlim(limits[0])
        ax.set_ylim(limits[1])
        for curve in record.curves:
            if curve.model == "optimal":
                _name_threshold(ax, curve)
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


def _name_threshold(ax: Axes, curve: Boundary) -> None:
    """Write the threshold at the last point of the boundary's last branch within the axes."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    for x2 in curve.x2:
        seen = (x2 >= bottom) & (x2 <= top) & (curve.x1 >= left) & (curve.x1 <= right)
        places = np.flatnonzero(seen)
        if not len(places):
            continue
        last = places[-1]
        above = top - x2[last] < 0.04 * (top - bottom)
        ax.annotate(
            f"{curve.threshold:g}",
            (curve.x1[last], x2[last]),
            xytext=(0, 2) if above else (3, 0),
            textcoords="offset points",
            ha="center" if above else "left",
            va="bottom" if above else "center",
            color=INK,
            fontsize=7,
            annotation_clip=False,
        )
        return


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
        ax.set_xlabel("x1")
        ax.set_ylabel("x2")
        key(ax)
    return ax
