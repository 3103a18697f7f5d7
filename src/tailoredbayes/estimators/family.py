"""One tailored model a threshold, fitted together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tailoredbayes.checks import check_array, check_thresholds
from tailoredbayes.estimators.base import TailoredEstimator, checked_rows, generator
from tailoredbayes.estimators.logistic import TailoredLogisticRegression
from tailoredbayes.findings import Finding
from tailoredbayes.fitting import Search, TailoredFit, fit_tailored, step_count
from tailoredbayes.priors import Prior
from tailoredbayes.progress import progress_bar
from tailoredbayes.selection import DEFAULT_RULE
from tailoredbayes.storage import save, storable

__all__ = ["TailoredFamily"]

Floats = NDArray[np.float64]


@storable
class TailoredFamily(TailoredEstimator):
    """One tailored logistic regression a threshold, and the standard one beside them.

    Stage 1, the folds and the passes over the data are shared, so the whole costs clearly less
    than its parts; each model equals the one fitted alone with the same seed.

    Parameters
    ----------
    thresholds : sequence of float
        The target thresholds, in ascending order or not; no two equal.
    discount, discount_grid, selection, cv, cv_repeats, rounds, reference, design, distance
        As in :class:`TailoredLogisticRegression`.
    epsilon, prior, sampler, draws, fit_intercept, pos_label, n_jobs, random_state, verbose
        As in :class:`TailoredLogisticRegression`.

    Attributes
    ----------
    models_ : dict
        threshold -> fitted :class:`TailoredLogisticRegression`.
    standard_ : TailoredLogisticRegression
        Standard Bayes (discount 0) on all rows.
    thresholds_ : array
        In ascending order.
    discounts_ : dict
        threshold -> chosen discount.
    discount_table_ : DataFrame
        Of all thresholds.
    findings_ : tuple of Finding
        Of all thresholds; a finding that several share is named once.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(600, 2))
    >>> y = rng.uniform(size=600) < X[:, 1] / X.sum(axis=1)
    >>> family = TailoredFamily([0.3, 0.7], discount=10, random_state=0).fit(X, y)
    >>> family.risks(X).shape
    (600, 2)
    """

    def __init__(
        self,
        thresholds: Sequence[float] = (0.1, 0.2, 0.3, 0.4, 0.5),
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
        prior: Prior | None = None,
        sampler: str = "auto",
        draws: int = 4000,
        fit_intercept: bool = True,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.thresholds = thresholds
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
        self.prior = prior
        self.sampler = sampler
        self.draws = draws
        self.fit_intercept = fit_intercept
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
        """Fit a model a threshold; parameters as in :meth:`TailoredLogisticRegression.fit`."""
        advice = "pass target thresholds such as [0.1, 0.2, 0.5]"
        given = check_array(self.thresholds, "thresholds", ndim=(0, 1), advice=advice)
        thresholds = check_thresholds(np.atleast_1d(given))
        if len(np.unique(thresholds)) < len(thresholds):
            raise ValueError(f"thresholds must differ, got {np.sort(thresholds).tolist()}")
        x, checked = checked_rows(self, X, y, ensure_min_samples=2)
        training = self._training(x, checked, X, reference_risk, sample_weight, recalibrate)
        ordered = np.sort(thresholds).tolist()
        settings = self._alone()._posterior_settings()
        rng = generator(self.random_state)
        with progress_bar(self.verbose, step_count(settings, len(ordered) + 1)) as progress:
            fits, standard = fit_tailored(
                training, ordered, settings, rng, standard=True, progress=progress
            )
        assert standard is not None
        rows = (
            np.ones(len(training.y)) if training.sample_weight is None else training.sample_weight
        )
        plain = TailoredFit(Search(0.5, 0.0, None), None, rows, standard, standard.findings)
        self._keep(fits, plain)
        self._tell()
        return self

    def _alone(self) -> TailoredLogisticRegression:
        """Return the unfitted model of one threshold, with this family's parameters."""
        shared = self.get_params(deep=False)
        del shared["thresholds"]
        return TailoredLogisticRegression(**shared)

    def _keep(self, fits: Sequence[TailoredFit], standard: TailoredFit) -> None:
        self.thresholds_ = np.array([fit.search.threshold for fit in fits])
        self.models_ = {fit.search.threshold: self._model(self._alone(), fit) for fit in fits}
        self.standard_ = self._model(self._alone().set_params(discount=0), standard)
        self.discounts_ = {t: model.discount_ for t, model in self.models_.items()}
        once: dict[tuple[str, str], Finding] = {}
        for fit in fits:
            for finding in fit.findings:
                once.setdefault((finding.code, finding.message), finding)
        self.findings_ = tuple(once.values())

    def _model(
        self, model: TailoredLogisticRegression, fit: TailoredFit
    ) -> TailoredLogisticRegression:
        model.threshold = fit.search.threshold
        for name in ("classes_", "n_features_in_", "feature_names_in_", "_positive"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        model._keep(fit)
        return model

    def _searches(self) -> list[Search]:
        return [model.fit_.search for model in self.models_.values()]

    def _facts(self) -> dict[str, str]:
        chosen = ", ".join(f"{t:g}: {d:.3g}" for t, d in self.discounts_.items())
        codes = sorted({finding.code for finding in self.findings_})
        return {"discounts": chosen, "findings": ", ".join(codes) or "none"}

    def risks(self, X: Any) -> Floats:
        """Return the risk of each row under each threshold's model, (n, thresholds)."""
        check_is_fitted(self)
        return np.stack([model.risk(X) for model in self.models_.values()], axis=1)

    def decisions(self, X: Any) -> NDArray[Any]:
        """Return the decision of each row at each threshold, by its own model, (n, thresholds)."""
        check_is_fitted(self)
        return np.stack([model.predict(X) for model in self.models_.values()], axis=1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to one NetCDF file, without pickle; :func:`tailoredbayes.load` reads it."""
        save(self, path)

    def _fits(self) -> dict[str, TailoredFit]:
        models = {f"threshold_{t!r}": model.fit_ for t, model in self.models_.items()}
        return {**models, "standard": self.standard_.fit_}

    def _restore(self, fits: dict[str, TailoredFit]) -> None:
        tailored = [fit for name, fit in fits.items() if name != "standard"]
        self._keep(sorted(tailored, key=lambda fit: fit.search.threshold), fits["standard"])
