"""Every sampler under every prior draws the posterior that quadrature finds."""

import numpy as np
import pytest
from yardsticks import critical_z, mean_errors, quadrature, sd_errors

from tailoredbayes import (
    Laplace,
    LogDensity,
    Normal,
    StudentT,
    TailoredPosterior,
    find_modes,
    sample,
    tailoring_weights,
)

PRIORS = {
    "normal": Normal(0.5, 1.5),
    "vague": Normal(0, 100),
    "student": StudentT(3, 0, 1),
    "cauchy": StudentT(1, 0, 1),
    "laplace": Laplace(0, 0.5),
    "own": LogDensity(
        lambda b: -0.1 * float((b**4).sum()) + float(b.sum()), lambda b: -0.4 * b**3 + 1
    ),
}
EXACT = ["importance", "nuts", "metropolis"]
DRAWS = {"importance": 20_000, "nuts": 8000, "metropolis": 16_000}


def tailored(p, prior, n=80, seed=0):
    """A small skewed posterior of p coefficients under weights from exp(-20 (pi_u - 0.3)^2)."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 1))
    risk = 1 / (1 + np.exp(-(x[:, 0] - 0.8)))
    y = (rng.random(n) < risk).astype(int)
    weights = tailoring_weights(risk, 0.3, 20)
    assert 0.3 < weights.mean() < 0.8
    return TailoredPosterior(x, y, weights=weights, prior=prior, fit_intercept=p == 2)


@pytest.mark.parametrize(
    ("sampler", "p"),
    [
        ("importance", 1),
        ("importance", 2),
        ("metropolis", 1),
        ("nuts", 1),
        pytest.param("metropolis", 2, marks=pytest.mark.slow),
        pytest.param("nuts", 2, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", PRIORS)
def test_means_and_sds_are_those_of_quadrature(name, sampler, p):
    posterior = tailored(p, PRIORS[name])
    # A kink costs the trapezoidal rule its speed: more nodes where there is one.
    mean, sd, _ = quadrature(posterior, nodes=2001 if p == 1 else 501 if name == "laplace" else 121)
    drawn = sample(posterior, sampler, draws=DRAWS[sampler], random_state=11, warn=False)
    assert drawn.sampler == sampler
    critical = critical_z(comparisons=4)
    assert np.abs(mean_errors(drawn, mean)).max() < critical
    assert np.abs(sd_errors(drawn, mean, sd)).max() < critical
    # And the draws are enough for that to mean something: errors are a few hundredths of an sd.
    assert (drawn.mcse() < 0.03 * sd).all()


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("name", PRIORS)
def test_laplace_draws_are_those_of_the_normal_it_claims(name, p):
    posterior = tailored(p, PRIORS[name])
    approximation = find_modes(posterior).approximation()
    drawn = sample(posterior, "laplace", draws=20_000, random_state=11, warn=False)
    sd = np.sqrt(np.diag(approximation.covariance))
    critical = critical_z(comparisons=4)
    assert np.abs(mean_errors(drawn, approximation.mode)).max() < critical
    assert np.abs(sd_errors(drawn, approximation.mode, sd)).max() < critical


@pytest.mark.parametrize("name", PRIORS)
def test_laplace_is_close_to_quadrature_for_many_rows(name):
    # The skewness of the posterior moves its mean from its mode by some sd / sqrt(n_eff); with
    # 4000 rows, half of their weight kept, that is a fiftieth of an sd. A fifteenth is allowed.
    posterior = tailored(2, PRIORS[name], n=4000)
    mean, sd, _ = quadrature(posterior, nodes=101)
    approximation = find_modes(posterior).approximation()
    claimed = np.sqrt(np.diag(approximation.covariance))
    assert (np.abs(approximation.mode - mean) < sd / 15).all()
    assert (np.abs(claimed / sd - 1) < 1 / 30).all()


def test_quadrature_is_right_about_a_normal():
    silent = TailoredPosterior(
        np.zeros((2, 2)), [0, 1], prior=Normal([1, -2], [3, 0.1]), fit_intercept=False
    )
    mean, sd, fourth = quadrature(silent, nodes=101)
    np.testing.assert_allclose(mean, [1, -2], rtol=1e-9)
    np.testing.assert_allclose(sd, [3, 0.1], rtol=1e-9)
    np.testing.assert_allclose(fourth, [3 * 81, 3e-4], rtol=1e-9)


# --- Separated --------------------------------------------------------------------------------

TWELVE = np.array([*range(-6, 0), *range(1, 7)], dtype=float)[:, None]


@pytest.mark.slow
def test_the_separated_example_by_quadrature_and_nuts():
    # 12 points split at 0 under the paper's prior: the mode of the slope is near 19, its mean 113.
    posterior = TailoredPosterior(TWELVE, TWELVE[:, 0] > 0, prior=Normal(0, 100))
    a = np.linspace(-600, 600, 1201)
    b = np.linspace(-50, 650, 1401)
    grid = np.stack([g.ravel() for g in np.meshgrid(a, b, indexing="ij")])
    log_density = np.concatenate(
        [
            posterior.evaluate(np.ascontiguousarray(part), 0, order=0).value
            for part in np.array_split(grid, 20, axis=1)
        ]
    )
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    mean = grid @ weight
    sd = np.sqrt((grid - mean[:, None]) ** 2 @ weight)
    assert mean[1] == pytest.approx(112.857, abs=0.01)
    assert sd[1] == pytest.approx(60.27, abs=0.01)

    drawn = sample(posterior, draws=4000, random_state=5, warn=False)
    assert (drawn.sampler, drawn.requested) == ("nuts", "auto")
    codes = [finding.code for finding in drawn.findings]
    assert "separation" in codes
    assert "laplace-refused" in codes
    critical = critical_z(comparisons=4)
    assert np.abs(mean_errors(drawn, mean)).max() < critical
    assert np.abs(sd_errors(drawn, mean, sd)).max() < critical
    assert find_modes(posterior).theta[1, 0] < 25
