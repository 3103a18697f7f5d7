"""Discrimination and overall accuracy: AUC, Brier score and log score, with their intervals.

They judge risks at all thresholds at once, and a tailored model is made for one: read them beside
the net benefit, not in its place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import brier_score_loss, roc_auc_score

from tailoredbayes.checks import (
    check_both_classes,
    check_outcome,
    check_same_length,
    check_sample_weight,
    check_threshold,
)
from tailoredbayes.evaluation.estimates import Estimate, check_prob
from tailoredbayes.evaluation.models import model_risks

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Discrimination", "discrimination"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Discrimination:
    """AUC, Brier and log score of each model, and their paired differences.

    ``scores`` is {model: {score: Estimate}}, ``differences`` {(model, against): {score: Estimate}}.
    ``n`` counts the rows of weight above 0, ``events`` and ``nonevents`` add up weights.
    """

    scores: Mapping[str, Mapping[str, Estimate]]
    differences: Mapping[tuple[str, str], Mapping[str, Estimate]]
    n: int
    events: float
    nonevents: float
    prob: float

    def to_frame(self) -> pd.DataFrame:
        """Return a row a model and score: value, standard error, interval."""
        import pandas as pd

        return pd.DataFrame(
            [
                {"model": name, "score": score, **vars(found)}
                for name, scores in self.scores.items()
                for score, found in scores.items()
            ]
        )

    def differences_frame(self) -> pd.DataFrame:
        """Return a row a pair of models and score: model less against, its interval."""
        import pandas as pd

        columns = ["model", "against", "score", "difference", "se", "low", "high"]
        rows = [
            (*pair, score, found.value, found.se, found.low, found.high)
            for pair, scores in self.differences.items()
            for score, found in scores.items()
        ]
        return pd.DataFrame(rows, columns=columns)


def discrimination(
    y_true: ArrayLike,
    models: Any,
    *,
    X: Any = None,
    sample_weight: ArrayLike | None = None,
    threshold: float | None = None,
    prob: float = 0.95,
) -> Discrimination:
    """Return each model's AUC, Brier score and log score, and the differences of each pair.

    - auc: the chance that an event's risk is above a non-event's, ties counting half; higher is
      better. Standard errors by placements [DeLong1988]; its interval is symmetric on the logit
      scale.
    - brier: mean of (y - p)^2; lower is better.
    - log: mean of -log of the probability given to what happened; lower is better. inf for a
      model that gave an event a risk of 0, or a non-event a risk of 1.

    Values are scikit-learn's, save for that inf. Brier and log score are means over rows, and so
    are their standard errors. Differences are of the same rows, so errors that the models share
    cancel.

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
        Weight per row, 0 or more; a row of weight w counts as w rows.
    threshold
        For a family only.
    prob
        Of the intervals.

    Returns
    -------
    Discrimination
        An AUC of 0 or 1 has no interval (nan): rows without overlap do not tell their own error.
        With one event or one non-event there is no interval of the AUC either.

    Examples
    --------
    Three of the four pairs of an event and a non-event are in order:

    >>> found = discrimination([0, 1, 0, 1], [0.1, 0.4, 0.5, 0.8]).scores["model"]
    >>> found["auc"].value, round(found["brier"].value, 6)
    (0.75, 0.165)
    """
    event = check_outcome(y_true)
    weight = None if sample_weight is None else check_sample_weight(sample_weight)
    check_same_length(y_true=event, sample_weight=weight)
    check_both_classes(event, sample_weight=weight)
    at = None if threshold is None else np.array([check_threshold(threshold)])
    prob = check_prob(prob)
    risks = {
        name: risk[:, 0] if risk.ndim == 2 else risk
        for name, risk in model_risks(models, event, thresholds=at, X=X, name="models").items()
    }
    w = np.ones(len(event)) if weight is None else weight
    if not (w > 0).all():
        used = w > 0
        risks = {name: risk[used] for name, risk in risks.items()}
        event, w = event[used], w[used]
    parts = {name: _parts(event, risk, w) for name, risk in risks.items()}
    scores = {name: _scores(event, risks[name], w, parts[name], prob) for name in risks}
    differences = {
        (one, other): _differences(event, w, parts[one], parts[other], prob)
        for one, other in combinations(risks, 2)
    }
    events = float(w[event].sum())
    return Discrimination(scores, differences, len(event), events, float(w.sum()) - events, prob)


@dataclass(frozen=True)
class _Parts:
    """What each row adds: its placement (among the rows of the other outcome), its two losses."""

    placement: Floats
    brier: Floats
    log: Floats


def _parts(event: Bools, risk: Floats, weight: Floats) -> _Parts:
    with np.errstate(divide="ignore"):
        log = -np.log(np.where(event, risk, 1 - risk))
    return _Parts(_placements(event, risk, weight), (event - risk) ** 2, log)


def _placements(event: Bools, risk: Floats, weight: Floats) -> Floats:
    """Share of the other outcome's rows that each row is in order with, ties counting half."""
    out = np.empty(len(risk))
    for who in (event, ~event):
        others, w = risk[~who], weight[~who]
        order = np.argsort(others)
        others, below = others[order], np.r_[0.0, np.cumsum(w[order])]
        left = below[np.searchsorted(others, risk[who], side="left")]
        right = below[np.searchsorted(others, risk[who], side="right")]
        out[who] = 0.5 * (left + right) / below[-1]
    return np.where(event, out, 1 - out)


def _scores(
    event: Bools, risk: Floats, weight: Floats, parts: _Parts, prob: float
) -> dict[str, Estimate]:
    auc = float(roc_auc_score(event, risk, sample_weight=weight))
    brier = float(brier_score_loss(event, risk, sample_weight=weight))
    log = float(np.average(parts.log, weights=weight))
    return {
        "auc": Estimate.logit_normal(auc, _placement_se(event, parts.placement, weight), prob),
        "brier": Estimate.normal(brier, _mean_se(parts.brier, weight), prob),
        "log": Estimate.normal(log, _mean_se(parts.log, weight), prob),
    }


def _differences(
    event: Bools, weight: Floats, one: _Parts, other: _Parts, prob: float
) -> dict[str, Estimate]:
    with np.errstate(invalid="ignore"):  # inf less inf is nan: neither is better
        brier, log = one.brier - other.brier, one.log - other.log
        placement = one.placement - other.placement
        auc = float(np.average(placement[event], weights=weight[event]))
        return {
            "auc": Estimate.normal(auc, _placement_se(event, placement, weight), prob),
            "brier": Estimate.normal(_mean(brier, weight), _mean_se(brier, weight), prob),
            "log": Estimate.normal(_mean(log, weight), _mean_se(log, weight), prob),
        }


def _mean(values: Floats, weight: Floats) -> float:
    return float(np.average(values, weights=weight))


def _placement_se(event: Bools, placement: Floats, weight: Floats) -> float:
    """DeLong's: the variances of the two outcomes' mean placements, added."""
    both = [_mean_se(placement[who], weight[who]) for who in (event, ~event)]
    return math.hypot(*both)


def _mean_se(values: Floats, weight: Floats) -> float:
    """Standard error of a mean over rows, a row of weight w being w rows; nan for one row."""
    total = float(weight.sum())
    if total <= 1 or not np.isfinite(values).all():
        return math.nan
    centred = values - weight @ values / total
    return math.sqrt(float(weight @ centred**2) / (total - 1) / total)
