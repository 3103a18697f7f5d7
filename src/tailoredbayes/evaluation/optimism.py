"""Optimism: what a whole fitting procedure is worth on rows that it has not seen.

A model looks better on the rows it was fitted to than on new ones. Here the procedure, its search
for the discount included, is run again on resampled rows, and its tables are corrected by what
that shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils import check_consistent_length
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from tailoredbayes.checks import (
    check_generator,
    check_risk,
    check_same_length,
    check_thresholds,
    check_whole_number,
)
from tailoredbayes.decision import harm_to_benefit
from tailoredbayes.evaluation.calibration import cox_line, intercept_in_the_large
from tailoredbayes.evaluation.models import own_event, threshold_places
from tailoredbayes.evaluation.refits import fit_anew
from tailoredbayes.reference import check_predicts, stratified_folds

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["METHODS", "Optimism", "optimism"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]

METHODS = {"cv": "cross-validated", "bootstrap": "optimism-corrected", ".632+": ".632+"}
"""The methods, and the label of what each returns."""

_REPEATS = {"cv": 10, "bootstrap": 200, ".632+": 200}
# The share of the rows that a bootstrap sample holds, 1 - 1/e [EfronTibshirani1997].
_SEEN = 0.632
# Statistics of which the difference between the two models means something.
_COMPARED = ("net_benefit", "auc", "brier")


@dataclass(frozen=True)
class Optimism:
    """The tables of a fitting procedure, corrected for optimism; `optimism` says how.

    ``keys`` are (model, statistic, threshold), the threshold nan where there is none; the arrays
    have one entry a key.
    """

    method: str
    label: str
    keys: tuple[tuple[str, str, float], ...]
    apparent: Floats
    value: Floats
    se: Floats
    replicates: NDArray[np.intp]
    n: int
    events: int

    def to_frame(self) -> pd.DataFrame:
        """Return a row a model, statistic and threshold: corrected and apparent value."""
        import pandas as pd

        model, statistic, threshold = zip(*self.keys, strict=True)
        return pd.DataFrame(
            {
                "model": model,
                "statistic": statistic,
                "threshold": threshold,
                "label": self.label,
                "value": self.value,
                "se": self.se,
                "apparent": self.apparent,
                "optimism": self.apparent - self.value,
                "replicates": self.replicates,
            }
        )


def optimism(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    threshold: ArrayLike | None = None,
    method: str = "cv",
    repeats: int | None = None,
    folds: int = 5,
    standard: Any = "auto",
    reference_risk: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Optimism:
    """Return net benefit, calibration, AUC and Brier score of a procedure, freed from optimism.

    The procedure is all that ``estimator.fit`` does, the choice of the discount included. With s a
    statistic, A the model of all rows and M_b that of the b-th resample:

    - "cv", labelled "cross-validated": rows are cut into stratified folds, each predicted by the
      model of the others; s is taken over all rows' predictions together, and averaged over
      `repeats` cuts.
    - "bootstrap", labelled "optimism-corrected": s(A, all rows) less the mean over b of
      s(M_b, its sample) - s(M_b, all rows) [Harrell1996].
    - ".632+": (1 - w) s(A, all rows) + w s_1, s_1 the mean over b of s(M_b, rows not in its
      sample), w = .632 / (1 - .368 R), and R from 0 to 1 how far s_1 has come from the first
      towards s without information [EfronTibshirani1997]. Without information outcomes do not
      depend on risks: the AUC is 1/2, the slope 0, the Brier score mean p^2 - 2 pi mean p + pi,
      the net benefit that of treating as many at random. The intercept has no such value: R = 0.

    Statistics: net_benefit at each threshold, auc, brier, slope (Cox's) and in_the_large (the
    intercept); of a family, all at each threshold. Beside each model its standard Bayes is fitted
    to the same resamples, and "model - standard" is the difference.

    Parameters
    ----------
    estimator
        An unfitted classifier: tailored models, families and any other.
    X, y
        All rows; `y` has two labels, the event being the larger or the estimator's ``pos_label``
        (of a pipeline, that of its last step).
    threshold
        t, one or several; by default the estimator's own.
    method
        "cv", "bootstrap" or ".632+".
    repeats
        Cuts into folds (10) or bootstrap samples (200).
    folds
        For "cv".
    standard
        The comparison: an unfitted classifier, None for none, or "auto": a family's own standard
        model, or the estimator with ``discount=0`` where it has a discount.
    reference_risk
        pi_u from outside, given to every fit that takes it.
    n_jobs
        Processes; the answer does not depend on it.
    random_state
        Seeds the resamples, and every ``random_state`` of None in the estimator.

    Returns
    -------
    Optimism
        ``se`` is the standard error over replicates of what is averaged over them: how much
        another seed would change the value. It is not the error of the sample, which is larger. nan
        for one replicate, and ``replicates`` counts those in which the statistic was defined.

    Notes
    -----
    A bootstrap sample is fitted as its distinct rows with their counts as ``sample_weight`` where
    the fit takes them, so that no inner fold tests on a copy of a row it learnt from; else as
    repeated rows. Samples with less than two events or non-events, in or out, are drawn again. What
    refits find about themselves is not told.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 8))
    >>> y = rng.random(60) < 0.4                               # nothing to learn
    >>> found = optimism(LogisticRegression(), X, y, threshold=0.4, repeats=2, random_state=1)
    >>> auc = found.to_frame().set_index("statistic").loc["auc"]
    >>> auc["label"], bool(auc["apparent"] > 0.6 > auc["value"])
    ('cross-validated', True)
    """
    if method not in METHODS:
        known = ", ".join(map(repr, METHODS))
        raise ValueError(f"method must be one of {known}, got {method!r}")
    if not hasattr(estimator, "thresholds"):  # a family predicts by threshold
        check_predicts(estimator, "estimator")
    check_consistent_length(X, y)
    number = check_whole_number(
        _REPEATS[method] if repeats is None else repeats, "repeats", at_least=1
    )
    rng = check_generator(random_state)
    event = _event(y, own_event(estimator))
    task = _Task(
        estimator,
        _comparison(estimator, standard),
        X,
        np.asarray(y),
        event,
        _thresholds(estimator, threshold),
        None if reference_risk is None else check_risk(reference_risk, "reference_risk"),
    )
    check_same_length(y=event, reference_risk=task.reference_risk)
    everyone = np.arange(len(event))
    (first,) = rng.spawn(1)
    apparent_risks = task.risks(everyone, None, everyone, first)
    apparent = task.measure(apparent_risks, everyone, None)
    run = _cross_validate if method == "cv" else _bootstrap
    found = run(task, number, folds, rng, n_jobs)
    if method == "cv":
        parts, value = found["held_out"], _mean(found["held_out"])
    elif method == "bootstrap":
        parts = found["sample"] - found["all"]
        value = apparent - _mean(parts)
    else:
        parts = found["out"]
        value = _six_three_two_plus(apparent, _mean(parts), task.no_information(apparent_risks))
    keys, differences = task.keys(), task.pairs()
    pairs = np.array([[i, j] for i, j, _ in differences], dtype=np.intp).reshape(-1, 2)
    with_pairs = np.concatenate([parts, parts[:, pairs[:, 0]] - parts[:, pairs[:, 1]]], axis=1)
    return Optimism(
        method,
        METHODS[method],
        tuple(keys) + tuple(key for _, _, key in differences),
        np.append(apparent, apparent[pairs[:, 0]] - apparent[pairs[:, 1]]),
        np.append(value, value[pairs[:, 0]] - value[pairs[:, 1]]),
        _se(with_pairs),
        np.isfinite(with_pairs).sum(axis=0),
        len(event),
        int(event.sum()),
    )


# --- The task ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    """What is done to each resample: fit, predict, measure."""

    estimator: Any
    standard: Any
    X: Any
    y: NDArray[Any]
    event: Bools
    thresholds: Floats
    reference_risk: Floats | None

    @property
    def by_threshold(self) -> bool:
        """Whether the estimator is a family, whose risk depends on the threshold."""
        return hasattr(self.estimator, "thresholds")

    @property
    def names(self) -> list[str]:
        return ["model"] if self.standard is None else ["model", "standard"]

    def keys(self) -> list[tuple[str, str, float]]:
        """What `measure` returns, in its order."""
        keys = []
        for name in self.names:
            keys += [(name, "net_benefit", t) for t in self.thresholds.tolist()]
            many = self.by_threshold and name == "model"
            for t in self.thresholds.tolist() if many else [math.nan]:
                keys += [(name, s, t) for s in ("auc", "brier", "slope", "in_the_large")]
        return keys

    def pairs(self) -> list[tuple[int, int, tuple[str, str, float]]]:
        """Places of a statistic of the model and of standard Bayes, and the difference's key."""
        keys = self.keys()
        own = {(s, t): i for i, (name, s, t) in enumerate(keys) if name == "standard"}
        # Standard Bayes has one risk for all thresholds: its nan stands for each of them.
        overall = {s: i for (s, t), i in own.items() if math.isnan(t)}
        found = []
        for i, (name, statistic, t) in enumerate(keys):
            if own and name == "model" and statistic in _COMPARED:
                other = own[statistic, t] if statistic == "net_benefit" else overall[statistic]
                found.append((i, other, ("model - standard", statistic, t)))
        return found

    def risks(
        self, rows: Rows, counts: Floats | None, at: Rows, rng: np.random.Generator
    ) -> list[Floats]:
        """Fit on some rows; return each model's risks at others: (b,), or (b, thresholds)."""
        fitted = self._fit(self.estimator, rows, counts, rng)
        X = take_rows(self.X, at)
        if self.by_threshold:
            own = np.asarray(fitted.thresholds_, dtype=np.float64)
            places = threshold_places(self.thresholds, own, "the family")
            risks = [np.asarray(fitted.risks(X))[:, places]]
        else:
            risks = [self._risk(fitted, X)]
        if self.standard == "own":
            risks.append(self._risk(fitted.standard_, X))
        elif self.standard is not None:
            risks.append(self._risk(self._fit(self.standard, rows, counts, rng), X))
        return risks

    def _fit(self, model: Any, rows: Rows, counts: Floats | None, rng: np.random.Generator) -> Any:
        if counts is not None and not has_fit_parameter(model, "sample_weight"):
            rows, counts = np.repeat(rows, counts.astype(np.intp)), None
        pi_u = None if self.reference_risk is None else self.reference_risk[rows]
        X, y = take_rows(self.X, rows), self.y[rows]
        return fit_anew(model, X, y, rng, sample_weight=counts, reference_risk=pi_u)

    def _risk(self, fitted: Any, X: Any) -> Floats:
        if hasattr(fitted, "risk"):
            return np.asarray(fitted.risk(X), dtype=np.float64)
        column = list(fitted.classes_).index(self.y[self.event][0])
        return np.asarray(fitted.predict_proba(X)[:, column], dtype=np.float64)

    def measure(self, risks: Sequence[Floats], at: Rows, counts: Floats | None) -> Floats:
        """Every statistic of the risks of some rows."""
        event = self.event[at]
        w = np.ones(len(event)) if counts is None else counts
        found: list[float] = []
        for risk in risks:
            columns = risk.T if risk.ndim == 2 else [risk] * len(self.thresholds)
            for t, column in zip(self.thresholds.tolist(), columns, strict=True):
                gain = np.where(event, 1.0, -harm_to_benefit(t))
                found.append(float(w @ (gain * (column >= t)) / w.sum()))
            for column in risk.T if risk.ndim == 2 else [risk]:
                found += [
                    float(roc_auc_score(event, column, sample_weight=w)),
                    float(w @ (event - column) ** 2 / w.sum()),
                    cox_line(event, column, w, 0.95)[1].value,
                    intercept_in_the_large(event, column, w, 0.95).value,
                ]
        return np.array(found)

    def no_information(self, risks: Sequence[Floats]) -> Floats:
        """Every statistic if outcomes did not depend on these risks; nan where it has no value."""
        share = float(self.event.mean())
        found: list[float] = []
        for risk in risks:
            columns = risk.T if risk.ndim == 2 else [risk] * len(self.thresholds)
            for t, column in zip(self.thresholds.tolist(), columns, strict=True):
                per_treated = share - (1 - share) * harm_to_benefit(t)
                found.append(float((column >= t).mean()) * per_treated)
            for column in risk.T if risk.ndim == 2 else [risk]:
                brier = float((column**2).mean()) - 2 * share * float(column.mean()) + share
                found += [0.5, brier, 0.0, math.nan]
        return np.array(found)


# --- Resampling -------------------------------------------------------------------------------


def _cross_validate(
    task: _Task, repeats: int, folds: int, rng: np.random.Generator, n_jobs: int | None
) -> dict[str, Floats]:
    """Measure each repeat's held-out risks, all folds together."""
    folds = check_whole_number(folds, "folds", at_least=2)
    rarer = int(min(task.event.sum(), (~task.event).sum()))
    if folds > rarer:
        raise ValueError(
            f"folds must be at most {rarer}, the number of rows of the rarer outcome, got {folds}"
        )
    labels = [stratified_folds(task.event, folds, one) for one in rng.spawn(repeats)]
    cells = [(cut, fold) for cut in labels for fold in range(folds)]
    jobs = [
        delayed(task.risks)(np.flatnonzero(cut != fold), None, np.flatnonzero(cut == fold), one)
        for (cut, fold), one in zip(cells, rng.spawn(len(cells)), strict=True)
    ]
    found = Parallel(n_jobs=n_jobs)(jobs)
    rows = []
    for r, cut in enumerate(labels):
        parts = found[r * folds : (r + 1) * folds]
        order = np.argsort(np.concatenate([np.flatnonzero(cut == fold) for fold in range(folds)]))
        risks = [np.concatenate([p[m] for p in parts])[order] for m in range(len(task.names))]
        rows.append(task.measure(risks, np.arange(len(cut)), None))
    return {"held_out": np.stack(rows)}


def _bootstrap(
    task: _Task, repeats: int, folds: int, rng: np.random.Generator, n_jobs: int | None
) -> dict[str, Floats]:
    """Measure each sample's model on its sample, on all rows and on the rows left out."""
    rarer = int(min(task.event.sum(), (~task.event).sum()))
    if rarer < 5:
        raise ValueError(
            f"y must hold at least 5 events and 5 non-events to be resampled, got {rarer} of one "
            "of them"
        )
    jobs = [delayed(_one_sample)(task, one) for one in rng.spawn(repeats)]
    found = np.stack(Parallel(n_jobs=n_jobs)(jobs))
    return {"sample": found[:, 0], "all": found[:, 1], "out": found[:, 2]}


def _one_sample(task: _Task, rng: np.random.Generator) -> Floats:
    n = len(task.event)
    while True:
        counts = np.bincount(rng.integers(n, size=n), minlength=n)
        inside, outside = counts > 0, counts == 0
        numbers = [np.sum(task.event[who] == e) for who in (inside, outside) for e in (True, False)]
        if min(numbers) >= 2:
            break
    rows, everyone = np.flatnonzero(inside), np.arange(n)
    weights = counts[rows].astype(np.float64)
    risks = task.risks(rows, weights, everyone, rng)
    out = np.flatnonzero(outside)
    return np.stack(
        [
            task.measure([risk[rows] for risk in risks], rows, weights),
            task.measure(risks, everyone, None),
            task.measure([risk[out] for risk in risks], out, None),
        ]
    )


def _six_three_two_plus(apparent: Floats, out: Floats, without: Floats) -> Floats:
    """Combine apparent and out-of-sample values."""
    span = apparent - without
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.where(span != 0, (apparent - out) / span, 0.0)
    rate = np.nan_to_num(rate)
    beyond = np.where(rate > 1, without, out)  # no worse than no information
    rate = np.clip(rate, 0.0, 1.0)
    w = _SEEN / (1 - (1 - _SEEN) * rate)
    return np.asarray((1 - w) * apparent + w * beyond)


def _mean(parts: Floats) -> Floats:
    """Mean over the replicates in which a statistic is defined; nan where in none."""
    number = np.isfinite(parts).sum(axis=0)
    total = np.where(np.isfinite(parts), parts, 0.0).sum(axis=0)
    return np.asarray(np.where(number > 0, total / np.maximum(number, 1), math.nan))


def _se(parts: Floats) -> Floats:
    number = np.isfinite(parts).sum(axis=0)
    square = np.where(np.isfinite(parts), parts - _mean(parts), 0.0) ** 2
    spread = square.sum(axis=0) / np.maximum(number - 1, 1)
    return np.asarray(np.where(number > 1, np.sqrt(spread / np.maximum(number, 1)), math.nan))


# --- At the door ------------------------------------------------------------------------------


def _event(y: ArrayLike, pos_label: Any) -> Bools:
    labels = np.unique(np.asarray(y))
    if len(labels) != 2:
        raise ValueError(f"y must hold two labels, got {len(labels)}: {labels[:5].tolist()}")
    event = labels[1] if pos_label is None else pos_label
    if event not in labels:
        raise ValueError(f"pos_label must be one of {labels.tolist()}, got {event!r}")
    return np.asarray(np.asarray(y) == event)


def _thresholds(estimator: Any, threshold: ArrayLike | None) -> Floats:
    own = getattr(estimator, "thresholds", None)
    if threshold is None:
        threshold = getattr(estimator, "threshold", None) if own is None else own
        if threshold is None:
            raise ValueError("threshold must be given: the estimator has none of its own")
    ts = np.atleast_1d(check_thresholds(np.asarray(threshold, dtype=np.float64)))
    if own is not None:
        threshold_places(ts, np.asarray(own, dtype=np.float64), "the family")
    return ts


def _comparison(estimator: Any, standard: Any) -> Any:
    """Return the unfitted comparison, "own" for a family's, or None."""
    if isinstance(standard, str):
        if standard != "auto":
            raise ValueError(f"standard must be a classifier, None or 'auto', got {standard!r}")
        if hasattr(estimator, "thresholds"):
            return "own"
        if "discount" in estimator.get_params(deep=False):
            return clone(estimator).set_params(discount=0)
        return None
    if standard is not None:
        check_predicts(standard, "standard")
    return standard
