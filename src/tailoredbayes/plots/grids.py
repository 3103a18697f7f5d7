"""A study's figures: net benefit by threshold, a panel a setting."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from tailoredbayes.evaluation.grids import Grid
from tailoredbayes.plots.style import (
    INK,
    Panels,
    Style,
    key_of_panels,
    outer_labels,
    panels,
    per_1000,
    percent,
    pictures,
    role,
    sequence,
    styles,
)

__all__ = ["grid"]

_UNITS = {
    "difference in net benefit": "Difference in net true\npositives per 1000",
    "net benefit": "Net true positives\nper 1000",
}
_PLAIN = Style("#D55E00", "-", "o")


@pictures(Grid)
def grid(record: Grid, axes: Any = None) -> Panels:
    """Draw a study's means by threshold, a panel a setting, with one standard error.

    Of [Karapanagiotis2021]: figures 2, 4 and S3 (a line a sample size), 6 (a line a model), S11
    (a line a degree of miscalibration) and S12 (a panel a distance).

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.difference_grid` or :func:`~tailoredbayes.net_benefit_grid`:
        its table has the columns panel, line, threshold, mean and standard_error.
    axes
        Where to draw, a panel a setting: Axes, or a Figure to put them in; None makes one.

    Returns
    -------
    array of Axes
        In each a line with error bars for each line of the record.
    """
    frame = record.frame
    settings, lines = frame["panel"].unique(), frame["line"].unique().tolist()
    looks = _looks(lines)
    with panels(axes, len(settings), columns=3, sharex=True, sharey=True) as placed:
        for ax, setting in zip(placed, settings, strict=True):
            for name in lines:
                rows = frame[(frame["panel"] == setting) & (frame["line"] == name)]
                _line(ax, rows, looks[name], _named(record.line, name))
            if record.quantity.startswith("difference"):
                ax.axhline(0, color=INK, linewidth=0.8, zorder=1)
            ax.set_title(_named(record.panel, setting))
            percent(ax.xaxis)
            per_1000(ax.yaxis)
            ax.set_xlabel("Threshold risk")
            ax.set_ylabel(_UNITS[record.quantity])
        outer_labels(placed)
        if len(lines) > 1:
            key_of_panels(placed)
    return np.array(placed)


def _looks(lines: list[Any]) -> dict[Any, Style]:
    """Models look as everywhere; values of a setting go from light to dark."""
    if len(lines) == 1:
        return {lines[0]: _PLAIN}
    if any(isinstance(name, str) and role(name) for name in lines):
        return dict(styles(lines))
    return sequence(lines)


def _line(ax: Axes, rows: Any, look: Style, label: str) -> None:
    t, mean = rows["threshold"].to_numpy(), rows["mean"].to_numpy()
    error = rows["standard_error"].to_numpy()
    bars = {"elinewidth": 1.0, "capsize": 1.5, "linewidth": 1.1}
    ax.errorbar(t, mean, error, label=label, **{**look.points, **bars, "markersize": 3.5})


def _named(setting: str, value: Any) -> str:
    """Say what a panel or a line stands for: "q = 0.5"; a text speaks for itself."""
    if isinstance(value, str):
        return value
    return f"{setting.replace('_', ' ')} = {value:g}"
