"""Simulation-based calibration [Talts2018] of every sampler, where the model generates data.

Coefficients come from the prior, outcomes from the coefficients; among draws from the posterior of
those outcomes the coefficients' ranks are uniform. Only weights of one generate data.
"""

import numpy as np
import pytest
from scipy import stats
from yardsticks import FAILURE_RATE

from tailoredbayes import Normal, TailoredPosterior, sample

PRIOR = Normal(0, 1)
KEPT = 19  # draws kept: ranks 0 to 19
BINS = 20


def ranks(sampler, replications, n, step, *, seed, prior=PRIOR):
    """Ranks (replications, coefficients) of the truth among KEPT nearly independent draws."""
    rng = np.random.default_rng(seed)
    found = np.empty((replications, 2), dtype=int)
    for i in range(replications):
        beta = rng.normal(0, 1, 2)
        while True:
            x = rng.standard_normal((n, 1))
            y = rng.random(n) < 1 / (1 + np.exp(-(beta[0] + beta[1] * x[:, 0])))
            if y.any() and not y.all():
                break
            # Leaving out single-class samples would bend the posterior: with n rows of these
            # coefficients they are too rare to be seen (about 1 in 1000 for n = 40).
            beta = rng.normal(0, 1, 2)
        drawn = sample(
            TailoredPosterior(x, y, prior=prior),
            sampler,
            draws=KEPT * step,
            random_state=rng,
            warn=False,
        )
        found[i] = (drawn.flat[::step][:KEPT] < beta).sum(axis=0)
    return found


def p_values(found):
    counts = np.stack([np.bincount(column, minlength=BINS) for column in found.T])
    return stats.chisquare(counts, axis=1).pvalue


def assert_uniform(found):
    # Too even is as suspicious as too uneven: draws that repeat the truth's own quantiles.
    p = p_values(found)
    level = FAILURE_RATE / len(p) / 2
    assert (p > level).all(), p
    assert (p < 1 - level).all(), p


# Importance draws come in antithetic pairs: an even step takes one of each pair.


def test_importance_is_calibrated():
    assert_uniform(ranks("importance", 200, 40, 40, seed=1))


def test_a_wrong_prior_is_seen():
    found = ranks("importance", 200, 40, 40, seed=1, prior=Normal(0, 0.4))
    assert p_values(found).min() < FAILURE_RATE / 100


@pytest.mark.slow
def test_importance_is_calibrated_in_many_replications():
    assert_uniform(ranks("importance", 1000, 40, 40, seed=6))


@pytest.mark.slow
def test_laplace_is_calibrated_where_it_holds():
    # An approximation: with 1000 rows its error is a few hundredths of an sd, which 1000
    # replications cannot see.
    assert_uniform(ranks("laplace", 1000, 1000, 2, seed=3))


@pytest.mark.slow
def test_metropolis_is_calibrated():
    assert_uniform(ranks("metropolis", 300, 40, 16, seed=4))


@pytest.mark.slow
def test_nuts_is_calibrated():
    assert_uniform(ranks("nuts", 150, 40, 4, seed=5))
