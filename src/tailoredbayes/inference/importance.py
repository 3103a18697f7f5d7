"""Importance sampling: Laplace draws turned into posterior draws.

Draws theta = mode + R z are reweighted by r = p(theta | D) / normal(theta), the largest weights are
smoothed by a generalised Pareto fit whose shape k-hat says how far to trust them [Vehtari2024],
and the draws are resampled to equal weight. Two things keep the noise low at no cost:

- z comes in antithetic pairs (z, -z), next to each other in a chain: where the posterior is near
  normal the errors of a pair's means cancel, and the effective sample size, which sees
  neighbouring draws disagree, says so;
- resampling is systematic: a draw of weight w is kept floor(Sw) or ceil(Sw) times, in order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.inference.draws import Chains, chain_count
from tailoredbayes.inference.laplace import Approximation
from tailoredbayes.posterior import TailoredPosterior

__all__ = ["draw", "systematic_resample"]

Floats = NDArray[np.float64]

# Proposals come in batches of as many as the draws asked for, until they are worth this share of
# them (Kish's effective sample size), and at most this many batches.
_WORTH, _MOST_BATCHES = 0.9, 4


def draw(
    posterior: TailoredPosterior,
    column: int,
    approximation: Approximation,
    *,
    draws: int,
    rng: np.random.Generator,
) -> Chains:
    """Draw from the posterior by Pareto-smoothed importance resampling of Laplace draws."""
    from arviz_stats.base import array_stats

    proposals, log_ratios = [], []
    smoothed, k_hat, kish = np.zeros(0), np.inf, 0.0
    for _ in range(_MOST_BATCHES):
        z = _antithetic(draws, posterior.n_coefficients, rng)
        theta = approximation.mode + z @ approximation.root.T
        value = posterior.evaluate(np.ascontiguousarray(theta.T), column, order=0).value
        proposals.append(theta)
        log_ratios.append(value - approximation.value + 0.5 * (z * z).sum(axis=1))
        # psislw was made for leave-one-out: it takes minus the log ratios.
        log_weight, shape = array_stats.psislw(-np.concatenate(log_ratios))
        smoothed, k_hat = np.exp(np.asarray(log_weight)), float(shape)
        smoothed /= smoothed.sum()
        kish = float(1 / (smoothed @ smoothed))
        if kish >= _WORTH * draws:
            break
    kept = systematic_resample(smoothed, draws, rng)
    theta = np.concatenate(proposals)[kept]
    chains = chain_count(draws)
    return Chains(
        theta.reshape(chains, draws // chains, -1),
        facts={
            "k_hat": k_hat,
            "proposals": float(len(smoothed)),
            "importance_ess": kish,
            "distinct_draws": float(len(np.unique(kept))),
        },
    )


def _antithetic(draws: int, p: int, rng: np.random.Generator) -> Floats:
    """Standard normal draws (draws, p) in neighbouring pairs z, -z."""
    half = rng.standard_normal(((draws + 1) // 2, p))
    return np.stack([half, -half], axis=1).reshape(-1, p)[:draws]


def systematic_resample(weights: Floats, draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return ``draws`` indices, each i about ``draws * weights[i]`` times, in order.

    >>> systematic_resample(np.array([0.5, 0.25, 0.25]), 4, np.random.default_rng(0))
    array([0, 0, 1, 2])
    """
    points = (np.arange(draws) + rng.random()) / draws
    # Rounding may leave the last cumulative weight a little below 1.
    found = np.searchsorted(np.cumsum(weights), points, side="right")
    return np.asarray(np.minimum(found, len(weights) - 1), dtype=np.intp)
