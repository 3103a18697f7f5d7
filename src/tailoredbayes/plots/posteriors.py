"""Posteriors side by side: densities, highest density intervals, their widths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from tailoredbayes.evaluation.posteriors import (
    PosteriorComparison,
    PosteriorDensities,
    PosteriorIntervals,
)
from tailoredbayes.plots.style import (
    FAINT,
    INK,
    Panels,
    band,
    canvas,
    key,
    key_of_panels,
    panels,
    percent_text,
    pictures,
    role,
    styles,
)

__all__ = ["interval_widths", "posterior_densities", "posterior_intervals"]


@pictures(PosteriorDensities, PosteriorComparison)
def posterior_densities(
    record: PosteriorDensities | PosteriorComparison,
    axes: Any = None,
    *,
    coefficients: Sequence[str] | None = None,
) -> Panels:
    """Draw the marginal posterior densities of the coefficients, a panel each.

    Figure 8 of [Karapanagiotis2021]. Given a comparison, each panel says how far the two overlap,
    as the paper's Table 1.

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.posterior_densities` or
        :func:`~tailoredbayes.posterior_overlap`.
    axes
        Where to draw, a panel a coefficient: Axes, or a Figure to put them in; None makes one.
    coefficients
        Which to draw; None draws all.

    Returns
    -------
    array of Axes
        A line a model in each.
    """
    compared = isinstance(record, PosteriorComparison)
    found = record.densities if isinstance(record, PosteriorComparison) else record
    looks = styles(found.density)
    chosen = _chosen(found.names, coefficients)
    with panels(axes, len(chosen), columns=3, width=2.1, height=1.5) as placed:
        for ax, j in zip(placed, chosen, strict=True):
            for model, density in found.density.items():
                look = looks[model]
                ax.plot(found.grid[j], density[j], label=model, **look.line)
                band(ax, found.grid[j], np.zeros_like(density[j]), density[j], look.color, 0.25)
            title = found.names[j]
            if compared:
                assert isinstance(record, PosteriorComparison)
                title += f"  ({percent_text(record.overlap[j])} overlap)"
            ax.set_title(title)
            ax.set_ylim(bottom=0)
            ax.set_yticks([])
            ax.spines["left"].set_visible(False)
            ax.locator_params(axis="x", nbins=5)
        key_of_panels(placed)
    return np.array(placed)


@pictures(PosteriorIntervals)
def posterior_intervals(
    record: PosteriorIntervals,
    ax: Axes | None = None,
    *,
    coefficients: Sequence[str] | None = None,
) -> Axes:
    """Draw highest density intervals of the coefficients, model beside model.

    Figures 10 and S5 of [Karapanagiotis2021]: dots are medians, the thick line is the narrowest
    interval of the record and the thin line the widest, dashed lines pass through the standard
    model's medians.

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.posterior_intervals`.
    ax
        Where to draw; None makes a figure.
    coefficients
        Which to draw, from top to bottom; None draws all.

    Returns
    -------
    Axes
        For each model a line of medians, and a collection of intervals for each probability.
    """
    looks = styles(record.median)
    chosen = _chosen(record.names, coefficients)
    places = _places(len(chosen), len(looks))
    widths = np.linspace(2.8, 0.9, len(record.probs))
    with canvas(ax, 4.2, 0.5 + 0.17 * len(looks) * len(chosen) + 0.12 * len(chosen)) as ax:
        for (model, look), rows in zip(looks.items(), places, strict=True):
            for prob, width in zip(sorted(record.probs), widths, strict=True):
                low, high = record.intervals[model, prob][chosen].T
                ax.hlines(rows, low, high, colors=look.color, linewidth=width)
            points = {**look.points, "linestyle": "none", "zorder": 4}
            ax.plot(record.median[model][chosen], rows, label=model, **points)
        standard = next((model for model in looks if role(model) == "standard"), None)
        if standard is not None and len(looks) > 1:
            middle = np.arange(len(chosen))
            passes: dict[str, Any] = {"colors": "0.5", "linestyles": (0, (3, 2)), "linewidth": 0.8}
            at = record.median[standard][chosen]
            ax.vlines(at, middle - 0.45, middle + 0.45, zorder=1, **passes)
        _name_rows(ax, [record.names[j] for j in chosen])
        shares = ", ".join(percent_text(prob) for prob in sorted(record.probs))
        ax.set_xlabel(f"Coefficient (median; HDI {shares})", loc="right")
        key(ax)
    return ax


@pictures(PosteriorIntervals)
def interval_widths(
    record: PosteriorIntervals,
    ax: Axes | None = None,
    *,
    coefficients: Sequence[str] | None = None,
) -> Axes:
    """Draw how wide the highest density interval of each coefficient is, model beside model.

    Figure S7 of [Karapanagiotis2021], of the narrowest interval of the record: tailored posteriors
    are wider, for they weigh fewer rows.

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.posterior_intervals`.
    ax
        Where to draw; None makes a figure.
    coefficients
        Which to draw, from top to bottom; None draws all.

    Returns
    -------
    Axes
        For each model a line of points.
    """
    looks = styles(record.median)
    chosen = _chosen(record.names, coefficients)
    prob = min(record.probs)
    frame = record.to_frame()
    frame = frame[frame["prob"] == prob].set_index(["model", "coefficient"])["width"]
    with canvas(ax, 4.2, 0.6 + 0.3 * len(chosen)) as ax:
        rows = np.arange(len(chosen))
        for model, look in looks.items():
            width = frame.loc[model].to_numpy()[chosen]
            ax.plot(width, rows, label=model, **{**look.points, "linestyle": "none"})
        ax.set_xlim(left=0)
        _name_rows(ax, [record.names[j] for j in chosen])
        ax.set_xlabel(f"Width of the {percent_text(prob)} HDI", loc="right")
        key(ax)
    return ax


def _chosen(names: Sequence[str], wanted: Sequence[str] | None) -> list[int]:
    """Places of the coefficients to draw."""
    if wanted is None:
        return list(range(len(names)))
    unknown = [name for name in wanted if name not in names]
    if unknown or not len(wanted):
        raise ValueError(
            f"coefficients must be some of {', '.join(names)}, got {unknown or 'none'}"
        )
    return [list(names).index(name) for name in wanted]


def _places(coefficients: int, models: int) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
    """Heights of each model's intervals: the coefficients one below the other, models within."""
    inside = (np.arange(models) - (models - 1) / 2) * 0.7 / models
    return [np.arange(coefficients) + shift for shift in inside]


def _name_rows(ax: Axes, names: Sequence[str]) -> None:
    ax.set_yticks(np.arange(len(names)), labels=list(names))
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.45, -0.55)
    for row in range(len(names) - 1):
        ax.axhline(row + 0.5, color=FAINT, linewidth=0.6, zorder=0.5)
    ax.spines["left"].set_color(INK)
