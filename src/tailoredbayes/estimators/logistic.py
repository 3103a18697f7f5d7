"""Tailored Bayesian logistic regression as a scikit-learn estimator."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tailoredbayes.checks import check_flag, check_threshold, check_whole_number
from tailoredbayes.estimators.base import (
    TailoredEstimator,
    checked_rows,
    generator,
    search_facts,
)
from tailoredbayes.fitting import Search, Settings, TailoredFit, fit_tailored, step_count
from tailoredbayes.inference.sampling import check_sampler
from tailoredbayes.predictive import decision_certainty, mean_risk, risk_draws, risk_interval
from tailoredbayes.priors import Prior
from tailoredbayes.progress import progress_bar
from tailoredbayes.selection import DEFAULT_RULE
from tailoredbayes.storage import save, storable

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["TailoredLogisticRegression"]

Floats = NDArray[np.float64]


@storable
class TailoredLogisticRegression(TailoredEstimator):
    """Bayesian logistic regression, tailored to the threshold at which it will be used.

    Rows count by how near their risk lies to the threshold: w = exp(-discount (pi_u - t)^2). The
    risk pi_u comes from a first model, the discount from cross-validated net benefit at t, and the
    posterior of the weighted likelihood is sampled [Karapanagiotis2021].

    Parameters
    ----------
    threshold : float
        The target threshold t, strictly between 0 and 1: treat when the risk is at least t. See
        :func:`tailoredbayes.target_threshold`.
    discount : float or "cv"
        lambda. A number; 0 is standard Bayes; "cv" chooses by cross-validation.
    discount_grid : array-like, optional
        Discounts to try; 0 is always added. By default 0 and eight log-spaced values up to 100,
        as far as enough weighted events remain.
    selection : {"one_se", "max", "smooth", "guarded"}
        The rule that chooses among them: the smallest discount whose net benefit is within a
        standard error of the highest; the highest mean net benefit (the paper's); the highest
        with the decision smoothed near the threshold; "smooth" where it beats standard Bayes by
        a standard error, and standard Bayes otherwise. docs/studies/selection.md has the
        evidence for the default.
    cv : int or splitter
        Stratified folds of the search.
    cv_repeats : int
        How often the folds are drawn anew; their net benefits are averaged.
    rounds : int
        Refinement rounds: the tailored model's own held-out risks take the place of pi_u and the
        search is repeated; round and discount are chosen together.
    reference : classifier, optional
        Stage 1. None: standard Bayesian logistic regression. Any classifier or pipeline with
        ``predict_proba``, fitted on ``X`` as given.
    design : {"crossfit", "split"} or float
        How rows serve both stages: out-of-fold on all of them; the paper's 20% for stage 1 and
        80% for stage 2; that share for stage 1.
    distance : {"squared", "absolute"} or callable
        h(pi_u, t).
    epsilon : float
        Distances up to epsilon count as 0.
    prior : prior, optional
        On every coefficient, the intercept too; None is ``Normal(0, 100)``.
    sampler : {"auto", "laplace", "importance", "nuts", "metropolis"}
        How the posterior is sampled; see :func:`tailoredbayes.sample`.
    draws : int
        Posterior draws in all.
    fit_intercept : bool
        Whether to fit one.
    pos_label : label, optional
        The event; by default the larger of the two labels.
    n_jobs : int, optional
        Processes for a ``reference`` of your own. The engine's own threads are not limited by it.
    random_state : int, RandomState, Generator or None
        Seeds the folds and the draws.
    verbose : int
        1 shows a progress bar on a terminal.

    Attributes
    ----------
    discount_ : float
        The discount of the final fit.
    discount_table_ : DataFrame
        Net benefit by round, discount, repeat and fold; empty if the discount was given.
    reference_risk_ : array (n,) or None
        pi_u behind the final weights; NaN for design rows; None when ``discount=0``.
    weights_ : array (n,)
        Final weights; 0 for design rows.
    effective_sample_size_ : float
        ESS_T, their sum.
    coef_ : array (1, d)
        Posterior means of the slopes.
    intercept_ : array (1,)
        Posterior mean of the intercept.
    posterior_ : xarray.DataTree
        Draws in ArviZ's layout.
    draws_ : Draws
        The same draws, as arrays.
    findings_ : tuple of Finding
        What the fit says about itself.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(600, 2))
    >>> y = rng.uniform(size=600) < X[:, 1] / X.sum(axis=1)
    >>> model = TailoredLogisticRegression(threshold=0.3, discount=10, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    >>> bool((model.predict(X) == (model.predict_proba(X)[:, 1] >= 0.3)).all())
    True
    """

    def __init__(
        self,
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
        prior: Prior | None = None,
        sampler: str = "auto",
        draws: int = 4000,
        fit_intercept: bool = True,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
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
        """Fit both stages.

        Parameters
        ----------
        X : array-like (n, d)
        y : array-like (n,) of two labels
        reference_risk : array-like (n,), optional
            pi_u from outside, such as a published score's risks; stage 1 is skipped.
        sample_weight : array-like (n,), optional
            Multiplies the tailoring weights, and counts in the net benefit.
        recalibrate : bool
            Whether to recalibrate ``reference_risk`` first (Cox: intercept and slope on the
            logit).
        """
        threshold = check_threshold(self.threshold)
        settings = self._posterior_settings()
        x, checked = checked_rows(self, X, y, ensure_min_samples=2)
        training = self._training(x, checked, X, reference_risk, sample_weight, recalibrate)
        rng = generator(self.random_state)
        with progress_bar(self.verbose, step_count(settings, 1)) as progress:
            (fit,), _ = fit_tailored(training, [threshold], settings, rng, progress=progress)
        self._keep(fit)
        self._tell()
        return self

    def _posterior_settings(self) -> Settings:
        return self._settings(
            prior=self.prior,
            sampler=check_sampler(self.sampler),
            draws=check_whole_number(self.draws, "draws", at_least=1),
            fit_intercept=check_flag(self.fit_intercept, "fit_intercept"),
        )

    def _keep(self, fit: TailoredFit) -> None:
        first = 1 if self.fit_intercept else 0
        mean = fit.draws.mean
        self.fit_ = fit
        self.draws_ = fit.draws
        self.discount_ = fit.search.discount
        self.reference_risk_ = fit.search.reference_risk
        self.weights_ = fit.weights
        self.effective_sample_size_ = float(fit.weights.sum())
        self.coef_ = mean[None, first:]
        self.intercept_ = mean[:first] if first else np.zeros(1)
        self.findings_ = fit.findings

    def _searches(self) -> list[Search]:
        return [self.fit_.search]

    def _facts(self) -> dict[str, str]:
        facts = search_facts(self.fit_.search, self.weights_, self.findings_)
        return {**facts, "sampler": self.draws_.sampler}

    @property
    def posterior_(self) -> xr.DataTree:
        """Draws as an xarray DataTree, for ArviZ."""
        check_is_fitted(self)
        return self.draws_.to_datatree()

    def _covariates(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        return np.asarray(checked_rows(self, X, reset=False))

    def risk(self, X: Any) -> Floats:
        """Posterior predictive mean of each row's risk of the event, (n,)."""
        return mean_risk(self._covariates(X), self.draws_.flat)

    def predict_proba(self, X: Any) -> Floats:
        """Posterior predictive mean risks: P(y = classes_[k] | x, data), (n, 2)."""
        return self._by_class(self.risk(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Decide: the event's label (treat) where the risk is at least the threshold."""
        return self._decide(self.risk(X), check_threshold(self.threshold))

    def decision_function(self, X: Any) -> Floats:
        """Logit of the risk less that of the threshold: treat at 0 and above."""
        return self._margin(self.risk(X), check_threshold(self.threshold))

    def risk_draws(self, X: Any) -> Floats:
        """Each row's risk under each posterior draw, (n, draws)."""
        return risk_draws(self._covariates(X), self.draws_.flat)

    def risk_interval(self, X: Any, prob: float = 0.9) -> Floats:
        """Equal-tailed posterior interval of each row's risk, (n, 2)."""
        return risk_interval(self._covariates(X), self.draws_.flat, prob)

    def decision_certainty(self, X: Any) -> Floats:
        """P(risk >= threshold | data) of each row, (n,)."""
        return decision_certainty(self._covariates(X), self.draws_.flat, self.threshold)

    def summary(self, prob: float = 0.9) -> pd.DataFrame:
        """Table of the coefficients: mean, sd, interval and how well the draws know them."""
        check_is_fitted(self)
        return self.draws_.summary(prob)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to one NetCDF file, without pickle; :func:`tailoredbayes.load` reads it."""
        save(self, path)

    def _fits(self) -> dict[str, TailoredFit]:
        return {"": self.fit_}

    def _restore(self, fits: dict[str, TailoredFit]) -> None:
        self._keep(fits[""])
