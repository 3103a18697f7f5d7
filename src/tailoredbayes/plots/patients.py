"""Patients: how sure one's risk is, and how the risks of many spread by outcome."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from tailoredbayes.evaluation.calibration import Calibration
from tailoredbayes.evaluation.patients import Patients
from tailoredbayes.plots.style import (
    EVENT,
    INK,
    NO_EVENT,
    Panels,
    band,
    canvas,
    key,
    key_of_panels,
    panels,
    percent,
    pictures,
    sequence,
    tint,
)

__all__ = ["patients", "risk_distribution"]


@pictures(Patients)
def patients(record: Patients, ax: Axes | None = None) -> Axes:
    """Draw the posterior distribution of some patients' risks, their means and the threshold.

    Figure 11 of [Karapanagiotis2021]: of two patients with like mean risks, one may be known much
    better than the other.

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.patients` with ``predictive=`` the rows to draw.
    ax
        Where to draw; None makes a figure.

    Returns
    -------
    Axes
        A density and a line at the mean for each patient, in the order asked for.
    """
    if not record.predictive:
        raise ValueError(
            "record must hold risk draws of the patients to draw, got none; ask for them with "
            "patients(..., predictive=[0, 1])"
        )
    frame = record.density_frame()
    looks = sequence(record.predictive)
    mean = dict(zip(record.index.tolist(), record.risk.tolist(), strict=True))
    with canvas(ax, 4.2, 2.6) as ax:
        for patient, look in looks.items():
            rows = frame[frame["patient"] == patient]
            risk, density = rows["risk"].to_numpy(), rows["density"].to_numpy()
            ax.plot(risk, density, label=f"patient {patient}", **look.line)
            band(ax, risk, np.zeros_like(density), density, look.color, 0.3)
            ax.axvline(mean[patient], linewidth=1.0, **{**look.line, "zorder": 2})
        _threshold(ax, record.threshold)
        ax.set_xlim(0, max(1.25 * record.threshold, *(_far(d) for d in record.predictive.values())))
        ax.set_ylim(bottom=0)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        percent(ax.xaxis, "Risk (vertical lines: mean)")
        key(ax)
    return ax


def _threshold(ax: Axes, threshold: float) -> None:
    ax.axvline(threshold, color=INK, linewidth=0.9, linestyle=":", label="threshold")


def _far(draws: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Return how far to the right a patient's draws reach, some room beside them."""
    return min(1.0, 1.05 * float(draws.max()))


@pictures(Calibration)
def risk_distribution(record: Calibration, axes: Any = None) -> Panels:
    """Draw how the predicted risks spread among rows with and without the event.

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.calibration`, which counts the risks by outcome.
    axes
        Where to draw, a panel a model: Axes, or a Figure to put them in; None makes one.

    Returns
    -------
    array of Axes
        In each a step line for either outcome: the share of its rows in each bin of risk.
    """
    number = len(record.models)
    layout: dict[str, Any] = {"columns": 1, "width": 4.2, "height": 1.6}
    with panels(axes, number, sharex=True, sharey=True, **layout) as placed:
        for ax, (name, model) in zip(placed, record.models.items(), strict=True):
            found = model.histogram
            shares = found.nonevents / record.nonevents
            pale: dict[str, Any] = {
                "facecolor": tint(NO_EVENT, 0.6),
                "edgecolor": NO_EVENT,
                "fill": True,
            }
            ax.stairs(shares, found.edges, label="no event", linewidth=0.8, **pale)
            shares = found.events / record.events
            ax.stairs(shares, found.edges, label="event", color=EVENT, linewidth=1.4)
            if record.threshold is not None:
                _threshold(ax, record.threshold)
            ax.set_xlim(0, 1)
            percent(ax.yaxis, "Share of\neach outcome")
            ax.set_title(name)
        for ax in placed:  # their scale may be shared: it has to hold the highest bin of all
            ax.set_ylim(bottom=0)
        percent(placed[-1].xaxis, "Predicted risk")
        key_of_panels(placed)
    return np.array(placed)
