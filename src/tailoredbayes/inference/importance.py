"""Importance sampling: draws around the mode turned into posterior draws.

Draws theta = mode + R z are reweighted by r = p(theta | D) / q(theta), the largest weights are
smoothed by a generalised Pareto fit whose shape k-hat says how far to trust them [Vehtari2024],
and the draws are resampled to equal weight. What makes that cheap and safe:

- z is standard normal where nearly all such draws count. Elsewhere it is Student-t: the tails of a
  logistic posterior fall off like exp(-|theta|), slower than any normal, and a proposal with
  lighter tails than its target misses the rare draws that matter most.
- z comes in antithetic pairs (z, -z), next to each other in a chain: where the posterior is near
  normal the errors of a pair's means cancel, and the effective sample size, which sees
  neighbouring draws disagree, says so.
- Close to the mode the log-likelihood is a polynomial in z to the accuracy that the weights need,
  so thousands of draws cost a few passes over the rows (:mod:`tailoredbayes.expansion`).
- Resampling is systematic: a draw of weight w is kept floor(Sw) or ceil(Sw) times, in order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.expansion import NearMode
from tailoredbayes.inference.draws import Chains, chain_count
from tailoredbayes.inference.laplace import Approximation
from tailoredbayes.posterior import TailoredPosterior

__all__ = ["draw", "systematic_resample"]

Floats = NDArray[np.float64]

# Normal proposals are kept when they are worth this share of their number (Kish's effective
# sample size); short of it, their tail is where the trouble is.
_NEAR_NORMAL = 0.95
# Degrees of freedom of the others: of 4, 6, 10 and 30, those between lost least to their tails on
# near-normal posteriors and gained most on skewed ones (rare events, few rows, a dozen covariates).
_DF = 8.0
# Those come in batches of as many as the draws asked for, until they are worth this share of the
# draws, and at most this many batches.
_WORTH, _MOST_BATCHES = 0.9, 6
# Log weights that differ by less are alike to rounding: a posterior that is normal has no tail.
_ALIKE = 1e-9
# The fewest proposals whose largest weights make a tail to fit.
_FEWEST = 100


def draw(
    posterior: TailoredPosterior,
    column: int,
    approximation: Approximation,
    *,
    draws: int,
    rng: np.random.Generator,
) -> Chains:
    """Draw from the posterior by Pareto-smoothed importance resampling."""
    around_mode = NearMode(posterior, column, approximation.mode, approximation.root)

    def propose(df: float) -> tuple[Floats, Floats]:
        z, log_density = _proposals(max(draws, _FEWEST), posterior.n_coefficients, df, rng)
        log_ratio = around_mode.log_density(z) - approximation.value - log_density
        return approximation.mode + z @ approximation.root.T, log_ratio

    batches = [propose(np.inf)]
    weights, k_hat = _smoothed(batches)
    df = np.inf
    if _kish(weights) < _NEAR_NORMAL * len(weights):
        df, batches = _DF, []
        for _ in range(_MOST_BATCHES):
            batches.append(propose(df))
            weights, k_hat = _smoothed(batches)
            if _kish(weights) >= _WORTH * draws:
                break
    kept = systematic_resample(weights, draws, rng)
    theta = np.concatenate([theta for theta, _ in batches])[kept]
    chains = chain_count(draws)
    return Chains(
        theta.reshape(chains, draws // chains, -1),
        facts={
            "k_hat": k_hat,
            "proposals": float(len(weights)),
            "proposal_df": df,
            "importance_ess": _kish(weights),
            "distinct_draws": 1.0 + np.count_nonzero(np.diff(kept)),  # they are in order
        },
    )


def _proposals(draws: int, p: int, df: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Standard Student-t (or normal) draws (draws, p) in pairs z, -z, and their log-density."""
    half = rng.standard_normal(((draws + 1) // 2, p))
    if np.isfinite(df):
        half *= np.sqrt(df / rng.chisquare(df, size=(len(half), 1)))
    z = np.stack([half, -half], axis=1).reshape(-1, p)[:draws]
    square = (z * z).sum(axis=1)
    if np.isfinite(df):
        return z, -0.5 * (df + p) * np.log1p(square / df)
    return z, -0.5 * square


def _smoothed(batches: list[tuple[Floats, Floats]]) -> tuple[Floats, float]:
    """Pareto-smoothed weights of all proposals, summing to one, and k-hat."""
    from arviz_stats.base import array_stats

    log_ratio = np.concatenate([ratio for _, ratio in batches])
    if np.ptp(log_ratio) < _ALIKE:
        return np.full(len(log_ratio), 1 / len(log_ratio)), 0.0
    # psislw was made for leave-one-out: it takes minus the log ratios.
    log_weight, k_hat = array_stats.psislw(-log_ratio)
    weights = np.exp(np.asarray(log_weight, dtype=np.float64))
    return weights / weights.sum(), float(k_hat)


def _kish(weights: Floats) -> float:
    return float(1 / (weights @ weights))


def systematic_resample(weights: Floats, draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return ``draws`` indices, each i about ``draws * weights[i]`` times, in order.

    >>> systematic_resample(np.array([0.5, 0.25, 0.25]), 4, np.random.default_rng(0))
    array([0, 0, 1, 2])
    """
    points = (np.arange(draws) + rng.random()) / draws
    # Rounding may leave the last cumulative weight a little below 1.
    found = np.searchsorted(np.cumsum(weights), points, side="right")
    return np.asarray(np.minimum(found, len(weights) - 1), dtype=np.intp)
