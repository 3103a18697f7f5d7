"""Calibration: whether as many have the event as the risks say.

Of a hundred patients given a risk of x%, close to x should have the event. What departs from that
is told by a few numbers (in the large, by a line on the logit scale, on average) and by a curve.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailoredbayes.checks import (
    check_both_classes,
    check_number,
    check_outcome,
    check_same_length,
    check_sample_weight,
    check_threshold,
)
from tailoredbayes.evaluation.estimates import Estimate, check_prob, normal_quantile
from tailoredbayes.evaluation.models import model_risks
from tailoredbayes.predictive import expit
from tailoredbayes.reference import recalibration

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Calibration",
    "CalibrationCurve",
    "ModelCalibration",
    "NearThreshold",
    "RiskHistogram",
    "calibration",
    "cox_line",
    "intercept_in_the_large",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Risks nearer 0 or 1 have the logit of this, as in stage 1: a published "0%" is rounded.
_SATURATED = 1e-6
# Rows are smoothed through at most so many groups of neighbouring risks.
_MOST_GROUPS = 1000
# The drawn curve's points, and the histogram's bins.
_POINTS, _BINS = 101, 50
# The rows near t, where no half-width is given: this share of them.
_NEAR_SHARE = 0.2


@dataclass(frozen=True)
class CalibrationCurve:
    """The smoothed share of events at each risk, with a pointwise band."""

    risk: Floats
    observed: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class RiskHistogram:
    """How many events and non-events (weighted) have a risk in each bin."""

    edges: Floats
    events: Floats
    nonevents: Floats


@dataclass(frozen=True)
class NearThreshold:
    """Calibration where the decision falls; see `calibration`.

    ``observed`` is the curve at the threshold, ``observed_expected`` and ``ici`` weigh each row by
    a tricube kernel that ends at ``bandwidth`` from the threshold; ``rows`` is the number of rows
    (their weight) inside it.
    """

    threshold: float
    bandwidth: float
    rows: float
    observed: Estimate
    observed_expected: Estimate
    ici: float


@dataclass(frozen=True)
class ModelCalibration:
    """The calibration of one model; `calibration` says what each number is."""

    in_the_large: Estimate
    cox_intercept: Estimate
    slope: Estimate
    observed_expected: Estimate
    ici: float
    e50: float
    e90: float
    emax: float
    curve: CalibrationCurve
    histogram: RiskHistogram
    near: NearThreshold | None = None


_LABELS = {
    "in_the_large": "intercept, slope fixed at 1 (calibration in the large)",
    "cox_intercept": "intercept beside the slope (Cox)",
    "slope": "slope (Cox)",
    "observed_expected": "observed / expected events",
    "ici": "ICI: mean |observed - risk|",
    "e50": "E50: median |observed - risk|",
    "e90": "E90: 90% quantile of |observed - risk|",
    "emax": "Emax: largest |observed - risk|",
}


@dataclass(frozen=True)
class Calibration:
    """Calibration of some models on the same rows.

    ``to_frame()`` is the table of numbers, ``curve_frame()`` that of the curves and
    ``histogram_frame()`` that of the risks. ``n`` counts the rows of weight above 0, ``events``
    and ``nonevents`` add up weights.
    """

    models: Mapping[str, ModelCalibration]
    n: int
    events: float
    nonevents: float
    prob: float
    span: float
    degree: int
    threshold: float | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return a row a model and statistic: value, standard error, interval, what it is."""
        import pandas as pd

        rows = []
        for name, model in self.models.items():
            for statistic, label in _LABELS.items():
                rows.append(_row(name, statistic, getattr(model, statistic), label))
            near = model.near
            if near is not None:
                within = f"within {near.bandwidth:.3g} of t = {near.threshold:g}, tricube weights"
                at = f"smoothed share of events at a risk of t = {near.threshold:g}"
                ratio = f"observed / expected events {within}"
                rows.append(_row(name, "observed_at_threshold", near.observed, at))
                rows.append(_row(name, "observed_expected_near", near.observed_expected, ratio))
                rows.append(_row(name, "ici_near", near.ici, f"ICI {within}"))
        columns = ["model", "statistic", "value", "se", "low", "high", "label"]
        return pd.DataFrame(rows, columns=columns)

    def curve_frame(self) -> pd.DataFrame:
        """Return the smoothed curves: a row a model and risk."""
        import pandas as pd

        return pd.concat(
            [
                pd.DataFrame({"model": name, **vars(model.curve)})
                for name, model in self.models.items()
            ],
            ignore_index=True,
        )

    def histogram_frame(self) -> pd.DataFrame:
        """Return the risks' distribution: a row a model and bin."""
        import pandas as pd

        frames = []
        for name, model in self.models.items():
            found = model.histogram
            frames.append(
                pd.DataFrame(
                    {
                        "model": name,
                        "risk_low": found.edges[:-1],
                        "risk_high": found.edges[1:],
                        "events": found.events,
                        "nonevents": found.nonevents,
                    }
                )
            )
        return pd.concat(frames, ignore_index=True)


def _row(model: str, statistic: str, found: Estimate | float, label: str) -> tuple[Any, ...]:
    if isinstance(found, Estimate):
        return (model, statistic, found.value, found.se, found.low, found.high, label)
    return (model, statistic, found, math.nan, math.nan, math.nan, label)


def calibration(
    y_true: ArrayLike,
    models: Any,
    *,
    X: Any = None,
    sample_weight: ArrayLike | None = None,
    threshold: float | None = None,
    bandwidth: float | None = None,
    span: float = 0.75,
    degree: int = 2,
    prob: float = 0.95,
) -> Calibration:
    r"""Return how well risks agree with outcomes: numbers, a smoothed curve, and both near t.

    With outcomes y, risks p and weights w (1 without `sample_weight`; a row of weight w counts as
    w rows),

    - observed / expected: O / E = sum w y / sum w p;
    - intercept in the large: a in logit P(y) = a + logit p, the slope held at 1;
    - Cox's intercept and slope: a and b in logit P(y) = a + b logit p [Cox1958]. b < 1 says that
      risks are too extreme, as those of an overfitted model are; a is the intercept at p = 1/2,
      not the one in the large;
    - ICI, E50, E90 and Emax: mean, median, 90% quantile and maximum over rows of |c(p) - p|, c
      the smoothed curve [AustinSteyerberg2019].

    Perfect calibration is O / E = 1, intercepts 0, slope 1. The smoothed measures have no interval:
    being means of absolute values they lie above 0 for a perfectly calibrated model too, by what
    the curve is off.

    The curve is loess [ClevelandDevlin1988] without robustness iterations: at each risk a
    polynomial fitted by least squares to the rows about it, weighted by w (1 - |d/h|^3)^3, d the
    distance and h that to the nearest rows which make up `span` of all; kept within [0, 1]. Its
    band is pointwise and takes a row's variance as c(1 - c). Above 1000 distinct risks the rows
    are first gathered in 1000 groups of neighbours, each at its mean.

    Near t. The curve at t says how many of those given a risk of t have the event. O / E and ICI
    are taken again with the row weights

        w (1 - |(p - t) / bandwidth|^3)^3    for |p - t| < bandwidth, else 0.

    Parameters
    ----------
    y_true
        Outcome per row; both classes must occur.
    models
        Risks or a fitted model, or a mapping from names to them. A family needs `threshold` and
        is taken at its model for that.
    X
        Covariates, for fitted models.
    sample_weight
        Weight per row, 0 or more.
    threshold
        t, for the calibration near it.
    bandwidth
        Half-width, on the scale of risks, of what counts as near. None takes the distance within
        which a fifth of the rows lie.
    span
        Share of the rows in each local fit, above 0 and at most 1.
    degree
        1 (local lines) or 2 (local parabolas).
    prob
        Of the intervals and the band.

    Returns
    -------
    Calibration
        Values without a definition are nan: Cox's line where all risks are equal or where they
        separate the outcomes (its slope then has no finite estimate), the curve at a `threshold`
        beyond the smallest or largest risk, and the measures near t where no row is near.

    Notes
    -----
    The intervals of intercepts and slope are Wald's from the model's information; that of O / E is
    on the log scale, its variance from each row's share in log(O / E). Risks nearer than 1e-6 to 0
    or 1 have the logit of 1e-6 from it.

    Examples
    --------
    Ten patients given a risk of 20%, ten of 40%; four and eight have the event, twice as many:

    >>> risk = np.repeat([0.2, 0.4], 10)
    >>> y = np.r_[np.arange(10) < 4, np.arange(10) < 8]
    >>> found = calibration(y, risk).models["model"]
    >>> round(found.observed_expected.value, 6), round(found.ici, 6)
    (2.0, 0.3)
    """
    event = check_outcome(y_true)
    weight = None if sample_weight is None else check_sample_weight(sample_weight)
    check_same_length(y_true=event, sample_weight=weight)
    check_both_classes(event, sample_weight=weight)
    t = None if threshold is None else check_threshold(threshold)
    at = None if t is None else np.array([t])
    width = None
    if bandwidth is not None:
        if t is None:
            raise ValueError("bandwidth says how near to a threshold; give threshold= too")
        advice = "pass a distance between risks such as 0.05"
        width = check_number(bandwidth, "bandwidth", above=0, advice=advice)
    advice = "0.75 fits each point to the nearest three quarters of the rows"
    span = check_number(span, "span", above=0, at_most=1, advice=advice)
    if degree not in (1, 2):
        raise ValueError(f"degree must be 1 (lines) or 2 (parabolas), got {degree!r}")
    prob = check_prob(prob)
    risks = model_risks(models, event, thresholds=at, X=X, name="models")
    found = {
        name: _one(
            event,
            risk[:, 0] if risk.ndim == 2 else risk,
            np.ones(len(event)) if weight is None else weight,
            _Settings(t, width, span, degree, prob),
        )
        for name, risk in risks.items()
    }
    w = np.ones(len(event)) if weight is None else weight
    events = float(w[event].sum())
    n = int(np.count_nonzero(w))
    return Calibration(found, n, events, float(w.sum()) - events, prob, span, degree, t)


@dataclass(frozen=True)
class _Settings:
    threshold: float | None
    bandwidth: float | None
    span: float
    degree: int
    prob: float


def _one(event: Bools, risk: Floats, weight: Floats, settings: _Settings) -> ModelCalibration:
    """Judge one model, input checked."""
    if not (weight > 0).all():
        used = weight > 0
        event, risk, weight = event[used], risk[used], weight[used]
    prob = settings.prob
    intercept, slope = cox_line(event, risk, weight, prob)
    smoother = _smoother(event, risk, weight, settings)
    centre = smoother.groups
    apart = np.abs(smoother.observed - centre.risk)
    e50, e90 = np.quantile(apart, [0.5, 0.9], weights=centre.weight, method="inverted_cdf")
    grid = np.linspace(risk.min(), risk.max(), _POINTS if len(centre.risk) > 1 else 1)
    return ModelCalibration(
        in_the_large=intercept_in_the_large(event, risk, weight, prob),
        cox_intercept=intercept,
        slope=slope,
        observed_expected=_observed_expected(event, risk, weight, prob),
        ici=float(np.average(apart, weights=centre.weight)),
        e50=float(e50),
        e90=float(e90),
        emax=float(apart.max()),
        curve=CalibrationCurve(grid, *smoother.band(grid, prob)),
        histogram=_histogram(event, risk, weight),
        near=None if settings.threshold is None else _near(event, risk, weight, smoother, settings),
    )


# --- On the logit scale -----------------------------------------------------------------------


def _logit(risk: Floats) -> Floats:
    inside = np.clip(risk, _SATURATED, 1 - _SATURATED)
    return np.asarray(np.log(inside / (1 - inside)))


def intercept_in_the_large(event: Bools, risk: Floats, weight: Floats, prob: float) -> Estimate:
    """Solve sum w (y - expit(a + logit p)) = 0 by Newton's steps, kept within a bracket."""
    offset, events = _logit(risk), float(weight[event].sum())
    total = float(weight.sum())
    centre = math.log(events / (total - events))  # a lies within centre - offset's range
    low, high = centre - float(offset.max()), centre - float(offset.min())
    a, information = 0.5 * (low + high), 1.0
    for _ in range(100):
        fitted = expit(a + offset)
        excess = events - float(weight @ fitted)
        information = float(weight @ (fitted * (1 - fitted)))
        low, high = (a, high) if excess > 0 else (low, a)
        step = excess / information
        new = a + step
        if not low <= new <= high:
            new = 0.5 * (low + high)
        if abs(new - a) < 1e-10:
            break
        a = new
    return Estimate.normal(a, information**-0.5, prob)


def cox_line(event: Bools, risk: Floats, weight: Floats, prob: float) -> tuple[Estimate, Estimate]:
    """Cox's line, as stage 1 recalibrates by it, with Wald intervals."""
    z = _logit(risk)
    of_events, of_others = z[event], z[~event]
    if of_events.min() >= of_others.max() or of_events.max() <= of_others.min():
        nothing = Estimate(math.nan, math.nan, math.nan, math.nan)
        return nothing, nothing  # separated, or all risks equal
    cox = recalibration(risk, event, weight)
    fitted = expit(cox.intercept + cox.slope * z)
    row = weight * fitted * (1 - fitted)
    first, second = float(row @ z), float(row @ (z * z))
    covariance = np.linalg.inv(np.array([[float(row.sum()), first], [first, second]]))
    se = np.sqrt(np.diag(covariance))
    return (
        Estimate.normal(cox.intercept, float(se[0]), prob),
        Estimate.normal(cox.slope, float(se[1]), prob),
    )


def _observed_expected(event: Bools, risk: Floats, weight: Floats, prob: float) -> Estimate:
    """O / E; a row adds y / O - p / E to the logarithm."""
    observed, expected = float(weight[event].sum()), float(weight @ risk)
    if expected == 0:
        return Estimate(math.inf, math.nan, math.nan, math.nan)
    part = event / observed - risk / expected
    return Estimate.log_normal(observed / expected, math.sqrt(weight @ part**2), prob)


# --- The smoothed curve -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Groups:
    """Rows with neighbouring risks, in ascending order: mean risk, weight, share of events."""

    risk: Floats
    weight: Floats
    events: Floats


def _gather(event: Bools, risk: Floats, weight: Floats) -> _Groups:
    order = np.argsort(risk)
    ordered, w = risk[order], weight[order]
    new = np.flatnonzero(np.r_[True, ordered[1:] > ordered[:-1]])
    if len(new) > _MOST_GROUPS:
        # Equal shares of the weight; rows of equal risk stay together.
        before = np.r_[0.0, np.cumsum(w)][new]
        group = np.floor(before * (_MOST_GROUPS / w.sum()))
        new = new[np.r_[True, group[1:] > group[:-1]]]
    total = np.add.reduceat(w, new)
    return _Groups(
        np.add.reduceat(w * ordered, new) / total,
        total,
        np.add.reduceat(w * event[order], new) / total,
    )


@dataclass(frozen=True)
class _Smoother:
    """Loess through groups of rows; ``observed`` is its value at the groups themselves."""

    groups: _Groups
    span: float
    degree: int
    observed: Floats

    def band(self, at: Floats, prob: float) -> tuple[Floats, Floats, Floats]:
        """Return value, lower and upper end at some risks."""
        rows = _loess_rows(self.groups, at, self.span, self.degree)
        value = np.clip(rows @ self.groups.events, 0.0, 1.0)
        variance = self.observed * (1 - self.observed) / self.groups.weight
        half = normal_quantile(prob) * np.sqrt(rows**2 @ variance)
        return value, np.maximum(value - half, 0.0), np.minimum(value + half, 1.0)


def _smoother(event: Bools, risk: Floats, weight: Floats, settings: _Settings) -> _Smoother:
    groups = _gather(event, risk, weight)
    rows = _loess_rows(groups, groups.risk, settings.span, settings.degree)
    observed = np.clip(rows @ groups.events, 0.0, 1.0)
    return _Smoother(groups, settings.span, settings.degree, observed)


def _loess_rows(groups: _Groups, at: Floats, span: float, degree: int) -> Floats:
    """Return L (points, groups): the curve at ``at`` is L @ events, linear in the outcomes.

    The local polynomial sum_k b_k u^k, u = (p - x) / h, has at x the value b_0, so a row of L is
    e_0' (U' W U)^-1 U' W. With fewer distinct risks in the window than coefficients, the
    pseudo-inverse takes the least of those that fit.
    """
    x = groups.risk
    distance = np.abs(at[:, None] - x)
    order = np.argsort(distance, axis=1)
    share = np.cumsum(groups.weight[order], axis=1) / groups.weight.sum()
    # The window's last group: that with which the span is reached, and enough of them for a fit.
    last = np.maximum((share < span * (1 - 1e-12)).sum(axis=1), degree + 1)
    last = np.minimum(last, len(x) - 1)
    h = np.take_along_axis(distance, np.take_along_axis(order, last[:, None], 1), 1)
    h = np.where(h > 0, h, 1.0)
    kernel = np.where(distance < h, (1 - np.minimum(distance / h, 1.0) ** 3) ** 3, 0.0)
    kernel *= groups.weight
    u = (x - at[:, None]) / h
    powers = np.stack([u**k for k in range(degree + 1)], axis=1)  # (points, degree + 1, groups)
    weighted = powers * kernel[:, None, :]
    moments = weighted @ powers.transpose(0, 2, 1)
    first = np.linalg.pinv(moments, rcond=1e-10, hermitian=True)[:, :1, :]
    return np.asarray((first @ weighted)[:, 0, :])


# --- Near the threshold -----------------------------------------------------------------------


def _near(
    event: Bools, risk: Floats, weight: Floats, smoother: _Smoother, settings: _Settings
) -> NearThreshold:
    t, prob = settings.threshold, settings.prob
    assert t is not None
    groups = smoother.groups
    distance = np.abs(risk - t)
    width = settings.bandwidth
    if width is None:
        width = float(np.quantile(distance, _NEAR_SHARE, weights=weight, method="inverted_cdf"))
        width = np.nextafter(width, 1.0) if width > 0 else _SATURATED
    nothing = Estimate(math.nan, math.nan, math.nan, math.nan)
    observed = nothing
    if risk.min() <= t <= risk.max():
        value, low, high = (float(v[0]) for v in smoother.band(np.array([t]), prob))
        rows = _loess_rows(groups, np.array([t]), settings.span, settings.degree)
        se = math.sqrt(
            (rows**2 @ (smoother.observed * (1 - smoother.observed) / groups.weight)).item()
        )
        observed = Estimate(value, se, low, high)
    inside = distance < width
    kernel = _tricube(distance[inside] / width)
    apart = np.abs(smoother.observed - groups.risk)
    group_kernel = groups.weight * _tricube(np.minimum(np.abs(groups.risk - t) / width, 1.0))
    return NearThreshold(
        t,
        float(width),
        float(weight[inside].sum()),
        observed,
        _kernel_ratio(event[inside], risk[inside], weight[inside], kernel, prob),
        float(group_kernel @ apart / group_kernel.sum()) if group_kernel.any() else math.nan,
    )


def _tricube(u: Floats) -> Floats:
    return (1 - u**3) ** 3


def _kernel_ratio(
    event: Bools, risk: Floats, weight: Floats, kernel: Floats, prob: float
) -> Estimate:
    """O / E with each row's outcome and risk multiplied by a kernel."""
    observed, expected = float(weight @ (kernel * event)), float(weight @ (kernel * risk))
    if expected == 0 or observed == 0:
        value = observed / expected if expected > 0 else math.nan
        return Estimate(value, math.nan, math.nan, math.nan)
    part = kernel * (event / observed - risk / expected)
    return Estimate.log_normal(observed / expected, math.sqrt(weight @ part**2), prob)


def _histogram(event: Bools, risk: Floats, weight: Floats) -> RiskHistogram:
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    counts = [np.histogram(risk[who], edges, weights=weight[who])[0] for who in (event, ~event)]
    return RiskHistogram(edges, counts[0], counts[1])
