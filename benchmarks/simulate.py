"""Data for the benchmarks: a logistic model, its true risks as the reference risk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import tailoredbayes as tb

__all__ = ["DISCOUNT", "THRESHOLD", "Problem", "fold_weights", "perturbed", "problem"]

Floats = NDArray[np.float64]

THRESHOLD, DISCOUNT = 0.2, 5.0
# Made a chunk at a time, so that making the data takes little more memory than the data.
_CHUNK = 50_000


@dataclass(frozen=True)
class Problem:
    """Covariates (n, d), outcomes (n,), risks (n,) and tailoring weights (n,)."""

    x: Floats
    y: NDArray[np.int64]
    risk: Floats
    weights: Floats


def problem(n: int, d: int, seed: int = 1) -> Problem:
    """Simulate n rows: standard normal covariates, a linear predictor of variance 2, mean -1."""
    rng = np.random.default_rng(seed)
    slope = rng.standard_normal(d)
    slope *= np.sqrt(2 / (slope @ slope))
    x, risk, weights = np.empty((n, d)), np.empty(n), np.empty(n)
    y = np.empty(n, dtype=np.int64)
    for start in range(0, n, _CHUNK):
        rows = slice(start, min(start + _CHUNK, n))
        rng.standard_normal(out=x[rows])
        risk[rows] = 1 / (1 + np.exp(1 - x[rows] @ slope))
        y[rows] = rng.random(len(y[rows])) < risk[rows]
        weights[rows] = tb.tailoring_weights(risk[rows], THRESHOLD, DISCOUNT)
    return Problem(x, y, risk, weights)


def perturbed(risk: Floats, sd: float, seed: int = 4) -> Floats:
    """Return another model's risks: normal noise of this size on the linear predictor."""
    noise = sd * np.random.default_rng(seed).standard_normal(len(risk))
    return 1 / (1 + np.exp(noise) * (1 - risk) / risk)


def fold_weights(risk: Floats, discounts: int, folds: int, seed: int = 2) -> Floats:
    """Return weights (n, folds * discounts): each fold's own rows are left out by a weight of 0.

    The discounts are 0 and a log-spaced grid from 1 to 100.
    """
    grid = np.concatenate([[0.0], np.geomspace(1, 100, discounts - 1)])
    tailoring = np.stack([tb.tailoring_weights(risk, THRESHOLD, each) for each in grid], axis=1)
    fold = np.random.default_rng(seed).permutation(len(risk)) % folds
    return np.concatenate([tailoring * (fold != k)[:, None] for k in range(folds)], axis=1)
