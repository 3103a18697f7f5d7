"""Rows as an evaluation of decisions sees them: only which models treat them where matters.

Rows with the same outcome that the same models treat at the same thresholds are one cell; every
net benefit, difference, standard error and resample is a sum over cells. A cell's sum of weights
is all that a threshold needs to know of its rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailoredbayes.checks import (
    BoolArray,
    FloatArray,
    check_both_classes,
    check_number,
    check_outcome,
    check_same_length,
    check_sample_weight,
    check_thresholds,
)
from tailoredbayes.decision import harm_to_benefit
from tailoredbayes.evaluation.models import SAME_THRESHOLD, family_thresholds, model_risks
from tailoredbayes.rows import one_blas_thread

__all__ = [
    "ALL",
    "NONE",
    "Patterns",
    "Stratum",
    "Validation",
    "at_threshold",
    "check_models_named",
    "check_prob",
    "contrast",
    "enter",
    "occupied",
    "patterns",
    "suggested_thresholds",
]

ALL, NONE = "all", "none"
"""The names of treating everyone and no one, as in the package dcurves."""

_BLOCK = 1 << 18  # numbers held at once while resampling: they fit the cache


# --- The door ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Validation:
    """Checked input of an evaluation: the rows that count, and each model's risks for them."""

    event: BoolArray
    weight: FloatArray | None
    """Above 0: rows of weight 0 are left out."""
    thresholds: FloatArray
    note: str
    """How the thresholds were chosen; empty where the user gave them."""
    risks: Mapping[str, FloatArray]
    given_prevalence: float | None
    """The population's prevalence, for case-control data."""
    harm: Mapping[str, float]

    @property
    def n(self) -> int:
        """Rows that count."""
        return len(self.event)

    @cached_property
    def prevalence(self) -> float:
        """The share of events: given, or the sample's."""
        if self.given_prevalence is not None:
            return self.given_prevalence
        return float(np.average(self.event, weights=self.weight))

    @cached_property
    def odds(self) -> FloatArray:
        """T / (1 - t) of each threshold."""
        return harm_to_benefit(self.thresholds)

    @cached_property
    def strategies(self) -> dict[str, Patterns]:
        """Whom each model treats, and treating all and no one."""
        found = {name: patterns(risk, self.thresholds) for name, risk in self.risks.items()}
        return {**found, **self.standards}

    @property
    def standards(self) -> dict[str, Patterns]:
        """Treating all and treating no one."""
        everyone = np.zeros(self.n, dtype=np.intp)
        one = np.ones((1, len(self.thresholds)), dtype=bool)
        return {ALL: Patterns(everyone, one), NONE: Patterns(everyone, ~one)}


def enter(
    y_true: ArrayLike,
    models: Any,
    thresholds: ArrayLike | None,
    *,
    X: Any = None,
    sample_weight: ArrayLike | None = None,
    prevalence: float | None = None,
    harm: float | Mapping[str, float] = 0.0,
) -> Validation:
    """Check the input that all evaluations of decisions share.

    Examples
    --------
    >>> enter([0, 1, 1], {"TB": [0.2, 0.7, 0.9]}, 0.5, sample_weight=[1, 1, 0]).risks
    {'TB': array([0.2, 0.7])}
    """
    event = check_outcome(y_true)
    weight = None if sample_weight is None else check_sample_weight(sample_weight)
    check_same_length(y_true=event, sample_weight=weight)
    if thresholds is None:
        chosen = family_thresholds(models)
        note = "" if chosen is None else "The thresholds are those of the family among the models."
    else:
        chosen, note = np.atleast_1d(check_thresholds(np.asarray(thresholds))), ""
    risks = model_risks(models, event, thresholds=chosen, X=X, name="models")
    for name in risks:
        if name in (ALL, NONE):
            raise ValueError(
                f"models may not be named {ALL!r} or {NONE!r}, which stand for treating all and "
                f"treating none, got {name!r}; choose another name"
            )
    if weight is not None and not weight.all():
        kept = weight > 0
        event, weight = event[kept], weight[kept]
        risks = {name: risk[kept] for name, risk in risks.items()}
    if prevalence is not None:
        check_both_classes(event)
        prevalence = check_number(
            prevalence,
            "prevalence",
            above=0,
            below=1,
            advice="pass the population's share of events, such as 0.05",
        )
    if chosen is None:
        share = float(np.average(event, weights=weight)) if prevalence is None else prevalence
        chosen, note = suggested_thresholds(risks, share, weight)
    return Validation(event, weight, chosen, note, risks, prevalence, _harms(harm, risks))


def _harms(harm: float | Mapping[str, float], risks: Mapping[str, FloatArray]) -> dict[str, float]:
    """Return the test harm of each strategy; treating all or no one needs no test."""
    advice = "pass the cost of one test in true positives, such as 0.02, or 0 for none"
    if isinstance(harm, Mapping):
        check_models_named(harm, risks, "harm")
        given = {name: harm.get(name, 0.0) for name in risks}
    else:
        given = dict.fromkeys(risks, harm)
    checked = {
        name: check_number(
            value,
            f"harm[{name!r}]" if isinstance(harm, Mapping) else "harm",
            at_least=0,
            advice=advice,
        )
        for name, value in given.items()
    }
    return {**checked, ALL: 0.0, NONE: 0.0}


def check_models_named(names: Any, known: Any, argument: str) -> None:
    """Raise unless every name is one of the known models.

    Examples
    --------
    >>> check_models_named(["TB"], ["SB", "all"], "against")
    Traceback (most recent call last):
        ...
    ValueError: against must name models that there are, got 'TB'; they are 'SB', 'all'
    """
    for name in names:
        if name not in known:
            raise ValueError(
                f"{argument} must name models that there are, got {name!r}; they are "
                f"{', '.join(map(repr, known))}"
            )


def check_prob(prob: float) -> float:
    """Return the probability of an interval."""
    return check_number(
        prob, "prob", above=0, below=1, advice="pass the interval's probability, such as 0.95"
    )


def at_threshold(thresholds: FloatArray, t: float) -> int:
    """Return the place of a threshold among those of a record.

    Examples
    --------
    >>> at_threshold(np.array([0.1, 0.2, 0.3]), 0.2)
    1
    """
    place = int(np.abs(thresholds - t).argmin())
    if not abs(thresholds[place] - t) <= SAME_THRESHOLD:
        raise ValueError(
            f"t must be one of the {len(thresholds)} thresholds of this record, got {t:g}; the "
            f"nearest is {thresholds[place]:g}"
        )
    return place


def suggested_thresholds(
    risks: Mapping[str, FloatArray], prevalence: float, weight: FloatArray | None = None
) -> tuple[FloatArray, str]:
    """Return thresholds for a curve where none were given, and a sentence that says so.

    They go up in equal steps of 1, 2 or 5 times a power of ten, from one step to the largest of
    the prevalence and the models' 99th percentiles of risk: at most 100 of them, and below 1. Above
    that risk hardly anyone is treated.

    Examples
    --------
    >>> chosen, note = suggested_thresholds({"TB": np.array([0.01, 0.02, 0.09])}, 0.05)
    >>> chosen[[0, 1, -1]], len(chosen)
    (array([0.001, 0.002, 0.09 ]), 90)
    """
    # The inverted distribution function is the one rule that takes weights.
    tops = [
        np.quantile(risk, 0.99, method="inverted_cdf", weights=weight) for risk in risks.values()
    ]
    top = max(prevalence, *map(float, tops))
    if top == 0:
        top = 1.0  # no event and no risk: nothing to go by
    # In units of a hundredth of `top` rounded up to 1, 2 or 5: exact, by way of decimals.
    exponent = int(np.floor(np.log10(top / 100)))
    mantissa = next(m for m in (1, 2, 5, 10) if top / 100 <= m * 10.0**exponent * (1 + 1e-9))
    places = max(0, -exponent)
    step = round(mantissa * 10.0**exponent, places)
    count = int(np.floor(min(top, 1.0) / step + 1e-9))
    values = np.round(step * np.arange(1, max(count, 1) + 1), places)
    values = values[values < 1]
    note = (
        f"No thresholds were given: {values[0]:g} to {values[-1]:g} in steps of {step:g} reach "
        "from near 0 to the prevalence, or to the risk that 1% of the rows exceed if that is "
        "larger. Which thresholds matter is for the "
        "decision to say, not for the data: pass thresholds= for the range that is reasonable."
    )
    return values, note


# --- Patterns and cells -----------------------------------------------------------------------


@dataclass(frozen=True)
class Patterns:
    """Whom a model treats: rows treated at the same thresholds share a pattern."""

    of_row: NDArray[np.intp]
    """Number of each row's pattern."""
    treats: BoolArray
    """(patterns, thresholds)."""


def patterns(risk: FloatArray, thresholds: FloatArray) -> Patterns:
    """Return whom the rule "treat when risk >= t" treats, by one binary search per row.

    Risks (n, thresholds), as a family's, have a column for each threshold.

    Examples
    --------
    >>> found = patterns(np.array([0.1, 0.3, 0.2]), np.array([0.3, 0.2]))
    >>> found.treats[found.of_row]
    array([[False, False],
           [ True,  True],
           [False,  True]])
    """
    if risk.ndim == 2:
        packed = np.packbits(risk >= thresholds, axis=1)
        distinct, of_row = np.unique(packed, axis=0, return_inverse=True)
        treats = np.unpackbits(distinct, axis=1, count=len(thresholds)).astype(bool)
        return Patterns(of_row.reshape(-1), treats)
    # A row reaches #{j : t_j <= risk} of the sorted thresholds, the first ones.
    ordered = np.sort(thresholds)
    reached = np.searchsorted(ordered, risk, side="right")
    needed = np.searchsorted(ordered, thresholds, side="right")
    return Patterns(reached, np.arange(len(ordered) + 1)[:, None] >= needed)


def occupied(code: NDArray[np.intp], most: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the codes that occur, of 0 to ``most`` - 1, and each row's place among them.

    Examples
    --------
    >>> occupied(np.array([5, 2, 5]), 9)
    (array([2, 5]), array([1, 0, 1]))
    """
    if most > max(4 * len(code), 1 << 16):
        values, place = np.unique(code, return_inverse=True)
        return values, place.reshape(-1)
    found = np.bincount(code, minlength=most) > 0
    return np.flatnonzero(found), (np.cumsum(found) - 1)[code]


@dataclass(frozen=True)
class Stratum:
    """Rows that were sampled together, and a value of each at every threshold.

    What is estimated is the weighted mean of the values; rows of one cell have the same values.
    A cohort is one stratum. Cases and controls are two, and what they estimate adds up.
    """

    of_row: NDArray[np.intp]
    """Number of each row's cell."""
    weight: FloatArray | None
    value: FloatArray
    """(cells, thresholds)."""

    def sums(self, weight: FloatArray | None) -> FloatArray:
        """Sum weights (None: ones) over the rows of each cell."""
        return np.bincount(self.of_row, weights=weight, minlength=len(self.value)).astype(float)

    def mean(self, sums: FloatArray) -> FloatArray:
        """Return the weighted mean of the values, from the weights' (..., cells) sums."""
        return np.asarray(sums @ self.value / sums.sum(axis=-1, keepdims=True))

    def estimate(self) -> FloatArray:
        """Return the mean of the values at every threshold."""
        return self.mean(self.sums(self.weight))

    def variance(self) -> FloatArray:
        """Return the sampling variance of the mean, sum w^2 (v - mean)^2 / (sum w)^2."""
        sums = self.sums(self.weight)
        squares = sums if self.weight is None else self.sums(self.weight**2)
        return np.asarray(squares @ np.square(self.value - self.mean(sums)) / np.square(sums.sum()))

    def bootstrap(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Return ``size`` means of rows drawn with replacement, (size, thresholds).

        Without weights a threshold knows no more of the rows than how many have each of its few
        values, and that is multinomial: a draw costs the same for a thousand rows and a million.
        Thresholds then have draws of their own. Weighted rows are drawn one by one.
        """
        if self.weight is None:
            return self._multinomial_means(rng, size)
        n, cells = len(self.of_row), len(self.value)
        many = max(1, _BLOCK // (n + cells))
        blocks = [min(many, size - start) for start in range(0, size, many)]
        with one_blas_thread:  # small products, for which threads only wait for each other
            return np.concatenate([self.mean(self._drawn_sums(rng, block)) for block in blocks])

    def _multinomial_means(self, rng: np.random.Generator, size: int) -> FloatArray:
        n, rows = len(self.of_row), self.sums(None)
        means = np.empty((size, self.value.shape[1]))
        for place, value in enumerate(self.value.T):
            distinct, kind = np.unique(value, return_inverse=True)
            share = np.bincount(kind, weights=rows) / n
            order = np.argsort(share)  # the largest last: it is what the others leave, undrawn
            means[:, place] = rng.multinomial(n, share[order], size=size) @ distinct[order] / n
        return means

    def _drawn_sums(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Sum the weights by cell of rows drawn with replacement, (size, cells)."""
        assert self.weight is not None
        n, cells = len(self.of_row), len(self.value)
        rows = rng.integers(n, size=(size, n))
        held = self.of_row[rows] + cells * np.arange(size)[:, None]
        weight = self.weight[rows].ravel()
        sums = np.bincount(held.ravel(), weights=weight, minlength=size * cells)
        return np.asarray(sums, dtype=np.float64).reshape(size, cells)


def contrast(validation: Validation, model: Patterns, against: Patterns) -> tuple[Stratum, ...]:
    """Return the strata whose means add up to NB(model) - NB(against), before test harms.

    With d = 1 where the first treats and the second does not, -1 where the second alone treats
    and else 0, a row's value is d (y - (1 - y) odds(t)) in a cohort. Given the prevalence pi, an
    event's is pi d and a non-event's -(1 - pi) odds(t) d, each averaged over its own class.
    """
    code = (model.of_row * len(against.treats) + against.of_row) * 2 + validation.event
    kinds, of_row = occupied(code, 2 * len(model.treats) * len(against.treats))
    first, second = np.divmod(kinds // 2, len(against.treats))
    direction = model.treats[first].astype(float) - against.treats[second]
    event = (kinds % 2).astype(bool)
    pi = validation.given_prevalence
    worth = np.where(event[:, None], 1.0, -validation.odds)
    if pi is None:
        return (Stratum(of_row, validation.weight, direction * worth),)
    worth *= np.where(event, pi, 1 - pi)[:, None]
    whole = Stratum(of_row, validation.weight, direction * worth)
    return tuple(_part(whole, validation.event == one, event == one) for one in (True, False))


def _part(whole: Stratum, rows: BoolArray, cells: BoolArray) -> Stratum:
    """Return a stratum's rows of some of its cells."""
    place = np.cumsum(cells) - 1
    weight = None if whole.weight is None else whole.weight[rows]
    return replace(whole, of_row=place[whole.of_row[rows]], weight=weight, value=whole.value[cells])
