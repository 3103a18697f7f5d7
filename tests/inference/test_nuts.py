"""NUTS: whitened, started around the mode, one stream a seed."""

import numpy as np
import pytest
from scipy import stats

from tailoredbayes import Normal, TailoredPosterior, find_modes
from tailoredbayes.inference import nuts


def drawn(posterior, draws=1000, seed=0):
    approximation = find_modes(posterior).approximation()
    return nuts.draw(posterior, 0, approximation, draws=draws, rng=np.random.default_rng(seed))


def test_draws_of_a_normal_in_any_units_are_that_normal():
    sd = np.array([1.0, 1e-6, 1e6])
    posterior = TailoredPosterior(
        np.zeros((2, 3)), [0, 1], prior=Normal([1, 2e-6, -3e6], sd), fit_intercept=False
    )
    chains = drawn(posterior, draws=4000)
    assert chains.theta.shape == (4, 1000, 3)
    assert chains.facts["divergences"] == 0
    z = (chains.theta / sd - [1, 2, -3])[:, ::4].reshape(-1, 3)
    for j in range(3):
        assert stats.kstest(z[:, j], "norm").pvalue > 1e-4


def test_the_statistics_have_an_entry_a_draw():
    x = np.random.default_rng(0).standard_normal((50, 1))
    posterior = TailoredPosterior(x, np.arange(50) % 2, prior=Normal(0, 1))
    chains = drawn(posterior, draws=400)
    assert chains.statistics["diverging"].shape == (4, 100)
    assert chains.statistics["n_steps"].shape == (4, 100)
    assert chains.statistics["n_steps"].min() >= 1


def test_a_seed_is_a_stream():
    x = np.random.default_rng(0).standard_normal((50, 1))
    posterior = TailoredPosterior(x, np.arange(50) % 2, prior=Normal(0, 1))
    one, same, other = (drawn(posterior, 40, seed).theta for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()
    assert len({chain.tobytes() for chain in one}) == 4


@pytest.mark.parametrize("draws", [1, 7])
def test_any_number_of_draws(draws):
    x = np.random.default_rng(0).standard_normal((50, 1))
    posterior = TailoredPosterior(x, np.arange(50) % 2, prior=Normal(0, 1))
    assert drawn(posterior, draws).theta.reshape(-1, 2).shape == (draws, 2)
