"""Fitting anew: a procedure run again on other rows, with seeds of its own."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from tailoredbayes.findings import TailoringWarning

__all__ = ["fit_anew", "seeded"]


def seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """Return an unfitted copy; every ``random_state`` that was left None has a seed.

    A frozen estimator (``sklearn.frozen.FrozenEstimator``) stays as it was fitted.

    >>> from sklearn.linear_model import LogisticRegression
    >>> copy = seeded(LogisticRegression(), np.random.default_rng(0))
    >>> copy.random_state is None, seeded(LogisticRegression(random_state=3), None).random_state
    (False, 3)
    """
    fresh = clone(estimator)
    open_seeds = [
        name
        for name, value in fresh.get_params().items()
        if name.rpartition("__")[2] == "random_state" and value is None
    ]
    fresh.set_params(**{name: int(rng.integers(2**31)) for name in open_seeds})
    return fresh


def fit_anew(estimator: Any, X: Any, y: ArrayLike, rng: np.random.Generator, **options: Any) -> Any:
    """Return a copy fitted to these rows; what it finds about itself is told to no one.

    Of the ``options`` the fit is given those that it takes and that are not None.
    """
    fresh = seeded(estimator, rng)
    taken = {
        name: value
        for name, value in options.items()
        if value is not None and has_fit_parameter(fresh, name)
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TailoringWarning)
        return fresh.fit(X, y, **taken)
