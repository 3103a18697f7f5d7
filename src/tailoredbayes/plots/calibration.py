"""Calibration: the smoothed share of events against the risk, and deliberate miscalibration."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from tailoredbayes.evaluation.calibration import Calibration
from tailoredbayes.evaluation.miscalibration import MiscalibrationShapes
from tailoredbayes.plots.style import (
    INK,
    Style,
    band,
    canvas,
    key,
    percent,
    pictures,
    styles,
)

__all__ = ["calibration", "miscalibration_shapes"]

_DIAGONAL: dict[str, Any] = {"color": "0.6", "linewidth": 0.8, "linestyle": "-", "zorder": 1}


@pictures(Calibration)
def calibration(record: Calibration, ax: Axes | None = None) -> Axes:
    """Draw smoothed calibration curves with their bands, and the risks' distribution below.

    Figure S10a of [Karapanagiotis2021]. A curve above the diagonal says that risks are too low.

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.calibration`.
    ax
        Where to draw; None makes a figure.

    Returns
    -------
    Axes
        A line a model; the histograms are in ``ax.child_axes[0]``.
    """
    looks = styles(record.models)
    with canvas(ax, 3.6, 3.9) as ax:
        ax.axline((0, 0), slope=1, label="perfect", **_DIAGONAL)
        for name, model in record.models.items():
            curve, look = model.curve, looks[name]
            ax.plot(curve.risk, curve.observed, label=name, **look.line)
            band(ax, curve.risk, curve.low, curve.high, look.color, 0.35)
        ax.set_xlim(0, 1)
        ax.set_ylim(-0.22, 1)
        ax.set_yticks(np.linspace(0, 1, 6))
        percent(ax.xaxis, "Predicted risk")
        percent(ax.yaxis, "Observed share of events")
        if record.threshold is not None:
            ax.axvline(record.threshold, color=INK, linewidth=0.8, linestyle=":")
        _histograms(ax, record, looks)
        key(ax)
    return ax


def _histograms(ax: Axes, record: Calibration, looks: dict[str, Style]) -> None:
    """Draw the number of rows by risk along the bottom."""
    below = ax.inset_axes((0, 0, 1, 0.16), sharex=ax)
    for name, model in record.models.items():
        found = model.histogram
        rows = found.events + found.nonevents
        below.stairs(rows, found.edges, linewidth=0.9, label=name, **looks[name].line)
    below.set_ylim(bottom=0)
    below.patch.set_alpha(0)
    below.set_yticks([])
    below.tick_params(bottom=False, labelbottom=False)
    below.spines[:].set_visible(False)
    below.annotate(
        "rows", (1, 0.95), xycoords="axes fraction", ha="right", va="top", fontsize=7, color=INK
    )


_KINDS = {
    "overestimation": Style("#D55E00", "-", "o"),
    "underestimation": Style("#0072B2", "-", "s"),
    "overfitting": Style("#009E73", "-", "^"),
    "underfitting": Style("#CC79A7", "-", "v"),
}
_DEGREES: dict[str, Any] = {"mild": "-", "severe": (0, (4, 1.5))}


@pictures(MiscalibrationShapes)
def miscalibration_shapes(record: MiscalibrationShapes, ax: Axes | None = None) -> Axes:
    """Draw the shapes of deliberate miscalibration: four kinds, each mild and severe.

    Figure S10b of [Karapanagiotis2021]: the miscalibrated risk across, the original one up, as
    there. A curve below the diagonal overestimates.

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.miscalibration_shapes`.
    ax
        Where to draw; None makes a figure.

    Returns
    -------
    Axes
        A line a kind and degree, in the order of the record.
    """
    with canvas(ax, 3.6, 3.9) as ax:
        ax.axline((0, 0), slope=1, **_DIAGONAL)
        for (kind, degree), bent in record.shapes.items():
            look = _KINDS[kind]
            ax.plot(
                bent,
                record.risk,
                label=kind if degree == "mild" else "_",
                color=look.color,
                linestyle=_DEGREES[degree],
                marker=look.marker,
                markevery=(0.1, 0.2),
                markersize=3.5,
            )
        ax.set_xlim(0, 1)
        ax.set_ylim(0, 1)
        percent(ax.xaxis, "Miscalibrated risk")
        percent(ax.yaxis, "Original risk")
        degrees = [
            Line2D([], [], color=INK, linestyle=dashes, label=degree)
            for degree, dashes in _DEGREES.items()
        ]
        key(ax, handles=[*ax.get_legend_handles_labels()[0], *degrees])
    return ax
