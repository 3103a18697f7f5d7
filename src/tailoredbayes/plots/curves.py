"""Net benefit by threshold: decision curves, differences, and how sure they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.transforms import offset_copy

from tailoredbayes.checks import FloatArray
from tailoredbayes.evaluation.bayesian import BayesianDecisionCurve, BayesianDifference
from tailoredbayes.evaluation.curves import DecisionCurve
from tailoredbayes.evaluation.differences import NetBenefitDifference, ResplitDifference
from tailoredbayes.evaluation.experiments import Experiment
from tailoredbayes.plots.style import (
    INK,
    Style,
    band,
    canvas,
    harm_benefit_axis,
    key,
    per_1000,
    percent,
    percent_text,
    pictures,
    shaded,
    styles,
    tint,
)

__all__ = [
    "decision_curve",
    "interventions_avoided",
    "net_benefit_difference",
    "probability_better",
    "probability_useful",
]

Difference = NetBenefitDifference | ResplitDifference | BayesianDifference
Shade = tuple[float, float]

_LABELS = {"all": "treat all", "none": "treat none"}
# Up to so many thresholds each gets a mark of its own, and an interval of its own.
_FEW = 20


def _marks(count: int) -> bool:
    return count <= _FEW


def _thresholds(ax: Axes) -> None:
    """Name the axis of thresholds, below by the risk and above by harm to benefit."""
    percent(ax.xaxis, "Threshold risk")
    if not ax.child_axes:
        harm_benefit_axis(ax)
    key(ax, above=28)


@pictures(DecisionCurve, BayesianDecisionCurve)
def decision_curve(
    record: DecisionCurve | BayesianDecisionCurve,
    ax: Axes | None = None,
    *,
    shade: Shade | None = None,
) -> Axes:
    """Draw the net benefit of each model against the threshold, with its band.

    Treating all and treating no one are drawn beside them; where their curve is the highest, no
    model is worth using. The axis along the top tells the harm-to-benefit ratio of a threshold.
    [VickersElkin2006]

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.decision_curve` or
        :func:`~tailoredbayes.bayesian_decision_curve`.
    ax
        Where to draw; None makes a figure. Models are added to those that a decision curve has
        drawn there before, and treating all and no one are not drawn again.
    shade
        A range of thresholds to shade, such as those that a guideline discusses.

    Returns
    -------
    Axes
        A line a model, then "all" and "none"; net benefit in shares, its ticks per 1000.
    """
    order = np.argsort(record.thresholds)
    t = record.thresholds[order]
    with canvas(ax, 4.6, 3.3) as ax:
        drawn = [str(line.get_label()) for line in ax.get_lines()]
        looks = styles([*drawn, *record.models])
        floor = ax.get_ylim() if drawn else (0.0, 0.0)
        shaded(ax, shade)
        for place, name in enumerate(record.models):
            look, fixed = looks[name], name in _LABELS
            if fixed and _LABELS[name] in drawn:
                continue
            style = look.points if _marks(len(t)) and not fixed else look.line
            width = 0.9 if name == "none" else 1.4
            value = record.net_benefit[place, order]
            ax.plot(t, value, label=_LABELS.get(name, name), **{"linewidth": width, **style})
            if not fixed:
                low, high = record.low[place, order], record.high[place, order]
                band(ax, t, low, high, look.color, 0.25)
        top = float(np.nanmax(record.high[:, order])) or 0.01  # without events nothing is above 0
        ax.set_ylim(min(floor[0], -0.16 * top), max(floor[1], 1.05 * top))
        ax.margins(x=0.02)
        per_1000(ax.yaxis, "Net true positives per 1000")
        _thresholds(ax)
    return ax


@pictures(DecisionCurve)
def interventions_avoided(
    record: DecisionCurve, ax: Axes | None = None, *, shade: Shade | None = None
) -> Axes:
    """Draw how many treatments a model spares per 100 patients, against treating all.

    A net number: the treatments spared, less what the cases that it misses are worth in treatments
    at the threshold.

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.decision_curve`.
    ax
        Where to draw; None makes a figure.
    shade
        A range of thresholds to shade.

    Returns
    -------
    Axes
        A line a model; the line at 0 is treating all.
    """
    order = np.argsort(record.thresholds)
    t = record.thresholds[order]
    looks = styles(record.models)
    avoided = record.interventions_avoided
    with canvas(ax, 4.6, 3.0) as ax:
        shaded(ax, shade)
        ax.axhline(0, label=_LABELS["all"], linewidth=1.0, **looks["all"].line)
        for place, name in enumerate(record.models):
            if name not in _LABELS:
                style = looks[name].points if _marks(len(t)) else looks[name].line
                ax.plot(t, avoided[place, order], label=name, **style)
        ax.set_ylabel("Net treatments avoided per 100")
        _thresholds(ax)
    return ax


# --- Differences ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Series:
    """One model less another: what a line and its bars show."""

    model: str
    against: str
    t: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    outer: FloatArray | None = None
    """A further standard error, drawn thin."""


@pictures(*get_args(Difference), Experiment, several=True)
def net_benefit_difference(
    record: Difference | Sequence[Difference] | Experiment,
    ax: Axes | None = None,
    *,
    shade: Shade | None = None,
) -> Axes:
    """Draw differences in net benefit by threshold, with error bars or, for many, a band.

    Figures 7, 9 and S4 of [Karapanagiotis2021]. Above 0 the first of the two models is better.
    The bars are the record's interval; of repeated splits they are one standard error over the
    splits, as in the paper, and a thin line beyond them is the test rows' own.

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.net_benefit_difference`,
        :func:`~tailoredbayes.resplit_difference` or the ``difference`` of a Bayesian decision
        curve; or several of them. Of an :func:`~tailoredbayes.experiment`, the first model less
        each of the others.
    ax
        Where to draw; None makes a figure.
    shade
        A range of thresholds to shade, such as those that a guideline discusses.

    Returns
    -------
    Axes
        A line a difference; differences in shares, their ticks per 1000.
    """
    several = record.differences if isinstance(record, Experiment) else record
    records = [several] if isinstance(several, Difference) else list(several)
    found = [series for one in records for series in _series(one)]
    looks = _difference_looks(found)
    with canvas(ax, 4.6, 3.0) as ax:
        shaded(ax, shade)
        ax.axhline(0, color=INK, linewidth=0.8, zorder=1)
        for place, (series, look) in enumerate(zip(found, looks, strict=True)):
            if _marks(len(series.t)):
                _bars(ax, series, look, 4.0 * (place - (len(found) - 1) / 2))
            else:
                _band(ax, series, look)
        per_1000(ax.yaxis, "Difference in net true\npositives per 1000")
        _thresholds(ax)
    return ax


def _label(series: _Series) -> str:
    return " − ".join(_LABELS.get(name, name) for name in (series.model, series.against))


def _bars(ax: Axes, series: _Series, look: Style, shift: float) -> None:
    """Draw points with bars, ``shift`` points to the right so that several can be told apart."""
    moved = offset_copy(ax.transData, ax.get_figure(root=True), shift, 0, units="points")
    seen = [series.low, series.high]
    if series.outer is not None:
        seen += [series.value - series.outer, series.value + series.outer]
        thin: dict[str, Any] = {"linewidth": 0.7, "colors": [tint(look.color, 0.3)], "zorder": 2}
        ax.vlines(series.t, seen[2], seen[3], transform=moved, **thin)
    for ends in seen:  # matplotlib leaves what is moved out of the limits
        ax.update_datalim(np.column_stack([series.t, ends]))
    error = np.stack([series.value - series.low, series.high - series.value])
    bars = {"elinewidth": 1.3, "capsize": 2.5, "transform": moved, "linewidth": 1.0}
    ax.errorbar(series.t, series.value, error, label=_label(series), **{**look.points, **bars})
    ax.autoscale_view()


def _band(ax: Axes, series: _Series, look: Style) -> None:
    ax.plot(series.t, series.value, label=_label(series), **look.line)
    band(ax, series.t, series.low, series.high, look.color, 0.35)


def _series(record: Difference) -> Iterator[_Series]:
    order = np.argsort(record.thresholds)
    t = record.thresholds[order]
    if isinstance(record, BayesianDifference):
        value, low, high = (v[order] for v in (record.difference, record.low, record.high))
        yield _Series(record.model, record.against, t, value, low, high)
        return
    for place, model in enumerate(record.models):
        value = record.difference[place, order]
        outer = None
        if isinstance(record, NetBenefitDifference):
            low, high = record.low[place, order], record.high[place, order]
        else:
            error = record.standard_error[place, order]
            low, high = value - error, value + error
            if record.sampling_error is not None:
                outer = record.sampling_error[place, order]
        yield _Series(model, record.against, t, value, low, high, outer)


def _difference_looks(found: Sequence[_Series]) -> list[Style]:
    """Give a difference the look of whichever of its two models tells it from the others."""
    models = [series.model for series in found]
    if len(set(models)) == 1 and len(found) > 1:
        models = [series.against for series in found]
    looks = styles(models)
    return [looks[model] for model in models]


# --- How sure ---------------------------------------------------------------------------------


@pictures(BayesianDecisionCurve)
def probability_useful(
    record: BayesianDecisionCurve, ax: Axes | None = None, *, shade: Shade | None = None
) -> Axes:
    """Draw, by threshold, how sure it is that each model beats treating all and treating no one.

    Parameters
    ----------
    record
        From :func:`~tailoredbayes.bayesian_decision_curve`.
    ax
        Where to draw; None makes a figure.
    shade
        A range of thresholds to shade.

    Returns
    -------
    Axes
        A line a model.
    """
    order = np.argsort(record.thresholds)
    values = {
        name: record.p_useful[place, order]
        for place, name in enumerate(record.models)
        if name not in _LABELS
    }
    label = "P(better than treating\nall and no one)"
    return _probabilities(record.thresholds[order], values, label, ax, shade)


@pictures(BayesianDifference, BayesianDecisionCurve)
def probability_better(
    record: BayesianDifference | BayesianDecisionCurve,
    ax: Axes | None = None,
    *,
    shade: Shade | None = None,
) -> Axes:
    """Draw, by threshold, how sure it is that one model has more net benefit than another.

    Parameters
    ----------
    record
        The ``difference`` of a Bayesian decision curve; or the curve, whose first model is
        compared with its second, or with treating all where it has one only.
    ax
        Where to draw; None makes a figure.
    shade
        A range of thresholds to shade.

    Returns
    -------
    Axes
        One line.
    """
    if isinstance(record, BayesianDecisionCurve):
        record = record.difference(*record.models[:2])
    order = np.argsort(record.thresholds)
    names = [_LABELS.get(name, name) for name in (record.model, record.against)]
    values = {record.model: record.p_better[order]}
    label = f"P({names[0]} better than {names[1]})"
    return _probabilities(record.thresholds[order], values, label, ax, shade)


def _probabilities(
    t: FloatArray,
    values: dict[str, FloatArray],
    label: str,
    ax: Axes | None,
    shade: Shade | None,
) -> Axes:
    looks = styles(values)
    with canvas(ax, 4.6, 2.8) as ax:
        shaded(ax, shade)
        for share in (0.5, 0.95):
            ax.axhline(share, color="0.75", linewidth=0.7, linestyle=(0, (4, 3)), zorder=1)
            ax.annotate(
                percent_text(share),
                (1, share),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="top",
                fontsize=6.5,
                color="0.45",
            )
        for name, value in values.items():
            style = looks[name].points if _marks(len(t)) else looks[name].line
            ax.plot(t, value, label=name, **style)
        ax.set_ylim(-0.02, 1.02)
        percent(ax.yaxis, label)
        _thresholds(ax)
    return ax
