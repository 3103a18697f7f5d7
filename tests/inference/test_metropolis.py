"""The random walk: tuned to its target, frozen after warm-up, chains apart."""

import numpy as np
import pytest
from scipy import stats

from tailoredbayes import Normal, TailoredPosterior, find_modes
from tailoredbayes.inference import metropolis


def prior_alone(p):
    """Silent data: the posterior is the standard normal prior in p dimensions."""
    return TailoredPosterior(np.zeros((2, p)), [0, 1], prior=Normal(0, 1), fit_intercept=False)


def drawn(posterior, draws=4000, seed=0):
    approximation = find_modes(posterior).approximation()
    rng = np.random.default_rng(seed)
    return metropolis.draw(posterior, 0, approximation, draws=draws, rng=rng)


@pytest.mark.parametrize("p", [2, 5, 12])
def test_about_a_quarter_of_the_proposals_is_accepted(p):
    chains = drawn(prior_alone(p))
    assert chains.facts["acceptance"] == pytest.approx(0.24, abs=0.04)
    assert chains.facts["thin"] == 2 * p


def test_the_tuned_scale_is_the_known_optimum():
    # A normal target in p dimensions takes 2.38 / sqrt(p) for an acceptance of about 0.24.
    chains = drawn(prior_alone(10))
    assert chains.facts["proposal_scale"] == pytest.approx(2.38 / np.sqrt(10), rel=0.15)


def test_draws_of_a_normal_are_normal():
    chains = drawn(prior_alone(3), draws=8000)
    assert chains.theta.shape == (8, 1000, 3)
    thinned = chains.theta[:, ::10].reshape(-1, 3)  # near independence
    for j in range(3):
        assert stats.kstest(thinned[:, j], "norm").pvalue > 1e-4


def test_the_density_kept_is_the_density_of_the_draws():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100, 2))
    y = (rng.random(100) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    posterior = TailoredPosterior(x, y)
    chains = drawn(posterior, draws=80)
    for chain in range(chains.theta.shape[0]):
        for i in range(0, chains.theta.shape[1], 3):
            value = posterior.log_density(chains.theta[chain, i])
            assert chains.statistics["lp"][chain, i] == pytest.approx(value, rel=1e-12)


def test_chains_differ():
    chains = drawn(prior_alone(3), draws=80)
    assert len({chain.tobytes() for chain in chains.theta}) == 8


def test_rejected_proposals_repeat_the_point():
    # Kept every 2p = 2 steps at an acceptance near 0.44 in one dimension: repeats are frequent.
    theta = drawn(prior_alone(1), draws=2000).theta[:, :, 0]
    repeats = (theta[:, 1:] == theta[:, :-1]).mean()
    assert 0.3 < repeats < 0.8
