"""Before fitting: what a discount does to the weights, and what the search says it brings."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import ArrayLike

from tailoredbayes.checks import check_array
from tailoredbayes.evaluation.prospects import Prospects
from tailoredbayes.plots.style import (
    INK,
    ROLES,
    Panels,
    canvas,
    key,
    key_of_panels,
    leftmost,
    outer_labels,
    panels,
    per_1000,
    per_1000_text,
    percent,
    pictures,
    sequence,
)

__all__ = ["discount_search", "effective_sample", "weights"]

# Discounts drawn where the user names none.
_SOME = 5


@pictures(Prospects)
def weights(record: Prospects, axes: Any = None, *, discounts: ArrayLike | None = None) -> Panels:
    """Draw the weight of a row against its reference risk, by discount, a panel a threshold.

    Figure S6 of [Karapanagiotis2021]. Points lie at percentiles of the rows: as densely as rows.

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.prospects`.
    axes
        Where to draw, a panel a threshold: Axes, or a Figure to put them in; None makes one.
    discounts
        Which of the record's discounts to draw; None draws five, from 0 to the largest.

    Returns
    -------
    array of Axes
        A line of points for each discount.
    """
    chosen = _chosen(record.discounts, discounts)
    looks = sequence(chosen)
    with panels(axes, len(record.thresholds), width=2.6, sharex=True, sharey=True) as placed:
        for i, (ax, t) in enumerate(zip(placed, record.thresholds, strict=True)):
            for j, look in looks.items():
                every = {**look.points, "markersize": 2.5, "linewidth": 0.8, "markevery": 4}
                label = f"λ = {record.discounts[j]:.3g}"
                ax.plot(record.reference_risk[i], record.weights[i, :, j], label=label, **every)
            ax.axvline(t, color=INK, linestyle=":", linewidth=0.9)
            ax.set_title(f"threshold {t:g}")
            ax.set_ylim(-0.03, 1.03)
            percent(ax.xaxis, "Reference risk")
            ax.locator_params(axis="x", nbins=4)
            ax.set_ylabel("Weight")
        outer_labels(placed)
        key_of_panels(placed)
    return np.array(placed)


@pictures(Prospects)
def effective_sample(record: Prospects, ax: Axes | None = None) -> Axes:
    """Draw the share of the data that each discount leaves, ESS_T / n, a line a threshold.

    Figure S8 of [Karapanagiotis2021]: a guide to the largest discount worth trying, known before
    any tailored fit.

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.prospects`.
    ax
        Where to draw; None makes a figure.

    Returns
    -------
    Axes
        A line a threshold.
    """
    looks = sequence(record.thresholds.tolist())
    with canvas(ax, 4.2, 3.0) as ax:
        for t, share in zip(record.thresholds.tolist(), record.ess_fraction, strict=True):
            every = {"markersize": 3.5, "markevery": max(1, len(share) // 8)}
            ax.plot(record.discounts, share, label=f"t = {t:g}", **{**looks[t].points, **every})
        _discount_axis(ax, record.discounts)
        ax.set_ylim(-0.02, 1.02)
        percent(ax.yaxis, "Share of the rows left, ESS$_T$ / n")
        key(ax)
    return ax


@pictures(Prospects)
def discount_search(record: Prospects, axes: Any = None) -> Panels:
    """Draw cross-validated net benefit against the discount, a panel a threshold.

    Figure S9 of [Karapanagiotis2021]: where it stays or falls as the discount grows, tailoring
    will probably not help. The black diamond is the chosen discount; the title tells its gain over
    discount 0, standard Bayes, per 1000, with the standard error.

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.prospects` of a fitted model or family with a search.
    axes
        Where to draw, a panel a threshold: Axes, or a Figure to put them in; None makes one.

    Returns
    -------
    array of Axes
        A line of all discounts and a point at the chosen one; net benefit in shares, its ticks
        per 1000.
    """
    if not record.searches:
        raise ValueError(
            "record must hold a search for the discount, got reference risks alone; pass a model "
            "fitted with discount='cv' to prospects"
        )
    with panels(axes, len(record.searches), height=1.8, narrowest=2.0) as placed:
        for ax, (t, path) in zip(placed, record.searches.items(), strict=True):
            ax.plot(path.discounts, path.net_benefit, **ROLES["tailored"].points)
            at = path.discounts == path.chosen
            mark: dict[str, Any] = {
                "color": "black",
                "marker": "D",
                "markersize": 5,
                "linestyle": "none",
            }
            ax.plot(path.discounts[at], path.net_benefit[at], label="chosen", zorder=4, **mark)
            gain = f"gain {per_1000_text(path.gain)} (SE {per_1000_text(path.gain_se)})"
            ax.set_title(f"t = {t:g}\n{gain if path.chosen else 'standard Bayes chosen'}")
            ax.axhline(path.net_benefit[0], color=INK, linewidth=0.7, linestyle=":", zorder=1)
            _discount_axis(ax, path.discounts)
            per_1000(ax.yaxis, "Net true positives\nper 1000 (CV)" if leftmost(ax) else None)
        standard = Line2D([], [], color=INK, linewidth=0.7, linestyle=":", label="standard, λ = 0")
        shown = [*placed[0].get_legend_handles_labels()[0], standard]
        key_of_panels(placed, above=25, handles=shown)
    return np.array(placed)


def _chosen(known: np.ndarray[Any, np.dtype[np.float64]], wanted: ArrayLike | None) -> list[int]:
    """Places of the discounts to draw."""
    if wanted is None:
        return sorted({round(i) for i in np.linspace(0, len(known) - 1, min(_SOME, len(known)))})
    values = np.atleast_1d(check_array(wanted, "discounts", ndim=(0, 1)))
    nearest = np.abs(known[:, None] - values).argmin(axis=0)
    missing = values[~np.isclose(known[nearest], values)]
    if len(missing):
        raise ValueError(
            f"discounts must be some of the record's, got {missing[0]:g}; ask for it in "
            "prospects(..., discounts=)"
        )
    return [int(i) for i in nearest]


def _discount_axis(ax: Axes, discounts: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    """Scale an axis of discounts: even from 0 to 1, by factors beyond."""
    ax.set_xscale("symlog", linthresh=1.0, linscale=0.5)
    top = float(discounts.max())
    ticks = [0.0, *(tick for tick in (1.0, 10.0, 100.0, 1000.0, 10000.0) if tick <= top)]
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set_xlim(-0.25, 1.35 * top)
    ax.set_xlabel("Discount λ")
