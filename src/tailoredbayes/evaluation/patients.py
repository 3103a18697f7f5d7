"""Patients: how sure the model is of each decision, and what it is worth to send some on.

The posterior gives each patient a distribution of risks. How much of it lies at or above t says
how sure the decision is; those of whom it is not sure may be worth a further test.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing as take_rows

from tailoredbayes.checks import (
    check_array,
    check_number,
    check_outcome,
    check_risk_columns,
    check_same_length,
    check_sample_weight,
    check_threshold,
    check_within,
)
from tailoredbayes.decision import harm_to_benefit
from tailoredbayes.evaluation.estimates import check_prob
from tailoredbayes.evaluation.models import threshold_places
from tailoredbayes.evaluation.posteriors import posterior_densities

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Deferral", "Patients", "deferral", "patients"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Draws of risks held at a time: 32 MB.
_BLOCK = 2**22
# Levels of certainty below which patients are deferred, where none are given.
_LEVELS = (0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Patients:
    """What the posterior says of each patient; `patients` says what each column is."""

    index: NDArray[Any]
    threshold: float
    prob: float
    level: float
    risk: Floats
    sd: Floats
    low: Floats
    high: Floats
    certainty: Floats
    predictive: Mapping[Any, Floats]

    @property
    def treat(self) -> Bools:
        """The decision: risk >= t."""
        return self.risk >= self.threshold

    @property
    def certainty_of_decision(self) -> Floats:
        """The posterior probability that the decision taken is the one the true risk asks for."""
        return np.where(self.treat, self.certainty, 1 - self.certainty)

    @property
    def uncertain(self) -> Bools:
        """Patients whose decision is less certain than the level."""
        return self.certainty_of_decision < self.level

    def to_frame(self) -> pd.DataFrame:
        """Return a row a patient."""
        import pandas as pd

        columns = {
            "risk": self.risk,
            "sd": self.sd,
            "low": self.low,
            "high": self.high,
            "certainty": self.certainty,
            "treat": self.treat,
            "uncertain": self.uncertain,
        }
        return pd.DataFrame(columns, index=pd.Index(self.index, name="patient"))

    def predictive_frame(self) -> pd.DataFrame:
        """Return the risk draws of the patients that were asked for: patient, draw, risk."""
        import pandas as pd

        frames = [
            pd.DataFrame({"patient": patient, "draw": np.arange(len(draws)), "risk": draws})
            for patient, draws in self.predictive.items()
        ]
        empty = pd.DataFrame(columns=["patient", "draw", "risk"])
        return pd.concat(frames, ignore_index=True) if frames else empty

    def density_frame(self) -> pd.DataFrame:
        """Return the predictive densities of those patients (Figure 11): patient, risk, density.

        Gaussian kernels on the logit scale, carried over to risks, which keeps them in [0, 1].
        """
        import pandas as pd

        frames = []
        for patient, draws in self.predictive.items():
            inside = np.clip(draws, 1e-12, 1 - 1e-12)
            found = posterior_densities({"": np.log(inside / (1 - inside))})
            risk = 1 / (1 + np.exp(-found.grid[0]))
            density = found.density[""][0] / (risk * (1 - risk))
            frames.append(pd.DataFrame({"patient": patient, "risk": risk, "density": density}))
        empty = pd.DataFrame(columns=["patient", "risk", "density"])
        return pd.concat(frames, ignore_index=True) if frames else empty


def patients(
    model: Any,
    X: Any = None,
    threshold: float | None = None,
    *,
    prob: float = 0.9,
    uncertain: float = 0.9,
    predictive: Sequence[int] = (),
) -> Patients:
    """Return each patient's risk, how well it is known, and how sure the decision is.

    With risks p_s(x) = expit(x' beta_s) under the posterior draws s:

    - risk: their mean, by which the decision is taken: treat where risk >= t;
    - sd, low, high: their standard deviation and equal-tailed interval;
    - certainty: P(p(x) >= t | data), the share of draws under which the patient is treated;
    - uncertain: whether the decision taken is less certain than the level `uncertain`: with c the
      certainty, c < 0.9 for a patient treated, 1 - c < 0.9 for one not.

    Certainty is about the risk, not the outcome: a patient whose risk is surely 0.3 is treated
    with certainty at t = 0.1, and will have the event in three cases of ten. A tailored posterior
    is wider than the standard one, and so less certain of most decisions; neither allows for a
    model that is wrong.

    Parameters
    ----------
    model
        A fitted model with ``risk_draws``, a fitted family (taken at its model for `threshold`),
        or risk draws (n, draws).
    X
        Covariates of the patients, for a fitted model.
    threshold
        t; by default the model's own.
    prob
        Of the intervals.
    uncertain
        Certainty that a decision must reach, from 0.5 up to but not including 1.
    predictive
        Row numbers of patients whose draws are kept, for a picture.

    Returns
    -------
    Patients

    Examples
    --------
    Two patients under four draws; of the second's treatment three draws are in favour:

    >>> draws = np.array([[0.01, 0.02, 0.03, 0.02], [0.08, 0.2, 0.3, 0.4]])
    >>> found = patients(draws, threshold=0.1)
    >>> found.risk, found.certainty
    (array([0.02 , 0.245]), array([0.  , 0.75]))
    >>> found.treat, found.uncertain
    (array([False,  True]), array([False,  True]))
    """
    prob = check_prob(prob)
    advice = "0.9 flags decisions less than 90% certain"
    level = check_number(uncertain, "uncertain", at_least=0.5, below=1, advice=advice)
    model, t = _model_at(model, threshold)
    blocks, n, labels = _draw_blocks(model, X)
    wanted = _row_numbers(predictive, n)
    tails = [(1 - prob) / 2, (1 + prob) / 2]
    risk, sd, certainty, ends = np.empty(n), np.empty(n), np.empty(n), np.empty((2, n))
    kept: dict[Any, Floats] = {}
    for start, draws in blocks:
        rows = slice(start, start + len(draws))
        risk[rows] = draws.mean(axis=1)
        sd[rows] = draws.std(axis=1, ddof=1) if draws.shape[1] > 1 else math.nan
        certainty[rows] = (draws >= t).mean(axis=1)
        ends[:, rows] = np.quantile(draws, tails, axis=1)
        kept.update({i: draws[i - start].copy() for i in wanted if start <= i < start + len(draws)})
    ordered = {labels[i]: kept[i] for i in wanted}
    return Patients(labels, t, prob, level, risk, sd, ends[0], ends[1], certainty, ordered)


def _model_at(model: Any, threshold: float | None) -> tuple[Any, float]:
    """Return the model to use and its threshold."""
    family = getattr(model, "models_", None)
    if family is not None:
        own = list(family)
        if threshold is None:
            known = ", ".join(f"{t:g}" for t in own)
            raise ValueError(f"a family needs threshold=; its thresholds are {known}")
        t = check_threshold(threshold)
        (place,) = threshold_places(np.array([t]), np.array(own), "the family")
        return family[own[place]], t
    if threshold is None:
        threshold = getattr(model, "threshold", None)
    if threshold is None:
        raise ValueError("threshold must be given: the model has none of its own")
    return model, check_threshold(threshold)


def _draw_blocks(model: Any, X: Any) -> tuple[Iterator[tuple[int, Floats]], int, NDArray[Any]]:
    """Return blocks (start, risk draws), the number of patients and their labels."""
    if hasattr(model, "risk_draws"):
        if X is None:
            raise ValueError("model is a fitted model: give the covariates of the patients as X=")
        n = len(X) if hasattr(X, "__len__") else X.shape[0]
        labels = np.asarray(getattr(X, "index", np.arange(n)))
        size = max(1, _BLOCK // max(1, len(model.draws_.flat)))

        def blocks() -> Iterator[tuple[int, Floats]]:
            for start in range(0, n, size):
                block = take_rows(X, np.arange(start, min(n, start + size)))
                yield start, np.asarray(model.risk_draws(block))

        return blocks(), n, labels
    if hasattr(model, "predict_proba"):
        raise TypeError(
            f"model must give draws of each risk (risk_draws), got {type(model).__name__}, whose "
            "risks have no posterior; pass a tailored logistic regression or risk draws (n, draws)"
        )
    draws = check_risk_columns(model, "model", advice="pass risk draws (patients, draws)")
    return iter([(0, draws)]), len(draws), np.arange(len(draws))


def _row_numbers(rows: Sequence[int], n: int) -> list[int]:
    found = [int(row) for row in rows]
    wrong = [row for row in found if not 0 <= row < n]
    if wrong:
        raise ValueError(
            f"predictive must hold row numbers from 0 to {n - 1}, got {wrong[0]}; count from the "
            "first row of X"
        )
    return found


# --- Deferral ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Deferral:
    """Net benefit with patients deferred, a row a level of certainty; see `deferral`."""

    threshold: float
    cost: float
    sensitivity: float
    specificity: float
    level: Floats
    deferred: Floats
    net_benefit: Floats
    without: float
    gain: Floats
    gain_se: Floats
    break_even_cost: Floats

    def to_frame(self) -> pd.DataFrame:
        """Return a row a level."""
        import pandas as pd

        return pd.DataFrame(
            {
                "level": self.level,
                "threshold": self.threshold,
                "cost": self.cost,
                "deferred": self.deferred,
                "net_benefit": self.net_benefit,
                "net_benefit_without": self.without,
                "gain": self.gain,
                "gain_se": self.gain_se,
                "break_even_cost": self.break_even_cost,
            }
        )


def deferral(
    y_true: ArrayLike,
    found: Patients,
    *,
    cost: float,
    sensitivity: float = 1.0,
    specificity: float = 1.0,
    levels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Deferral:
    """Return the net benefit when patients of uncertain decision are sent for a further test.

    Patients whose decision is certain to the level or more are treated by risk >= t. The others
    are tested and treated when the test is positive; what the risk said is set aside. With D the
    deferred, E and N the events and non-events among them, Se and Sp the test's sensitivity and
    specificity,

        NB = [TP + Se E]/n - [FP + (1 - Sp) N]/n t/(1 - t) - cost |D|/n,

    TP and FP being counted among the certain. Se = Sp = 1, the default, is a test that reveals the
    outcome: the most that any test could be worth. The test is taken to err independently of the
    covariates.

    Parameters
    ----------
    y_true
        Outcome per patient.
    found
        What `patients` returned.
    cost
        Of one test, in true positives: 0.02 where fifty tests are worth one more case found.
    sensitivity, specificity
        Of the test, in [0, 1].
    levels
        Levels of certainty to try, from 0.5 up to 1; by default some, the record's own among them.
    sample_weight
        Weight per patient.

    Returns
    -------
    Deferral
        For each level: the share deferred, NB, its gain over deferring no one with its standard
        error, and the cost of a test at which the gain would be 0 (nan where no one is deferred).
        The gain is a mean over patients, and its error that of :func:`decision_curve`: weights are
        those of a survey.

    Examples
    --------
    Four patients at t = 0.5, of whom the middle two are uncertain. Without a test one event and
    one non-event are treated, NB = 1/4 - 1/4; a perfect test finds both events and spares the
    non-event, NB = 2/4 - 0.1 * 2/4.

    >>> draws = np.array([[0.1, 0.1], [0.3, 0.6], [0.4, 0.7], [0.9, 0.9]])
    >>> table = deferral([0, 1, 0, 1], patients(draws, threshold=0.5), cost=0.1, levels=[0.9])
    >>> table.without, table.net_benefit.round(6), table.break_even_cost
    (0.0, array([0.45]), array([1.]))
    """
    if not isinstance(found, Patients):
        raise TypeError(
            f"found must be what patients() returned, got {type(found).__name__}; pass "
            "patients(model, X, threshold)"
        )
    event = check_outcome(y_true)
    weight = None if sample_weight is None else check_sample_weight(sample_weight)
    check_same_length(y_true=event, patients=found.risk, sample_weight=weight)
    cost = check_number(cost, "cost", at_least=0, advice="in true positives a test, such as 0.02")
    advice = "pass a probability; 1 is a perfect test"
    se = check_number(sensitivity, "sensitivity", at_least=0, at_most=1, advice=advice)
    sp = check_number(specificity, "specificity", at_least=0, at_most=1, advice=advice)
    if levels is None:
        tried = np.unique([*_LEVELS, found.level])
    else:
        tried = check_array(levels, "levels", ndim=(0, 1), advice="pass levels such as [0.8, 0.9]")
        tried = np.atleast_1d(tried)
        advice = "0.9 defers those whose decision is less than 90% certain"
        check_within(tried, "levels", 0.5, 1.0, expected="lie from 0.5 to 1", advice=advice)
    w = np.ones(len(event)) if weight is None else weight
    total = float(w.sum())
    odds = harm_to_benefit(found.threshold)
    # What each patient adds to n NB, decided by the risk and by the test.
    by_risk = np.where(event, 1.0, -odds) * found.treat
    by_test = np.where(event, se, -odds * (1 - sp))
    sent = found.certainty_of_decision < tried[:, None]
    change = np.where(sent, by_test - by_risk, 0.0)
    share = sent @ w / total
    worth = change @ w / total
    gain = worth - cost * share
    row = change - cost * sent
    spread = ((row - gain[:, None]) ** 2) @ w**2 / total**2
    without = float(by_risk @ w) / total
    with np.errstate(invalid="ignore"):
        even = np.where(share > 0, worth / np.where(share > 0, share, 1.0), math.nan)
    return Deferral(
        found.threshold,
        cost,
        se,
        sp,
        tried,
        share,
        without + gain,
        without,
        gain,
        np.sqrt(spread),
        even,
    )
