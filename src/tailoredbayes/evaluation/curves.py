r"""Decision curves: what following each model is worth at every threshold.

A curve is told with its sampling error. Among rows drawn from a population, net benefit is the
mean of d (y - (1 - y) odds(t)), where d says whether the model treats the row, so its variance is
that of a mean; see :func:`decision_curve`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from tailoredbayes.checks import FloatArray
from tailoredbayes.evaluation.cells import (
    ALL,
    Patterns,
    Validation,
    at_threshold,
    check_models_named,
    check_prob,
    enter,
)
from tailoredbayes.evaluation.words import net_benefit_in_words

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DecisionCurve", "decision_curve"]


@dataclass(frozen=True, repr=False)
class DecisionCurve:
    """Net benefit of models, of treating all ("all") and of treating no one ("none").

    Arrays are (models, thresholds); shares are of the population whose prevalence is told.
    """

    models: tuple[str, ...]
    """Names; the last two are "all" and "none"."""
    thresholds: FloatArray
    """t, in the order given."""
    n: int
    """Rows (of weight above 0)."""
    prevalence: float
    """pi: the share of events, the sample's or the one given."""
    harm: FloatArray
    """Test harm of each model; 0 for the last two, which need no test."""
    tp_rate: FloatArray
    """Share of patients who have the event and are treated."""
    fp_rate: FloatArray
    """Share of patients who have not and are treated."""
    net_benefit: FloatArray
    """NB(t)."""
    standard_error: FloatArray
    """The rows' own sampling error of NB(t), at each threshold by itself."""
    low: FloatArray
    """Lower end of the pointwise normal interval."""
    high: FloatArray
    """Upper end."""
    prob: float
    """Probability of the interval."""
    note: str
    """How the thresholds were chosen, where the user gave none; else empty."""

    @property
    def test_pos_rate(self) -> FloatArray:
        """Share of patients who are treated."""
        return self.tp_rate + self.fp_rate

    @property
    def standardized_net_benefit(self) -> FloatArray:
        """NB(t) / pi, a share of what a perfect model would reach; nan without events."""
        return np.asarray(self.net_benefit / (self.prevalence or np.nan))

    @property
    def interventions_avoided(self) -> FloatArray:
        """Net number of treatments spared per 100 patients, against treating all."""
        everyone = self.net_benefit[self.models.index(ALL)]
        odds = self.thresholds / (1 - self.thresholds)
        return np.asarray(100 * (self.net_benefit - everyone) / odds)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model and threshold, with the columns of the package dcurves.

        As there, ``net_intervention_avoided`` is per patient; `interventions_avoided` is per 100.
        With a given prevalence ``test_pos_rate`` is the population's, as are the other rates.
        """
        import pandas as pd

        shape = self.net_benefit.shape
        columns: dict[str, Any] = {
            "model": np.repeat(self.models, shape[1]),
            "threshold": np.tile(self.thresholds, shape[0]),
            "n": self.n,
            "prevalence": self.prevalence,
            "harm": np.repeat(self.harm, shape[1]),
            "test_pos_rate": self.test_pos_rate.ravel(),
            "tp_rate": self.tp_rate.ravel(),
            "fp_rate": self.fp_rate.ravel(),
            "net_benefit": self.net_benefit.ravel(),
            "net_intervention_avoided": self.interventions_avoided.ravel() / 100,
            "standardized_net_benefit": self.standardized_net_benefit.ravel(),
            "standard_error": self.standard_error.ravel(),
            "low": self.low.ravel(),
            "high": self.high.ravel(),
        }
        frame = pd.DataFrame(columns)
        frame.attrs["note"] = self.note
        return frame

    def in_words(self, t: float, model: str) -> str:
        """Say what a model's net benefit at one of the thresholds is worth."""
        check_models_named([model], self.models, "model")
        place = self.models.index(model), at_threshold(self.thresholds, t)
        return f"{model}: {net_benefit_in_words(float(self.net_benefit[place]), t)}"

    def __repr__(self) -> str:
        return (
            f"DecisionCurve of {', '.join(self.models)} at {len(self.thresholds)} thresholds from "
            f"{self.thresholds.min():g} to {self.thresholds.max():g}; n = {self.n}, prevalence "
            f"{self.prevalence:.3g}. {self.note}"
        ).strip()


def decision_curve(
    y_true: ArrayLike,
    models: Any,
    thresholds: ArrayLike | None = None,
    *,
    X: Any = None,
    sample_weight: ArrayLike | None = None,
    prevalence: float | None = None,
    harm: float | Mapping[str, float] = 0.0,
    prob: float = 0.95,
) -> DecisionCurve:
    r"""Return the net benefit of models, of treating all and of treating none, with its error.

    In a cohort

        NB(t) = TP / n - FP / n * odds(t) - harm,

    and with a prevalence pi given, for case-control data,

        NB(t) = pi * TPR - (1 - pi) * FPR * odds(t) - harm.

    Sampling error. In a cohort NB is the mean over rows of z = d (y - (1 - y) odds(t)), d = 1 for
    a treated row, so

        SE^2 = sum w^2 (z - mean z)^2 / (sum w)^2,

    which is (TP/n + FP/n odds^2 - (NB + harm)^2) / n without weights: the variance of the
    bootstrap with infinitely many replicates. Given pi, cases and controls are samples of their
    own, and

        SE^2 = pi^2 Var(TPR) + (1 - pi)^2 odds^2 Var(FPR),

    each Var the same form within its class: TPR (1 - TPR) / (number of cases) without weights.
    Weights are those of a survey: a row of weight 2 is one patient who stands for two. The
    interval NB -/+ z SE is a normal one, for each threshold by itself; where a handful of rows
    is treated it is too short. [VickersElkin2006], [RoussonZumbrunn2011]

    Parameters
    ----------
    y_true
        Outcome per row: 0 and 1, or False and True. One class alone has a curve too, unless
        ``prevalence`` is given.
    models
        A model or a mapping from names to models: risks per row, risks (n, thresholds) where they
        depend on the threshold, a fitted classifier (whose event is its ``pos_label``, or else the
        larger of two numbers), or a fitted :class:`TailoredFamily`; a family alone is "TB", with
        its standard Bayes, "SB", beside it. The names "all" and "none" are taken.
    thresholds
        t strictly between 0 and 1, one or several. None takes the thresholds of the family among
        the models, or else those of
        :func:`tailoredbayes.evaluation.cells.suggested_thresholds`, and says so in ``note``.
    X
        Covariates of the rows, for fitted models.
    sample_weight
        Weight per row, 0 or more; rows of weight 0 are left out. None counts each row once.
    prevalence
        The population's share of events, for case-control data; both classes must then occur.
        None takes the sample's.
    harm
        What obtaining a model's risk costs, in true positives: one number, or by name.
    prob
        Probability of the interval.

    Returns
    -------
    DecisionCurve

    See Also
    --------
    tailoredbayes.net_benefit : One model, without intervals.
    net_benefit_difference : Models against each other on the same rows.
    bayesian_decision_curve : How sure it is that a model is worth using.

    Examples
    --------
    Ten patients, three events. At t = 0.2 the model treats two events and two non-events:
    NB = 2/10 - 2/10 * 0.25; treating all, 3/10 - 7/10 * 0.25.

    >>> y = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    >>> risk = [0.8, 0.3, 0.1, 0.4, 0.2, 0.1, 0.1, 0.1, 0.0, 0.0]
    >>> curve = decision_curve(y, {"TB": risk}, 0.2)
    >>> curve.to_frame()[["model", "tp_rate", "fp_rate", "net_benefit"]].round(3)
      model  tp_rate  fp_rate  net_benefit
    0    TB      0.2      0.2        0.150
    1   all      0.3      0.7        0.125
    2  none      0.0      0.0        0.000
    """
    prob = check_prob(prob)
    validation = enter(
        y_true,
        models,
        thresholds,
        X=X,
        sample_weight=sample_weight,
        prevalence=prevalence,
        harm=harm,
    )
    rates = [_rates(validation, treated) for treated in validation.strategies.values()]
    tp, fp, variance = (np.stack(part) for part in zip(*rates, strict=True))
    names = tuple(validation.strategies)
    harms = np.array([validation.harm[name] for name in names])
    net_benefit = tp - fp * validation.odds - harms[:, None]
    error = np.sqrt(variance)
    reach = ndtri((1 + prob) / 2) * error
    return DecisionCurve(
        models=names,
        thresholds=validation.thresholds,
        n=validation.n,
        prevalence=validation.prevalence,
        harm=harms,
        tp_rate=tp,
        fp_rate=fp,
        net_benefit=net_benefit,
        standard_error=error,
        low=net_benefit - reach,
        high=net_benefit + reach,
        prob=prob,
        note=validation.note,
    )


def _rates(validation: Validation, treated: Patterns) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the shares of true and of false positives, and the variance of net benefit."""
    odds, pi = validation.odds, validation.given_prevalence
    counts, sizes = _treated(validation, treated, validation.weight)
    fp, tp = counts
    if validation.weight is None:
        squared, squared_sizes = counts, sizes
    else:
        squared, squared_sizes = _treated(validation, treated, validation.weight**2)
    if pi is None:
        total = sizes.sum()
        tp, fp = tp / total, fp / total
        mean = tp - fp * odds
        spread = (
            squared[1] * (1 - mean) ** 2
            + squared[0] * (odds + mean) ** 2
            + (squared_sizes.sum() - squared.sum(axis=0)) * mean**2
        )
        return tp, fp, spread / total**2
    fpr, tpr = rate = counts / sizes[:, None]
    untreated = squared_sizes[:, None] - squared
    variances = (squared * (1 - rate) ** 2 + untreated * rate**2) / sizes[:, None] ** 2
    variance = pi**2 * variances[1] + ((1 - pi) * odds) ** 2 * variances[0]
    return pi * tpr, (1 - pi) * fpr, variance


def _treated(
    validation: Validation, treated: Patterns, weight: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Sum weights of the treated non-events and events, (2, thresholds), and of all, (2,)."""
    kinds = len(treated.treats)
    code = treated.of_row + kinds * validation.event
    sums = np.bincount(code, weights=weight, minlength=2 * kinds).reshape(2, kinds).astype(float)
    return sums @ treated.treats, sums.sum(axis=1)
