"""Stage 1: the reference risk pi_u of every row, from a model that never saw the row.

pi_u says how near a row lies to the threshold, and so how much it weighs in stage 2. It comes from
standard Bayesian logistic regression, from any classifier, or from outside (a published score).
Where the data serve both stages, one of three designs keeps them apart:

- "crossfit": each row's risk is predicted by a model of the other folds; all rows go on;
- "split": a model of 20% of the rows predicts the other 80%, which alone go on (the paper's);
- a fraction f: the same with 100 f % of the rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from tailoredbayes.findings import Finding
from tailoredbayes.inference import find_modes
from tailoredbayes.posterior import TailoredPosterior
from tailoredbayes.predictive import expit, normal_risk
from tailoredbayes.weighting import CellWeights

__all__ = [
    "Recalibration",
    "Reference",
    "check_design",
    "check_predicts",
    "check_takes_weights",
    "given_reference",
    "model_reference",
    "rarer_outcome",
    "recalibration",
    "refuse_one_class",
    "standard_reference",
    "stratified_folds",
    "weighted_fit",
]

Floats = NDArray[np.float64]
Folds = NDArray[np.int16]

# Stage 1 leaves out a tenth at a time: its models should be near the one of all rows.
_CROSSFIT_FOLDS = 10
_SPLIT_SHARE = 0.2
# Risks nearer 0 or 1 than this have a logit of that of this: a published table's "0%" is rounded.
_SATURATED = 1e-6
# An outside risk whose logit slope or intercept is this far from (1, 0) is miscalibrated for us.
_SLOPE_RANGE, _INTERCEPT_RANGE = (0.8, 1.25), 0.2


@dataclass(frozen=True)
class Recalibration:
    """Cox's recalibration: logit(risk') = intercept + slope * logit(risk).

    A well calibrated risk has intercept 0 and slope 1; a slope below 1 means risks too extreme.
    """

    intercept: float
    slope: float

    def apply(self, risk: Floats) -> Floats:
        """Return the recalibrated risks."""
        return expit(self.intercept + self.slope * _logit(risk))


@dataclass(frozen=True)
class Reference:
    """What stage 1 found: the reference risk of each row and where it came from.

    Parameters
    ----------
    risk
        pi_u, one a row; NaN for design rows, which have none that they did not make.
    development
        Rows that go on to stage 2.
    source
        In words: which model, or "given".
    design
        "crossfit", "split" or "outside".
    recalibration
        For given risks: how these data would recalibrate them.
    recalibrated
        Whether that was applied.
    findings
        What stage 1 has to say.
    """

    risk: Floats
    development: NDArray[np.bool_]
    source: str
    design: str
    recalibration: Recalibration | None = None
    recalibrated: bool = False
    findings: tuple[Finding, ...] = ()


def check_design(design: object) -> str | float:
    """Return "crossfit" or the share of design rows, or raise."""
    if design == "crossfit":
        return "crossfit"
    if design == "split":
        return _SPLIT_SHARE
    if isinstance(design, int | float) and not isinstance(design, bool) and 0 < design < 1:
        return float(design)
    raise ValueError(
        "design must be 'crossfit', 'split' or the share of rows that stage 1 may use (between 0 "
        f"and 1), got {design!r}"
    )


def stratified_folds(
    y: NDArray[np.bool_],
    folds: int,
    rng: np.random.Generator,
    counted: NDArray[np.bool_] | None = None,
) -> Folds:
    """Return the fold of each row: outcomes shared out evenly, rows at random.

    Events fill the folds from the first on, non-events from the last back, so that the folds'
    sizes differ by one at most, as the numbers of their events do. Rows that are not ``counted``
    (of weight 0) are shared out apart: no event of theirs stands in for one that counts.

    >>> y = np.array([1, 1, 0, 0, 0, 0, 0]) == 1
    >>> labels = stratified_folds(y, 2, np.random.default_rng(0))
    >>> np.bincount(labels[y]), np.bincount(labels[~y])
    (array([1, 1]), array([2, 3]))
    """
    labels = np.empty(len(y), dtype=np.int16)
    every = np.ones(len(y), dtype=bool) if counted is None else counted
    for stratum, order in ((y & every, 1), (~y & every, -1), (~every, 1)):
        rows = np.flatnonzero(stratum)
        turn = np.arange(len(rows)) % folds
        labels[rng.permutation(rows)] = turn if order == 1 else folds - 1 - turn
    return labels


def rarer_outcome(y: NDArray[np.bool_]) -> int:
    """Return the number of rows of the rarer outcome.

    >>> rarer_outcome(np.array([True, False, False]))
    1
    """
    events = int(np.count_nonzero(y))
    return min(events, len(y) - events)


def standard_reference(
    base: TailoredPosterior,
    y: NDArray[np.bool_],
    design: str | float,
    rng: np.random.Generator,
    sample_weight: Floats | None = None,
    folds: Folds | None = None,
    start: Floats | None = None,
) -> Reference:
    """pi_u by standard Bayesian logistic regression: the posterior predictive mean.

    ``folds`` are the user's own, for cross-fitting: their rows may belong together.
    ``start`` is where the modes are looked for.
    The models of all folds are fitted together. ``base`` holds the rows; its weights are not used.
    """
    cells, development = _cells(y, design, rng, folds, sample_weight)
    held_out = np.unique(cells[cells >= 0]).astype(np.intp)
    columns = CellWeights(
        distances=np.broadcast_to(0.0, (len(y), 1)),
        which=np.zeros(len(held_out), dtype=np.intp),
        discounts=np.zeros(len(held_out)),
        repeats=np.zeros(len(held_out), dtype=np.intp),
        held_out=held_out,
        folds=cells[:, None],
        sample_weight=sample_weight,
    )
    posterior = base.reweighted(columns)
    modes = find_modes(posterior, start=start)
    beta, roots = posterior.coefficients(modes.theta), base.coefficient_map() @ modes.roots()
    risk = np.full(len(y), np.nan)
    for column, fold in enumerate(held_out):
        rows = np.flatnonzero(cells == fold)
        risk[rows] = normal_risk(
            base.rows.x,  # type: ignore[attr-defined]  # reweighted() has seen rows in memory
            beta[:, [column]],
            roots[[column]],
            rows=rows,
            threads=base.threads,
        )[:, 0]
    name = "crossfit" if design == "crossfit" else "split"
    return Reference(
        risk,
        development,
        "standard Bayesian logistic regression",
        name,
        findings=tuple(_saturation(risk)),
    )


def model_reference(
    model: Any,
    X: Any,
    y: NDArray[np.bool_],
    design: str | float,
    rng: np.random.Generator,
    sample_weight: Floats | None = None,
    folds: Folds | None = None,
    n_jobs: int | None = None,
) -> Reference:
    """pi_u by any classifier or pipeline with ``predict_proba``."""
    check_predicts(model, "reference")
    cells, development = _cells(y, design, rng, folds, sample_weight)
    held_out = np.unique(cells[cells >= 0])

    def one(fold: int) -> tuple[NDArray[np.intp], Floats]:
        learnt, test = cells != fold, np.flatnonzero(cells == fold)
        if sample_weight is not None:
            learnt &= sample_weight > 0  # a row of no weight might as well not be there
        train = np.flatnonzero(learnt)
        refuse_one_class(y[train], "sample_weight and the folds of cv")
        weights = None if sample_weight is None else sample_weight[train]
        fitted = weighted_fit(model, take_rows(X, train), y[train], weights, "reference")
        proba = fitted.predict_proba(take_rows(X, test))
        return test, np.asarray(proba[:, list(fitted.classes_).index(True)], dtype=np.float64)

    risk = np.full(len(y), np.nan)
    for rows, found in Parallel(n_jobs=n_jobs)(delayed(one)(fold) for fold in held_out):
        risk[rows] = found
    name = "crossfit" if design == "crossfit" else "split"
    return Reference(risk, development, repr(model), name, findings=tuple(_saturation(risk)))


def given_reference(
    risk: Floats,
    y: NDArray[np.bool_],
    sample_weight: Floats | None = None,
    *,
    recalibrate: bool = False,
) -> Reference:
    """pi_u from outside; how these data would recalibrate it is always worked out and kept."""
    cox = recalibration(risk, y, sample_weight)
    low, high = _SLOPE_RANGE
    off = not low <= cox.slope <= high or abs(cox.intercept) > _INTERCEPT_RANGE
    findings = list(_saturation(risk))
    if off and not recalibrate:
        findings.append(
            Finding(
                "reference-miscalibrated",
                f"the given reference risks have a calibration intercept of {cox.intercept:.2f} "
                f"and slope of {cox.slope:.2f} on these data (0 and 1 if calibrated), so they "
                "misplace the threshold; fit with recalibrate=True",
                cox.slope,
            )
        )
    used = cox.apply(risk) if recalibrate else risk
    everyone = np.ones(len(y), dtype=bool)
    return Reference(used, everyone, "given", "outside", cox, recalibrate, tuple(findings))


def recalibration(
    risk: Floats, y: NDArray[np.bool_], sample_weight: Floats | None = None
) -> Recalibration:
    """Fit Cox's intercept and slope: logistic regression of the outcome on the risk's logit.

    >>> risk = np.repeat([0.1, 0.4], 10)
    >>> y = np.r_[np.arange(10) < 2, np.arange(10) < 5]     # observed 20% and 50%
    >>> cox = recalibration(risk, y)
    >>> cox.apply(np.array([0.1, 0.4])).round(2)
    array([0.2, 0.5])
    """
    posterior = TailoredPosterior(_logit(risk)[:, None], y, weights=sample_weight)
    intercept, slope = posterior.coefficients(find_modes(posterior).theta)[:, 0]
    return Recalibration(float(intercept), float(slope))


# The data that scikit-learn puts into the messages of its checks.
_COPIED = re.compile(r"\n(array=)?\[.*\]\.?(\n|\Z)", re.DOTALL)


def weighted_fit(
    model: Any, X: Any, y: NDArray[Any], sample_weight: Floats | None, name: str
) -> Any:
    """Fit a clone of ``model``, handing ``sample_weight`` to whatever in it can take it.

    A pipeline gets it through metadata routing where its steps request it, and else at its last
    step. A model that cannot take it is refused.
    """
    fresh = clone(model)
    weights = {} if sample_weight is None else _weight_arguments(fresh, sample_weight, name)
    try:
        return fresh.fit(X, y, **weights)
    except (TypeError, ValueError) as error:
        # Its words are its own (less its copy of the data); what they are about is ours to say.
        kind = TypeError if isinstance(error, TypeError) else ValueError
        words = _COPIED.sub(" ", str(error)).rstrip()
        raise kind(f"{name} could not be fitted to X and y: {words}") from error


def check_predicts(model: Any, name: str) -> None:
    """Raise ``TypeError`` unless ``model`` is a classifier that gives probabilities."""
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
        got = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise TypeError(
            f"{name} must be a classifier with fit and predict_proba, got {got}; one without "
            "probabilities can be wrapped in sklearn.calibration.CalibratedClassifierCV"
        )


def refuse_one_class(y: NDArray[np.bool_], why: str) -> None:
    """Raise ``ValueError`` if there is one class only to learn from."""
    if y.all() or not y.any():
        raise ValueError(f"{why} leave one class only to learn from, in {len(y)} rows")


def check_takes_weights(model: Any, name: str) -> None:
    """Raise ``TypeError`` unless something in ``model`` takes ``sample_weight``."""
    _weight_arguments(model, np.ones(1), name)


def _weight_arguments(model: Any, sample_weight: Floats, name: str) -> Mapping[str, Floats]:
    if has_fit_parameter(model, "sample_weight"):
        return {"sample_weight": sample_weight}
    try:
        requested = get_routing_for_object(model).consumes("fit", ["sample_weight"])
    except (AttributeError, TypeError, ValueError):
        requested = set()
    if requested:
        return {"sample_weight": sample_weight}
    if isinstance(model, Pipeline) and model.steps:
        last, step = model.steps[-1]
        inner = _weight_arguments(step, sample_weight, name)
        return {f"{last}__{argument}": value for argument, value in inner.items()}
    raise TypeError(
        f"{name} must be a classifier whose fit takes sample_weight, got {type(model).__name__}; "
        "choose one that does, such as LogisticRegression or HistGradientBoostingClassifier (in a "
        "meta-estimator, turn on metadata routing and set_fit_request(sample_weight=True))"
    )


def _cells(
    y: NDArray[np.bool_],
    design: str | float,
    rng: np.random.Generator,
    given: Folds | None,
    sample_weight: Floats | None,
) -> tuple[Folds, NDArray[np.bool_]]:
    """Return the fold in which each row is predicted (-1: never), and the rows that go on.

    Rows of weight 0 are predicted, and teach nothing: the shares are those of the others.
    """
    if design == "crossfit" and given is not None:
        return given, np.ones(len(y), dtype=bool)
    counted = np.ones(len(y), dtype=bool) if sample_weight is None else sample_weight > 0
    rarer = rarer_outcome(y[counted])
    weighing = "" if counted.all() else " of positive weight"
    if design == "crossfit":
        folds = min(_CROSSFIT_FOLDS, rarer)
        if folds < 2:
            raise ValueError(
                f"y must hold at least 2 events and 2 non-events{weighing} to cross-fit the "
                f"reference risk, got {rarer} of one of them; give reference_risk= from "
                "outside or discount=0"
            )
        return stratified_folds(y, folds, rng, counted), np.ones(len(y), dtype=bool)
    if rarer < 2:
        raise ValueError(
            f"y must hold at least 2 events and 2 non-events{weighing} for a design split, got "
            f"{rarer} of one of them; give reference_risk= from outside or discount=0"
        )
    share, rows = float(design), np.flatnonzero(counted)
    try:
        _, design_rows = train_test_split(
            rows,
            test_size=share,
            stratify=y[rows],
            random_state=int(rng.integers(2**31)),
        )
    except ValueError as error:
        raise ValueError(
            f"design must leave both classes on both sides of the split, got {share:g} of "
            f"{len(rows)} rows ({error})"
        ) from None
    cells = np.zeros(len(y), dtype=np.int16)
    cells[design_rows] = -1
    return cells, cells == 0


def _saturation(risk: Floats) -> list[Finding]:
    seen = risk[~np.isnan(risk)]
    share = float(((seen < _SATURATED) | (seen > 1 - _SATURATED)).mean())
    if share == 0:
        return []
    return [
        Finding(
            "saturated-reference",
            f"{share:.1%} of the reference risks are 0 or 1 (to six digits): such a model is too "
            "sure of itself to say how near the threshold a row lies",
            share,
        )
    ]


def _logit(risk: Floats) -> Floats:
    inside = np.clip(risk, _SATURATED, 1 - _SATURATED)
    return np.asarray(np.log(inside / (1 - inside)))
