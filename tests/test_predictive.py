"""Risks: quadrature, plain NumPy, and no more memory than blocks need."""

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from tailoredbayes import predictive


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.standard_normal((200, 2)), rng.normal(0, 2, (500, 3))


def risks(x, coefficients):
    return expit(np.column_stack([np.ones(len(x)), x]) @ coefficients.T)


# --- The one-dimensional integral ---------------------------------------------------------------


def by_quadrature(mean, sd):
    if sd == 0:
        return expit(mean)

    def f(z):
        return expit(mean + sd * z) * norm.pdf(z)

    # expit turns at -mean/sd within a width of 1/sd.
    turn, width = -mean / sd, 30 / sd
    cuts = sorted({-10.0, 10.0, *(c for c in (turn - width, turn, turn + width) if abs(c) < 10)})
    return sum(
        quad(f, a, b, epsabs=1e-14, epsrel=1e-13, limit=400)[0] for a, b in itertools.pairwise(cuts)
    )


SDS = [0.0, 1e-3, 0.3, 0.75, 0.76, 1.5, 3.0, 8.0, 30.0, 120.0, 1000.0]


@pytest.mark.parametrize("sd", SDS)
def test_logistic_normal_mean_is_quadratures(sd):
    means = np.array([-300.0, -40, -8, -3, -1, -0.1, 0, 0.5, 2, 5, 20, 100])
    found = predictive.logistic_normal_mean(means, np.full(12, sd))
    expected = [by_quadrature(m, sd) for m in means]
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-12)


def test_logistic_normal_mean_of_mixed_sds_is_that_of_each():
    mean, sd = (a.ravel() for a in np.meshgrid([-2.0, 0, 3], SDS[:-2]))
    together = predictive.logistic_normal_mean(mean, sd)
    alone = [
        predictive.logistic_normal_mean(np.array([m]), np.array([s]))[0]
        for m, s in zip(mean, sd, strict=True)
    ]
    np.testing.assert_allclose(together, alone, atol=3e-12)


def test_logistic_normal_mean_is_symmetric_and_monotone():
    mean = np.linspace(-10, 10, 41)
    for sd in (0.5, 2.0, 20.0):
        found = predictive.logistic_normal_mean(mean, np.full(41, sd))
        np.testing.assert_allclose(found + found[::-1], 1, atol=1e-12)
        assert (np.diff(found) > 0).all()


# --- From draws ---------------------------------------------------------------------------------


def test_expit_is_scipys_even_at_the_ends():
    eta = np.array([-1e308, -800, -745, -701, -700, -30, -1, 0, 1, 30, 700, 800, 1e308])
    np.testing.assert_allclose(predictive.expit(eta), expit(eta), rtol=1e-13, atol=1e-304)


def test_summaries_of_draws_are_numpys(rows):
    x, coefficients = rows
    plain = risks(x, coefficients)
    np.testing.assert_allclose(predictive.risk_draws(x, coefficients), plain, rtol=1e-12)
    np.testing.assert_allclose(predictive.mean_risk(x, coefficients), plain.mean(axis=1))
    for prob in (0.5, 0.9):
        tails = np.quantile(np.log(plain / (1 - plain)), [(1 - prob) / 2, (1 + prob) / 2], axis=1)
        found = predictive.risk_interval(x, coefficients, prob)
        assert found.shape == (200, 2)
        np.testing.assert_allclose(found, expit(tails.T), rtol=1e-8)
    for t in (0.1, 0.5):
        found = predictive.decision_certainty(x, coefficients, t)
        np.testing.assert_allclose(found, (plain >= t).mean(axis=1), atol=1e-12)


def test_blocks_of_draws_are_the_draws(rows):
    x, coefficients = rows
    whole = predictive.risk_draws(x, coefficients)
    for size in (1, 7, 200, 1000, None):
        blocks = list(predictive.iterate_risk_draws(x, coefficients, rows=size))
        np.testing.assert_allclose(np.concatenate(blocks), whole, rtol=1e-13)
        assert size is None or all(len(b) <= size for b in blocks)


def test_without_an_intercept(rows):
    x, coefficients = rows
    found = predictive.mean_risk(x, coefficients[:, 1:])
    np.testing.assert_allclose(found, expit(x @ coefficients[:, 1:].T).mean(axis=1))


def test_answers_do_not_depend_on_the_number_of_threads(rows):
    _, coefficients = rows
    x = np.random.default_rng(1).standard_normal((3000, 2))
    for function in (predictive.mean_risk, predictive.risk_interval, predictive.risk_draws):
        one, two = (function(x, coefficients, threads=threads) for threads in (1, 2))
        assert (one == two).all()


@pytest.mark.parametrize("function", ["mean_risk", "decision_certainty", "iterate_risk_draws"])
def test_rows_times_draws_are_never_held(function):
    # 20,000 rows x 4000 draws would take 640 MB.
    x = np.random.default_rng(0).standard_normal((20_000, 2)).astype(np.float32)
    coefficients = np.random.default_rng(1).standard_normal((4000, 3))
    more = (0.3,) if function == "decision_certainty" else ()
    tracemalloc.start()
    try:
        found = getattr(predictive, function)(x, coefficients, *more)
        if function == "iterate_risk_draws":
            for _ in found:
                pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 48 * 2**20


@pytest.mark.slow
@pytest.mark.parametrize("function", ["mean_risk", "decision_certainty"])
def test_a_hundred_thousand_rows_and_4000_draws_stay_in_blocks(function):
    x = np.random.default_rng(0).standard_normal((100_000, 5))
    coefficients = np.random.default_rng(1).standard_normal((4000, 6))
    more = (0.3,) if function == "decision_certainty" else ()
    tracemalloc.start()
    try:
        found = getattr(predictive, function)(x, coefficients, *more)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 48 * 2**20
    some = risks(x[::10_000], coefficients)
    expected = some.mean(axis=1) if not more else (some >= 0.3).mean(axis=1)
    np.testing.assert_allclose(found[::10_000], expected, rtol=1e-10)


def test_bad_input_is_refused(rows):
    x, coefficients = rows
    for wrong in (coefficients[:, :1], np.ones((5, 4)), np.ones(3)):
        with pytest.raises(ValueError, match=r"coefficients must have shape \(draws, 2\)"):
            predictive.mean_risk(x, wrong)
    with pytest.raises(ValueError, match="threshold must lie strictly between 0 and 1"):
        predictive.decision_certainty(x, coefficients, 1.2)
    with pytest.raises(ValueError, match="prob must be"):
        predictive.risk_interval(x, coefficients, 1.5)
    with pytest.raises(ValueError, match="X must be two-dimensional"):
        predictive.mean_risk(x[0], coefficients)


# --- Under Laplace ------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_laplace_risks_of_many_columns_are_those_of_quadrature(intercept):
    rng = np.random.default_rng(0)
    p = 2 + intercept
    x = rng.standard_normal((30, 2))
    z = np.column_stack([np.ones(30), x]) if intercept else x
    modes = rng.normal(0, 1, (p, 5))
    roots = rng.normal(0, 1, (5, p, p)) * np.geomspace(0.05, 3, 5)[:, None, None]
    covariances = roots @ roots.transpose(0, 2, 1)
    found = predictive.laplace_risk(x, modes, covariances)
    assert found.shape == (30, 5)
    for k in range(5):
        mean = z @ modes[:, k]
        sd = np.sqrt(((z @ covariances[k]) * z).sum(axis=1))
        for i in range(0, 30, 6):
            assert found[i, k] == pytest.approx(by_quadrature(mean[i], sd[i]), abs=1e-11)


def test_the_summary_in_one_pass_is_what_three_passes_give():
    rng = np.random.default_rng(11)
    x, coefficients = rng.normal(size=(57, 3)), rng.normal(size=(201, 4))
    found = predictive.risk_summary(x, coefficients, 0.3, 0.8)
    np.testing.assert_array_equal(found[:, 0], predictive.mean_risk(x, coefficients))
    np.testing.assert_array_equal(found[:, 1:3], predictive.risk_interval(x, coefficients, 0.8))
    certainty = predictive.decision_certainty(x, coefficients, 0.3)
    np.testing.assert_array_equal(found[:, 3], certainty)
    alone = predictive.risk_summary(x, coefficients[:1], 0.3)
    np.testing.assert_array_equal(alone[:, 1], alone[:, 2])
