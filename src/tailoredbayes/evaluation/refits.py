"""Fitting anew: a procedure run again on other rows, with seeds of its own."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from tailoredbayes.findings import TailoringWarning

__all__ = ["fit_anew", "seeded", "takes"]


def seeded(estimator: Any, rng: np.random.Generator, *, overrule: bool = False) -> Any:
    """Return an unfitted copy; every ``random_state`` that was left None has a seed.

    To ``overrule`` gives a new seed to those that had one, too. A frozen estimator
    (``sklearn.frozen.FrozenEstimator``) stays as it was fitted.

    >>> from sklearn.linear_model import LogisticRegression
    >>> model, rng = LogisticRegression(random_state=3), np.random.default_rng(0)
    >>> seeded(model, rng).random_state, seeded(model, rng, overrule=True).random_state != 3
    (3, True)
    """
    fresh = clone(estimator)
    open_seeds = [
        name
        for name, value in fresh.get_params().items()
        if name.rpartition("__")[2] == "random_state" and (overrule or value is None)
    ]
    fresh.set_params(**{name: int(rng.integers(2**31)) for name in open_seeds})
    return fresh


def fit_anew(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    rng: np.random.Generator,
    *,
    overrule: bool = False,
    **options: Any,
) -> Any:
    """Return a copy fitted to these rows; what it finds about itself is told to no one.

    Of the ``options`` the fit is given those that it takes and that are not None; a pipeline hands
    them to its last step.
    """
    fresh = seeded(estimator, rng, overrule=overrule)
    given = {name: value for name, value in options.items() if value is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TailoringWarning)
        return fresh.fit(X, y, **_taken(fresh, given))


def takes(estimator: Any, option: str) -> bool:
    """Say whether a fit, or that of a pipeline's last step, takes an option.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> takes(make_pipeline(LogisticRegression()), "sample_weight")
    True
    """
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return bool(has_fit_parameter(last, option))


def _taken(estimator: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the options that a fit takes, by the names it knows them by."""
    step = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    return {step + name: value for name, value in given.items() if takes(estimator, name)}
