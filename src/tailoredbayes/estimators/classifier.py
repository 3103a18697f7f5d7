"""Tailoring for any classifier that takes sample weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils import get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_y, check_is_fitted

from tailoredbayes.checks import check_threshold
from tailoredbayes.estimators.base import (
    TailoredEstimator,
    check_lengths,
    generator,
    search_facts,
)
from tailoredbayes.findings import Finding
from tailoredbayes.fitting import (
    Progress,
    Search,
    Settings,
    Training,
    search_discounts,
    search_findings,
    stage_1,
    tailored_weights,
)
from tailoredbayes.progress import progress_bar
from tailoredbayes.reference import (
    Reference,
    check_predicts,
    check_takes_weights,
    refuse_one_class,
    weighted_fit,
)
from tailoredbayes.selection import DEFAULT_RULE, HeldOut, Problem
from tailoredbayes.weighting import NEVER

__all__ = ["TailoredClassifier"]

Floats = NDArray[np.float64]
Folds = NDArray[np.int16]


class TailoredClassifier(TailoredEstimator):
    """Any classifier whose ``fit`` takes ``sample_weight``, tailored to a threshold.

    The paper's two stages with both models free: a first model gives pi_u, the discount is chosen
    by cross-validated net benefit at the threshold, and ``estimator`` is fitted with the weights
    exp(-discount h(pi_u, t)). Weights of one (discount 0) leave it as it is.

    Parameters
    ----------
    estimator : classifier
        Model_w: has ``predict_proba``; takes ``sample_weight`` in ``fit``, itself, through
        metadata routing, or at the last step of a pipeline.
    threshold : float
        The target threshold.
    reference : classifier, optional
        Model_u; by default a clone of ``estimator``, unweighted.
    discount, discount_grid, selection, cv, cv_repeats, rounds, design, distance, epsilon, pos_label
        As in :class:`TailoredLogisticRegression`.
    n_jobs : int, optional
        Folds and discounts are fitted in parallel by joblib; the answer does not depend on it.
    random_state : int, RandomState, Generator or None
        Seeds the folds, and every fit of an ``estimator`` that has a ``random_state`` of None.
    verbose : int
        1 shows a progress bar on a terminal.

    Attributes
    ----------
    estimator_ : classifier
        The tailored model.
    discount_, discount_table_, reference_risk_, weights_, effective_sample_size_, findings_
        As in :class:`TailoredLogisticRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 2))
    >>> y = rng.uniform(size=300) < X[:, 1] / X.sum(axis=1)
    >>> tree = DecisionTreeClassifier(min_samples_leaf=30, random_state=0)
    >>> model = TailoredClassifier(tree, threshold=0.3, discount=5, random_state=0).fit(X, y)
    >>> model.predict_proba(X).shape
    (300, 2)
    """

    def __init__(
        self,
        estimator: Any,
        threshold: float = 0.5,
        *,
        discount: float | str = "cv",
        discount_grid: ArrayLike | None = None,
        selection: str = DEFAULT_RULE,
        cv: Any = 5,
        cv_repeats: int = 1,
        rounds: int = 0,
        reference: Any = None,
        design: str | float = "crossfit",
        distance: Any = "squared",
        epsilon: float = 0.0,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.discount = discount
        self.discount_grid = discount_grid
        self.selection = selection
        self.cv = cv
        self.cv_repeats = cv_repeats
        self.rounds = rounds
        self.reference = reference
        self.design = design
        self.distance = distance
        self.epsilon = epsilon
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        reference_risk: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        recalibrate: bool = False,
    ) -> Self:
        """Fit both stages; parameters as in :meth:`TailoredLogisticRegression.fit`."""
        check_threshold(self.threshold)
        rng = generator(self.random_state)
        model = _seeded(_checked(self.estimator), rng)
        reference = model
        if self.reference is not None:
            check_predicts(self.reference, "reference")
            reference = _seeded(self.reference, rng)
        settings = replace(self._settings(), reference=reference)
        # The estimator judges the covariates: text and missing values may be its business.
        if X is None:
            raise ValueError("X must be a table of covariates, a row a patient, got None")
        (X,) = indexable(X)
        labels = _check_y(y, estimator=self)
        check_lengths(X, labels)
        if len(labels) < 2:
            raise ValueError(f"X must hold at least 2 rows, got {len(labels)} sample(s)")
        training = self._training(
            np.empty((len(labels), 0)), labels, X, reference_risk, sample_weight, recalibrate
        )
        cells = settings.cv if isinstance(settings.cv, int) else 1
        total = 2 + (settings.rounds + 1) * settings.cv_repeats * cells
        with progress_bar(self.verbose, total) as progress:
            found, search, findings = self._search(model, training, settings, rng, progress)
            weights = tailored_weights(training, found, settings, search)
            findings.extend(search_findings(training, found, search, weights))
            rows = np.flatnonzero(weights > 0)
            refuse_one_class(
                training.y[rows], f"discount {search.discount:g} is too large: its weights"
            )
            progress("final fit")
            self.search_ = search
            self.estimator_ = weighted_fit(
                model, take_rows(X, rows), labels[rows], weights[rows], "estimator"
            )
        self.discount_ = search.discount
        self.reference_risk_ = search.reference_risk
        self.weights_ = weights
        self.effective_sample_size_ = float(weights.sum())
        self.findings_ = tuple(findings)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self._tell()
        return self

    def _search(
        self,
        model: Any,
        training: Training,
        settings: Settings,
        rng: np.random.Generator,
        progress: Progress,
    ) -> tuple[Reference | None, Search, list[Finding]]:
        threshold = float(self.threshold)
        if settings.discount == 0:
            return None, Search(threshold, 0.0, None), []
        progress("reference risk")
        found = stage_1(training, settings, rng, None)

        def held_out(problems: Sequence[Problem], folds: Folds) -> Iterator[HeldOut]:
            return _held_out(model, training, problems, folds, self.n_jobs, progress)

        (search,), said = search_discounts(
            training,
            found,
            [threshold],
            settings,
            rng,
            held_out=held_out,
            n_coefficients=1,
            progress=lambda step: None,  # each fold is a step
        )
        return found, search, [*found.findings, *said]

    def risk(self, X: Any) -> Floats:
        """Return each row's risk of the event under the tailored model, (n,)."""
        check_is_fitted(self)
        event = list(self.estimator_.classes_).index(self.classes_[self._positive])
        return np.asarray(self.estimator_.predict_proba(X)[:, event], dtype=np.float64)

    def predict_proba(self, X: Any) -> Floats:
        """Return the tailored model's risks: P(y = classes_[k] | x), (n, 2)."""
        return self._by_class(self.risk(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Decide: the event's label (treat) where the risk is at least the threshold."""
        return self._decide(self.risk(X), check_threshold(self.threshold))

    def decision_function(self, X: Any) -> Floats:
        """Logit of the risk less that of the threshold: treat at 0 and above."""
        return self._margin(self.risk(X), check_threshold(self.threshold))

    def _searches(self) -> list[Search]:
        return [self.search_]

    def _facts(self) -> dict[str, str]:
        return search_facts(self.search_, self.weights_, self.findings_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.non_deterministic = inner.non_deterministic
        return tags


def _checked(estimator: Any) -> Any:
    check_predicts(estimator, "estimator")
    check_takes_weights(estimator, "estimator")
    return estimator


def _seeded(model: Any, rng: np.random.Generator) -> Any:
    """Return a clone in which every random_state that was None is a seed."""
    fresh = clone(model)
    open_ = [
        name
        for name, value in sorted(fresh.get_params(deep=True).items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    return fresh.set_params(**{name: int(rng.integers(2**31)) for name in open_})


def _held_out(
    model: Any,
    training: Training,
    problems: Sequence[Problem],
    folds: Folds,
    n_jobs: int | None,
    progress: Progress,
) -> Iterator[HeldOut]:
    """Fit the model for every discount and held-out fold; predict the fold."""
    (problem,) = problems
    plain = np.ones(len(training.y)) if training.sample_weight is None else training.sample_weight

    def one(repeat: int, fold: int, discount: float) -> Floats:
        label = folds[:, repeat]
        weights = plain * np.exp(-discount * problem.distance)
        train = np.flatnonzero((label != fold) & (label != NEVER) & (weights > 0))
        test = np.flatnonzero(label == fold)
        refuse_one_class(training.y[train], f"discount {discount:g} is too large: its weights")
        fitted = weighted_fit(
            model, take_rows(training.X, train), training.y[train], weights[train], "estimator"
        )
        event = list(fitted.classes_).index(True)
        return np.asarray(fitted.predict_proba(take_rows(training.X, test))[:, event])

    cells = [
        (repeat, int(fold))
        for repeat in range(folds.shape[1])
        for fold in np.unique(folds[:, repeat])
        if fold != NEVER
    ]
    found = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(one)(repeat, fold, discount)
        for repeat, fold in cells
        for discount in problem.discounts
    )
    for repeat, fold in cells:
        progress(f"discounts, fold {fold + 1}")
        risks = np.stack([next(found) for _ in problem.discounts], axis=1)
        yield HeldOut(repeat, fold, np.flatnonzero(folds[:, repeat] == fold), [risks])
