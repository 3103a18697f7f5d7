"""Importance sampling: pairs, resampling, weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tailoredbayes import Normal, StudentT, TailoredPosterior, find_modes
from tailoredbayes.inference import importance


@given(
    arrays(float, st.integers(1, 40), elements=st.floats(0, 1)).filter(lambda w: w.sum() > 0),
    st.integers(1, 100),
    st.integers(0, 100),
)
def test_each_draw_is_kept_its_share_rounded_down_or_up(weights, draws, seed):
    weights = weights / weights.sum()
    kept = importance.systematic_resample(weights, draws, np.random.default_rng(seed))
    assert len(kept) == draws
    assert (np.diff(kept) >= 0).all()
    counts = np.bincount(kept, minlength=len(weights))
    expected = draws * weights
    assert (counts >= np.floor(expected - 1e-9)).all()
    assert (counts <= np.ceil(expected + 1e-9)).all()


def test_resampling_is_unbiased():
    weights = np.array([0.05, 0.4, 0.25, 0.3])
    rng = np.random.default_rng(0)
    counts = sum(
        np.bincount(importance.systematic_resample(weights, 3, rng), minlength=4)
        for _ in range(4000)
    )
    # Each count is floor or ceil of 3 w: its error is at most 1/2 a round.
    assert np.abs(counts / 4000 - 3 * weights).max() < 5 * 0.5 / np.sqrt(4000)


@pytest.fixture(scope="module")
def posterior():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((150, 2))
    y = (rng.random(150) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    return TailoredPosterior(x, y, prior=Normal(0, 2))


def drawn(posterior, draws=4000, seed=0):
    approximation = find_modes(posterior).approximation()
    rng = np.random.default_rng(seed)
    return approximation, importance.draw(posterior, 0, approximation, draws=draws, rng=rng)


def test_a_normal_posterior_keeps_every_draw_in_pairs_about_the_mode():
    # Silent data: the posterior is the normal prior, all weights are equal.
    flat = TailoredPosterior(
        np.zeros((2, 2)), [0, 1], prior=Normal([1, 2], [3, 0.1]), fit_intercept=False
    )
    approximation, chains = drawn(flat)
    assert chains.theta.shape == (4, 1000, 2)
    assert chains.facts["importance_ess"] == pytest.approx(4000, rel=1e-6)
    assert chains.facts["distinct_draws"] > 3990
    assert chains.facts["proposals"] == 4000
    assert chains.facts["k_hat"] == 0  # no tail to fit, rounding's least of all
    theta = chains.theta.reshape(-1, 2)
    pairs = (theta[::2] + theta[1::2]) / 2
    away = np.abs((pairs - approximation.mode) / [3, 0.1]).max(axis=1)
    assert np.median(away) < 1e-9


def test_the_facts_say_what_was_done(posterior):
    _, chains = drawn(posterior)
    facts = chains.facts
    assert facts["k_hat"] < 0.7
    assert facts["importance_ess"] <= facts["proposals"]
    assert facts["distinct_draws"] <= 4000
    assert len(np.unique(chains.theta.reshape(-1, 3), axis=0)) == facts["distinct_draws"]


def test_moments_are_those_of_self_normalised_weights(posterior):
    # The same target by plain importance sampling from a wide Student-t, 400,000 draws.
    approximation, chains = drawn(posterior, draws=40_000)
    rng = np.random.default_rng(1)
    df, n = 5, 400_000
    z = rng.standard_normal((n, 3)) / np.sqrt(rng.chisquare(df, (n, 1)) / df)
    theta = approximation.mode + 1.2 * z @ approximation.root.T
    log_q = -(df + 3) / 2 * np.log1p((z * z).sum(axis=1) / df)
    log_weight = posterior.evaluate(np.ascontiguousarray(theta.T), 0, order=0).value - log_q
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    mean = weight @ theta
    sd = np.sqrt(weight @ (theta - mean) ** 2)
    ours = chains.theta.reshape(-1, 3)
    # Five errors: a mean of 40,000 draws, beside the reference's own.
    error = np.sqrt(1 / 40_000 + (weight**2).sum())
    assert (np.abs(ours.mean(axis=0) - mean) / sd < 5 * error).all()
    assert (np.abs(ours.std(axis=0) / sd - 1) < 5 * error).all()


def test_heavy_tails_show_in_k_hat():
    # A Cauchy target under a normal proposal: no finite variance of the weights.
    heavy = TailoredPosterior(
        np.zeros((2, 2)), [0, 1], prior=StudentT(1, 0, 1), fit_intercept=False
    )
    _, chains = drawn(heavy, draws=4000)
    assert chains.facts["k_hat"] > 0.7


@pytest.mark.parametrize("draws", [1, 2, 5, 99])
def test_odd_and_small_numbers_of_draws(posterior, draws):
    _, chains = drawn(posterior, draws=draws)
    assert chains.theta.reshape(-1, 3).shape == (draws, 3)
    assert np.isfinite(chains.theta).all()
