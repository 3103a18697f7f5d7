"""Beyond quadrature: samplers against each other, weights against repeated rows."""

import itertools

import numpy as np
import pytest
from yardsticks import critical_z

from tailoredbayes import Normal, StudentT, TailoredPosterior, sample, tailoring_weights

EXACT = ["importance", "nuts", "metropolis"]


def differences(a, b):
    """Differences of means and of second moments, in their Monte Carlo standard errors."""
    from arviz_stats.base import array_stats

    centre = (a.mean + b.mean) / 2
    out = [(a.mean - b.mean) / np.hypot(a.mcse(), b.mcse())]
    squares = [(draws.values - centre) ** 2 for draws in (a, b)]
    errors = [array_stats.mcse(s, chain_axis=0, draw_axis=1) for s in squares]
    out.append((squares[0].mean(axis=(0, 1)) - squares[1].mean(axis=(0, 1))) / np.hypot(*errors))
    return np.concatenate(out)


@pytest.mark.parametrize(
    "prior",
    [Normal(0, 100), pytest.param(StudentT(3, 0, 1), marks=pytest.mark.slow)],
    ids=["normal", "student"],
)
def test_samplers_agree_on_six_coefficients(prior):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((250, 5))
    risk = 1 / (1 + np.exp(-(x @ [1, -0.5, 0.5, 0, 0] - 1)))
    y = (rng.random(250) < risk).astype(int)
    posterior = TailoredPosterior(x, y, weights=tailoring_weights(risk, 0.25, 10), prior=prior)
    drawn = [sample(posterior, s, draws=8000, random_state=3, warn=False) for s in EXACT]
    critical = critical_z(comparisons=3 * 12)
    for a, b in itertools.combinations(drawn, 2):
        assert np.abs(differences(a, b)).max() < critical, (a.sampler, b.sampler)


@pytest.mark.parametrize(
    "sampler",
    ["laplace", "importance", "metropolis", pytest.param("nuts", marks=pytest.mark.slow)],
)
def test_integer_weights_draw_what_repeated_rows_draw(sampler):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 2))
    y = (rng.random(60) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    counts = rng.integers(0, 4, 60)
    weighted = TailoredPosterior(x, y, weights=counts.astype(float))
    repeated = TailoredPosterior(np.repeat(x, counts, axis=0), np.repeat(y, counts))
    a, b = (
        sample(posterior, sampler, draws=8000, random_state=seed, warn=False)
        for posterior, seed in ((weighted, 1), (repeated, 2))
    )
    assert np.abs(differences(a, b)).max() < critical_z(comparisons=6)
    # Half the weights is another posterior, and the test can tell.
    half = TailoredPosterior(x, y, weights=counts / 2)
    c = sample(half, sampler, draws=8000, random_state=3, warn=False)
    assert np.abs(differences(a, c)).max() > 3 * critical_z(comparisons=6)
