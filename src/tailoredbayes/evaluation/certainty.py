"""How many decisions a model leaves uncertain, threshold by threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing as take_rows

from tailoredbayes.checks import FloatArray, check_number, check_thresholds

__all__ = ["uncertain_shares"]

_ROWS = 512  # whose draws are held at a time


def uncertain_shares(
    model: Any,
    X: Any,
    thresholds: ArrayLike,
    *,
    uncertain: float = 0.9,
    sample_weight: ArrayLike | None = None,
) -> FloatArray:
    """Return the share of patients whose decision is uncertain, at each threshold.

    A decision is uncertain where the posterior probability that it is the one the true risk asks
    for is below the level, as in :func:`patients`.

    Parameters
    ----------
    model
        A fitted model with draws, used at every threshold, or a family, of which each threshold
        takes its own model.
    X
        Covariates of the patients.
    thresholds
        t, one or several; a family must have a model for each.
    uncertain
        Certainty that a decision must reach, from 0.5 up to but not including 1.
    sample_weight
        Weight per patient.

    Returns
    -------
    ndarray of shape (thresholds,)

    Examples
    --------
    Risks of 0.02 and of 0.08 to 0.4; of the second's treatment at 0.1 three draws of four are in
    favour, at 0.5 none:

    >>> class Model:
    ...     def risk_draws(self, X):
    ...         return np.array([[0.01, 0.02, 0.03, 0.02], [0.08, 0.2, 0.3, 0.4]])[X]
    >>> uncertain_shares(Model(), np.arange(2), [0.1, 0.5])
    array([0.5, 0. ])
    """
    level = check_number(
        uncertain, "uncertain", at_least=0.5, below=1, advice="0.9 flags those below 90%"
    )
    t = np.atleast_1d(check_thresholds(np.asarray(thresholds)))
    family = getattr(model, "models_", None)
    n = len(X) if hasattr(X, "__len__") else X.shape[0]
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if family is None:
        return _shares(model, X, t, level, weight)
    own = {round(key, 9): one for key, one in family.items()}
    missing = [one for one in t.tolist() if round(one, 9) not in own]
    if missing:
        raise ValueError(
            f"the family has no model for the threshold {missing[0]:g}, only for "
            f"{', '.join(f'{key:g}' for key in family)}"
        )
    shares = []
    for one in t.tolist():
        fitted = own[round(one, 9)]
        certainty, risk = fitted.decision_certainty(X), fitted.risk(X)
        shares.append(weight @ (np.where(risk >= one, certainty, 1 - certainty) < level))
    return np.asarray(np.array(shares) / weight.sum())


def _shares(
    model: Any, X: Any, thresholds: FloatArray, level: float, weight: FloatArray
) -> FloatArray:
    total = np.zeros(len(thresholds))
    for start in range(0, len(weight), _ROWS):
        rows = np.arange(start, min(len(weight), start + _ROWS))
        draws = np.asarray(model.risk_draws(take_rows(X, rows)))
        risk = draws.mean(axis=1)
        for place, t in enumerate(thresholds):
            treated = (draws >= t).mean(axis=1)
            certain = np.where(risk >= t, treated, 1 - treated)
            total[place] += weight[rows] @ (certain < level)
    return np.asarray(total / weight.sum())
