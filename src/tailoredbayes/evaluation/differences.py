"""Differences in net benefit, and how far the rows, or the splits, leave them open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tailoredbayes.checks import (
    FloatArray,
    check_array,
    check_finite,
    check_thresholds,
    check_whole_number,
    check_within,
)
from tailoredbayes.evaluation.cells import (
    at_threshold,
    check_models_named,
    check_prob,
    contrast,
    enter,
)
from tailoredbayes.evaluation.words import difference_in_words, error_in_words

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "NetBenefitDifference",
    "ResplitDifference",
    "net_benefit_difference",
    "resplit_difference",
]


@dataclass(frozen=True)
class NetBenefitDifference:
    """Net benefit of models less that of another on the same rows; arrays (models, thresholds)."""

    models: tuple[str, ...]
    """Names; may hold "all" and "none"."""
    against: str
    """The name of the other."""
    thresholds: FloatArray
    """t, in the order given."""
    n: int
    """Rows (of weight above 0)."""
    prevalence: float
    """pi: the share of events, the sample's or the one given."""
    difference: FloatArray
    """D(t) = NB(t) - NB of the other."""
    standard_error: FloatArray
    """The rows' own sampling error of D(t), in closed form."""
    bootstrap_standard_error: FloatArray
    """The same by the bootstrap."""
    low: FloatArray
    """Lower end of the bootstrap's percentile interval."""
    high: FloatArray
    """Upper end."""
    prob: float
    """Probability of the interval."""
    replicates: int
    """Bootstrap replicates."""
    note: str
    """How the thresholds were chosen, where the user gave none; else empty."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model and threshold."""
        import pandas as pd

        return pd.DataFrame(
            {
                **_keys(self),
                "n": self.n,
                "prevalence": self.prevalence,
                "difference": self.difference.ravel(),
                "standard_error": self.standard_error.ravel(),
                "bootstrap_standard_error": self.bootstrap_standard_error.ravel(),
                "low": self.low.ravel(),
                "high": self.high.ravel(),
            }
        )

    def in_words(self, t: float, model: str | None = None) -> str:
        """Say what the difference at one of the thresholds is worth, in true positives."""
        place = _place(self, t, model)
        return difference_in_words(
            float(self.difference[place]),
            (float(self.low[place]), float(self.high[place])),
            model=self.models[place[0]],
            against=self.against,
            threshold=t,
            interval_name=f"{100 * self.prob:g}% bootstrap interval",
        )


def net_benefit_difference(
    y_true: ArrayLike,
    models: Any,
    thresholds: ArrayLike | None = None,
    *,
    against: str,
    X: Any = None,
    sample_weight: ArrayLike | None = None,
    prevalence: float | None = None,
    harm: float | Mapping[str, float] = 0.0,
    prob: float = 0.95,
    replicates: int = 2000,
    random_state: Any = None,
) -> NetBenefitDifference:
    r"""Return how much more net benefit models have than another on the same rows.

    Let d = 1 for a row that the model treats and the other does not, -1 for one that the other
    alone treats, and 0 where they agree. In a cohort the difference is the mean of
    v = d (y - (1 - y) odds(t)), less the difference of test harms:

        D(t) = sum w v / sum w - (harm - harm of the other).

    Standard error. D is a mean (with weights a ratio of means, whose linearisation at the
    estimate is sum w (v - D) / sum w), so the rows' own sampling error is

        SE^2 = sum w^2 (v - mean v)^2 / (sum w)^2.

    Without weights, with b the share of events with d = 1 and c with d = -1, and b', c' those of
    the non-events, all of n,

        SE^2 = (b + c + (b' + c') odds^2 - (mean v)^2) / n.

    Both models meet the same rows, and rows on which they agree cancel: that is what pairing
    gains. Given the prevalence pi (case-control data), events and non-events are two independent
    samples, D = pi * mean of d over events - (1 - pi) * odds * mean of d over non-events, and

        SE^2 = pi^2 Var(mean d, events) + (1 - pi)^2 odds^2 Var(mean d, non-events),

    each Var as above within its class. pi itself is taken as known.

    Bootstrap. Rows are drawn with replacement, within each class when pi is given; models are not
    refitted, so this is the error of the test rows alone. At a threshold D knows a row by v alone,
    which has five values, so a replicate is a multinomial count of them: exactly what drawing rows
    would give, at a cost that does not grow with their number (weighted rows are drawn one by
    one). The interval takes the replicates' percentiles, at each threshold by itself.
    [EfronTibshirani1993]

    Parameters
    ----------
    y_true, models, thresholds, X, sample_weight, prevalence, harm
        As in :func:`decision_curve`.
    against
        The model that the others are compared with; may be "all" (treating everyone) or "none".
    prob
        Probability of the interval.
    replicates
        Bootstrap replicates.
    random_state
        None, a seed or a NumPy Generator.

    Returns
    -------
    NetBenefitDifference

    See Also
    --------
    resplit_difference : The error over repeated splits.
    bayesian_decision_curve : P(one is better than the other).

    Examples
    --------
    Ten patients, two models that differ on three: at t = 0.2 SB misses an event that TB treats
    (+1), and treats one non-event that TB spares (+1/4) and spares one that TB treats (-1/4).

    >>> y = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    >>> tb = [0.8, 0.3, 0.1, 0.4, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0]
    >>> sb = [0.8, 0.1, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0]
    >>> found = net_benefit_difference(y, {"TB": tb, "SB": sb}, 0.2, against="SB", random_state=0)
    >>> found.difference
    array([[0.1]])
    >>> round(float(found.standard_error[0, 0] ** 2 * 10), 6)  # (1 + 2 / 16) / 10 - 0.1^2
    0.1025
    """
    prob = check_prob(prob)
    advice = "2000 give stable percentiles"
    replicates = check_whole_number(replicates, "replicates", at_least=2, advice=advice)
    validation = enter(
        y_true,
        models,
        thresholds,
        X=X,
        sample_weight=sample_weight,
        prevalence=prevalence,
        harm=harm,
    )
    strategies = validation.strategies
    check_models_named([against], strategies, "against")
    names = tuple(name for name in validation.risks if name != against)
    if not names:
        raise ValueError(
            f"models must hold a model besides {against!r}, got none; name another, or compare "
            "with 'all' or 'none'"
        )
    generators = np.random.default_rng(random_state).spawn(len(names))
    tail = (1 - prob) / 2
    found = []
    for name, rng in zip(names, generators, strict=True):
        strata = contrast(validation, strategies[name], strategies[against])
        harms = validation.harm[name] - validation.harm[against]
        draws = np.sum([part.bootstrap(rng, replicates) for part in strata], axis=0) - harms
        low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
        difference = np.sum([part.estimate() for part in strata], axis=0) - harms
        variance = np.sum([part.variance() for part in strata], axis=0)
        found.append((difference, np.sqrt(variance), draws.std(axis=0, ddof=1), low, high))
    difference, error, bootstrap_error, low, high = (
        np.stack(part) for part in zip(*found, strict=True)
    )
    return NetBenefitDifference(
        models=names,
        against=against,
        thresholds=validation.thresholds,
        n=validation.n,
        prevalence=validation.prevalence,
        difference=difference,
        standard_error=error,
        bootstrap_standard_error=bootstrap_error,
        low=low,
        high=high,
        prob=prob,
        replicates=replicates,
        note=validation.note,
    )


@dataclass(frozen=True)
class ResplitDifference:
    """A difference in net benefit over repeated splits; arrays (models, thresholds)."""

    models: tuple[str, ...]
    """Names."""
    against: str
    """The name of the other."""
    thresholds: FloatArray
    """t."""
    splits: int
    """m."""
    differences: FloatArray
    """D_i(t), (splits, models, thresholds)."""
    difference: FloatArray
    """Their mean."""
    standard_error: FloatArray
    """SE_D, the error over the splits alone."""
    sampling_error: FloatArray | None
    """One test set's own sampling error, where it was given."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model and threshold."""
        import pandas as pd

        own = np.nan if self.sampling_error is None else self.sampling_error.ravel()
        return pd.DataFrame(
            {
                **_keys(self),
                "splits": self.splits,
                "difference": self.difference.ravel(),
                "standard_error": self.standard_error.ravel(),
                "sampling_error": own,
            }
        )

    def in_words(self, t: float, model: str | None = None) -> str:
        """Say what the mean difference is worth, with its two errors."""
        place = _place(self, t, model)
        centre, error = float(self.difference[place]), float(self.standard_error[place])
        words = difference_in_words(
            centre,
            (centre - error, centre + error),
            model=self.models[place[0]],
            against=self.against,
            threshold=t,
            interval_name=f"one standard error over {self.splits} splits",
        )
        if self.sampling_error is None:
            return words
        own = error_in_words(float(self.sampling_error[place]))
        return f"{words} The test rows' own standard error is {own}."


def resplit_difference(
    differences: Sequence[NetBenefitDifference] | ArrayLike,
    thresholds: ArrayLike | None = None,
    *,
    sampling_error: ArrayLike | None = None,
    model: str = "TB",
    against: str = "SB",
) -> ResplitDifference:
    r"""Return the mean of a difference over m splits with the paper's standard error.

        SE_D = sqrt( sum_i (D_i - mean D)^2 / (m (m - 1)) )

    It tells how the mean moves with the splits, as if they were independent. They are not: they
    share their rows, and SE_D does not go down to the error that the rows themselves leave (it
    goes to 0 as m grows). So the test set's own sampling error, of one split, stands beside it;
    it is usually several times larger. [Karapanagiotis2021]

    Parameters
    ----------
    differences
        D_i: a :class:`NetBenefitDifference` for each split, or an array (splits, thresholds).
    thresholds
        t of the columns, for an array.
    sampling_error
        A test set's own standard error at each threshold, for an array: (thresholds,), or
        (splits, thresholds), of which the root mean square is taken. Records bring their own.
    model, against
        Names of the two, for an array.

    Returns
    -------
    ResplitDifference

    Examples
    --------
    Deviations -0.01, 0 and 0.01 over three splits: sqrt(0.0002 / 6).

    >>> found = resplit_difference([[0.01], [0.02], [0.03]], [0.2])
    >>> found.difference.round(6), found.standard_error.round(6)
    (array([[0.02]]), array([[0.005774]]))
    """
    given: list[Any] = list(differences)  # type: ignore[arg-type]  # a generator is read once
    records = [one for one in given if isinstance(one, NetBenefitDifference)]
    if records:
        return _resplit_records(records, len(given))
    advice = "pass one row of differences per split and one column per threshold"
    values = check_array(given, "differences", ndim=(2,), advice=advice)
    check_finite(
        values, "differences", advice="a split without an estimate has to be left out by row"
    )
    if thresholds is None:
        raise ValueError("thresholds must be given for an array of differences, got None")
    grid = np.atleast_1d(check_thresholds(np.asarray(thresholds)))
    if values.shape[1] != len(grid):
        raise ValueError(
            f"differences must have one column for each of the {len(grid)} thresholds, got shape "
            f"{values.shape}; {advice}"
        )
    own = None
    if sampling_error is not None:
        errors = check_array(sampling_error, "sampling_error", ndim=(1, 2))
        check_within(
            errors,
            "sampling_error",
            0.0,
            expected="be finite and 0 or more",
            advice="pass standard errors, such as net_benefit_difference(...).standard_error",
        )
        own = np.sqrt(np.mean(np.atleast_2d(errors) ** 2, axis=0))
        if len(own) != len(grid):
            raise ValueError(
                f"sampling_error must have one value for each of the {len(grid)} thresholds, got "
                f"shape {errors.shape}; pass one test set's standard errors"
            )
        own = own[None]
    return _resplit(values[:, None], (model,), against, grid, own)


def _resplit_records(records: list[NetBenefitDifference], given: int) -> ResplitDifference:
    first = records[0]
    for number, one in enumerate(records):
        alike = (
            one.models == first.models
            and one.against == first.against
            and np.array_equal(one.thresholds, first.thresholds)
        )
        if not alike or given != len(records):
            raise ValueError(
                "differences must all compare the same models at the same thresholds, got another "
                f"at split {number}; make each with the same arguments"
            )
    own = np.sqrt(np.mean([one.standard_error**2 for one in records], axis=0))
    values = np.stack([one.difference for one in records])
    return _resplit(values, first.models, first.against, first.thresholds, own)


def _resplit(
    values: FloatArray,
    models: tuple[str, ...],
    against: str,
    thresholds: FloatArray,
    own: FloatArray | None,
) -> ResplitDifference:
    splits = len(values)
    if splits < 2:
        raise ValueError(
            f"differences must hold at least 2 splits, got {splits}; one split says nothing of "
            "how splits differ"
        )
    error = values.std(axis=0, ddof=1) / np.sqrt(splits)
    return ResplitDifference(
        models, against, thresholds, splits, values, values.mean(axis=0), error, own
    )


def _keys(record: NetBenefitDifference | ResplitDifference) -> dict[str, Any]:
    """Return the columns that say which model, against which, at which threshold."""
    return {
        "model": np.repeat(record.models, len(record.thresholds)),
        "against": record.against,
        "threshold": np.tile(record.thresholds, len(record.models)),
    }


def _place(
    record: NetBenefitDifference | ResplitDifference, t: float, model: str | None
) -> tuple[int, int]:
    if model is None:
        if len(record.models) > 1:
            raise ValueError(
                f"model must be named where there are several: {', '.join(record.models)}"
            )
        model = record.models[0]
    check_models_named([model], record.models, "model")
    return record.models.index(model), at_threshold(record.thresholds, t)
