"""The tailored posterior: plain loops, repeated rows, finite differences, exact limits."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tailoredbayes import Laplace, LogDensity, Normal, StudentT, TailoredPosterior
from tailoredbayes.posterior import _PRODUCT_COEFFICIENTS, _PRODUCT_POINTS

PRIORS = {
    "normal": Normal(0.3, 2),
    "student": StudentT(3, 0, 2.5),
    "cauchy": StudentT(1, 0, 2.5),
    "laplace": Laplace(0, 1.5),
    "own": LogDensity(lambda beta: -0.25 * float(beta @ beta) - float(np.cosh(beta / 3).sum())),
}


FLAT = LogDensity(lambda beta: 0.0, np.zeros_like)


def data(n=60, d=3, columns=1, seed=0):
    """Rows whose outcomes follow a logistic model, and weights in (0, 1)."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    y = rng.random(n) < 1 / (1 + np.exp(-x @ np.linspace(-1, 1, d)))
    y[:2] = [True, False]
    return x, y.astype(int), rng.random((n, columns))


def plain_log_likelihood(x, y, weights, beta):
    """Equation 6 as it is written, row by row."""
    total = 0.0
    for row, outcome, weight in zip(x, y, weights, strict=True):
        eta = beta[0] + sum(b * value for b, value in zip(beta[1:], row, strict=True))
        risk = 1 / (1 + math.exp(-eta))
        total += weight * (math.log(risk) if outcome else math.log(1 - risk))
    return total


# --- The formula ------------------------------------------------------------------------------


def test_without_weights_it_is_the_ordinary_logistic_log_likelihood():
    x, y, _ = data()
    beta = [0.2, -1.0, 0.5, 1.5]
    ordinary = plain_log_likelihood(x, y, np.ones(len(y)), beta)
    assert TailoredPosterior(x, y).log_likelihood(beta) == pytest.approx(ordinary, rel=1e-13)
    ones = TailoredPosterior(x, y, weights=np.ones(len(y)))
    assert ones.log_likelihood(beta) == pytest.approx(ordinary, rel=1e-13)


def test_weights_multiply_the_rows_log_likelihoods():
    x, y, weights = data()
    beta = [0.2, -1.0, 0.5, 1.5]
    found = TailoredPosterior(x, y, weights=weights[:, 0]).log_likelihood(beta)
    assert found == pytest.approx(plain_log_likelihood(x, y, weights[:, 0], beta), rel=1e-13)


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_the_posterior_is_likelihood_times_prior(prior):
    x, y, weights = data()
    posterior = TailoredPosterior(x, y, weights=weights, prior=prior)
    beta = np.array([0.2, -1.0, 0.5, 1.5])
    expected = posterior.log_likelihood(beta) + prior.value(beta[:, None])[0]
    assert posterior.log_density(beta) == pytest.approx(expected, rel=1e-14)


def test_the_default_prior_is_the_papers():
    x, y, _ = data()
    beta = np.array([0.2, -1.0, 0.5, 1.5])
    posterior = TailoredPosterior(x, y)
    expected = sum(-(b**2) / (2 * 100**2) - math.log(100 * math.sqrt(2 * math.pi)) for b in beta)
    assert posterior.log_density(beta) - posterior.log_likelihood(beta) == pytest.approx(expected)


def test_without_an_intercept_the_column_of_ones_is_the_users():
    x, y, weights = data()
    own = np.column_stack([np.ones(len(y)), x])
    a = TailoredPosterior(x, y, weights=weights)
    b = TailoredPosterior(own, y, weights=weights, fit_intercept=False)
    beta = [0.2, -1.0, 0.5, 1.5]
    assert b.n_coefficients == 4
    assert b.names == ("x0", "x1", "x2", "x3")
    assert a.names == ("intercept", "x0", "x1", "x2")
    assert a.log_density(beta) == pytest.approx(b.log_density(beta), rel=1e-14)
    np.testing.assert_allclose(a.gradient(beta), b.gradient(beta), rtol=1e-12)
    np.testing.assert_allclose(a.hessian(beta), b.hessian(beta), rtol=1e-12)


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gradient_and_hessian_are_the_finite_differences(prior, fit_intercept):
    x, y, weights = data(d=3)
    posterior = TailoredPosterior(x, y, weights=weights, prior=prior, fit_intercept=fit_intercept)
    beta = np.array([0.7, -0.4, 0.5, 1.5])[: posterior.n_coefficients]
    step = 1e-5
    moves = step * np.eye(len(beta))
    gradient = [
        (posterior.log_density(beta + e) - posterior.log_density(beta - e)) / (2 * step)
        for e in moves
    ]
    hessian = [
        (posterior.gradient(beta + e) - posterior.gradient(beta - e)) / (2 * step) for e in moves
    ]
    np.testing.assert_allclose(posterior.gradient(beta), gradient, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(posterior.hessian(beta), hessian, rtol=1e-5, atol=1e-5)


def test_at_zero_every_row_has_even_odds():
    # Gradient sum w s x / 2 and curvature sum w x x' / 4.
    x, y, weights = data()
    z = np.column_stack([np.ones(len(y)), x])
    posterior = TailoredPosterior(x, y, weights=weights, prior=Normal(0, 1e9))
    zero = np.zeros(4)
    assert posterior.log_likelihood(zero) == pytest.approx(-weights.sum() * math.log(2))
    w = weights[:, 0]
    np.testing.assert_allclose(posterior.gradient(zero), z.T @ (w * (y - 0.5)), rtol=1e-12)
    np.testing.assert_allclose(posterior.hessian(zero), -(z.T * w) @ z / 4, rtol=1e-12)


# --- Identities of the weights ------------------------------------------------------------------


def evaluated(posterior, theta):
    found = posterior.evaluate(theta)
    return found.value, found.gradient, found.curvature


@given(
    counts=arrays(int, 12, elements=st.integers(0, 4)).filter(lambda c: c[0] > 0 and c[1] > 0),
    beta=arrays(float, 3, elements=st.floats(-5, 5)),
)
def test_integer_weights_equal_repeated_rows(counts, beta):
    x, y, _ = data(n=12, d=2)
    weighted = TailoredPosterior(x, y, weights=counts.astype(float))
    repeated = TailoredPosterior(np.repeat(x, counts, axis=0), np.repeat(y, counts))
    scale = counts.sum() * (1 + np.abs(x).max() ** 2) * (1 + np.abs(beta).max())
    rounding = 1e-14 * scale
    assert weighted.log_density(beta) == pytest.approx(repeated.log_density(beta), abs=rounding)
    np.testing.assert_allclose(
        weighted.gradient(beta), repeated.gradient(beta), rtol=0, atol=rounding
    )
    np.testing.assert_allclose(
        weighted.hessian(beta), repeated.hessian(beta), rtol=0, atol=rounding
    )


@given(
    weights=arrays(float, (12, 2), elements=st.floats(0.01, 5)),
    beta=arrays(float, 3, elements=st.floats(-5, 5)),
    share=st.floats(0, 1),
)
def test_the_log_likelihood_is_linear_in_the_weights(weights, beta, share):
    x, y, _ = data(n=12, d=2)
    mixed = share * weights[:, 0] + (1 - share) * weights[:, 1]
    columns = TailoredPosterior(x, y, weights=weights)
    parts = share * columns.log_likelihood(beta, 0) + (1 - share) * columns.log_likelihood(beta, 1)
    found = TailoredPosterior(x, y, weights=mixed).log_likelihood(beta)
    assert found == pytest.approx(parts, rel=1e-12)


@given(arrays(float, 3, elements=st.floats(-5, 5)))
def test_rows_of_weight_0_count_for_nothing(beta):
    x, y, weights = data(n=30, d=2)
    kept = np.arange(30) % 3 > 0
    dropped = TailoredPosterior(x[kept], y[kept], weights=weights[kept])
    zeroed = TailoredPosterior(x, y, weights=weights * kept[:, None])
    assert zeroed.log_density(beta) == pytest.approx(dropped.log_density(beta), rel=1e-13)


@given(arrays(float, 3, elements=st.floats(-5, 5)))
def test_exchanging_the_classes_turns_the_coefficients_around(beta):
    x, y, weights = data(n=30, d=2)
    a = TailoredPosterior(x, y, weights=weights)
    b = TailoredPosterior(x, 1 - y, weights=weights)
    assert a.log_likelihood(beta) == pytest.approx(b.log_likelihood(-beta), rel=1e-14)


@given(arrays(float, 3, elements=st.floats(-30, 30)), arrays(float, 3, elements=st.floats(-30, 30)))
def test_the_log_likelihood_is_concave(a, b):
    x, y, weights = data(n=30, d=2)
    posterior = TailoredPosterior(x, y, weights=weights)
    ends = posterior.log_likelihood(a) + posterior.log_likelihood(b)
    middle = posterior.log_likelihood((a + b) / 2)
    assert middle >= ends / 2 - 1e-12 * (1 + abs(ends))


# --- Many columns and points at once -----------------------------------------------------------


@pytest.mark.parametrize("k", [1, _PRODUCT_POINTS - 1, _PRODUCT_POINTS, 70])
@pytest.mark.parametrize("p", [2, 6, _PRODUCT_COEFFICIENTS, _PRODUCT_COEFFICIENTS + 1])
def test_many_columns_equal_one_at_a_time(k, p):
    x, y, weights = data(n=500, d=p - 1, columns=k)
    together = TailoredPosterior(x, y, weights=weights, prior=StudentT(3))
    theta = np.random.default_rng(1).normal(0, 0.3, (p, k))
    value, gradient, curvature = evaluated(together, theta)
    assert value.shape == (k,)
    assert gradient.shape == (p, k)
    assert curvature.shape == (k, p, p)
    for column in range(0, k, 1 if k < 10 else 9):
        alone = TailoredPosterior(x, y, weights=weights[:, column], prior=StudentT(3))
        one = evaluated(alone, theta[:, [column]])
        np.testing.assert_allclose(value[column], one[0][0], rtol=1e-12)
        np.testing.assert_allclose(gradient[:, column], one[1][:, 0], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(curvature[column], one[2][0], rtol=1e-10, atol=1e-10)


def test_some_columns_are_those_of_all():
    x, y, weights = data(n=500, columns=6)
    posterior = TailoredPosterior(x, y, weights=weights)
    theta = np.random.default_rng(1).normal(0, 0.3, (4, 6))
    every = posterior.evaluate(theta)
    wanted = np.array([4, 1])
    some = posterior.evaluate(theta[:, wanted], wanted)
    np.testing.assert_allclose(some.value, every.value[wanted], rtol=1e-13)
    np.testing.assert_allclose(some.gradient, every.gradient[:, wanted], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(some.curvature, every.curvature[wanted], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("points", [1, 3, 300])
def test_many_points_under_one_column(points):
    x, y, weights = data(n=500, columns=3)
    posterior = TailoredPosterior(x, y, weights=weights)
    theta = np.random.default_rng(1).normal(0, 0.5, (4, points))
    found = posterior.evaluate(theta, 2, order=1)
    for i in range(0, points, 37):
        assert found.value[i] == pytest.approx(posterior.log_density(theta[:, i], 2), rel=1e-12)
        np.testing.assert_allclose(
            found.gradient[:, i], posterior.gradient(theta[:, i], 2), rtol=1e-10, atol=1e-10
        )


def test_what_was_not_asked_for_is_empty():
    x, y, weights = data()
    posterior = TailoredPosterior(x, y, weights=weights)
    theta = np.zeros((4, 1))
    assert posterior.evaluate(theta, order=0).gradient.size == 0
    assert posterior.evaluate(theta, order=1).curvature.size == 0
    values = [posterior.evaluate(theta, order=order).value[0] for order in range(3)]
    assert values == [values[0]] * 3


def test_curvatures_of_many_wide_posteriors_take_several_passes():
    # 400 columns of 40 x 40 are more than a pass may hold (on one shard or more).
    x, y, _ = data(n=4500, d=39)
    weights = np.random.default_rng(0).random((4500, 700))
    posterior = TailoredPosterior(x, y, weights=weights)
    theta = np.random.default_rng(1).normal(0, 0.1, (40, 700))
    found = posterior.evaluate(theta)
    for column in (0, 350, 699):
        alone = TailoredPosterior(x, y, weights=weights[:, column])
        one = alone.evaluate(theta[:, [column]])
        np.testing.assert_allclose(found.value[column], one.value[0], rtol=1e-12)
        np.testing.assert_allclose(found.curvature[column], one.curvature[0], rtol=1e-9, atol=1e-9)


# --- Extremes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("margin", [40.0, 699.0, 701.0, 745.0, 1e4, 1e8])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_extreme_margins_are_finite_and_right(margin, order):
    # One event at x = 1 and one non-event at x = 1: log expit(m) + log expit(-m) = -m exactly,
    # once exp(-m) is below rounding. The gradient by the slope is 0 - 1, the curvature 0.
    posterior = TailoredPosterior([[1.0], [1.0]], [1, 0], fit_intercept=False, prior=FLAT)
    for sign in (1, -1):
        found = posterior.evaluate(np.array([[sign * margin]]), order=order)
        assert found.value[0] == -margin
        if order >= 1:
            assert found.gradient[0, 0] == pytest.approx(-sign, abs=1e-15)
        if order == 2:
            assert found.curvature[0, 0, 0] == pytest.approx(2 * math.exp(-margin), abs=1e-300)


def test_right_side_margins_cost_what_they_should():
    # log expit(m) = -exp(-m) (1 + ...): not 0 as long as a double can say so.
    posterior = TailoredPosterior([[1.0], [-1.0]], [1, 0], fit_intercept=False, prior=FLAT)
    assert posterior.log_likelihood([30.0]) == pytest.approx(-2 * math.exp(-30), rel=1e-2)
    assert posterior.log_likelihood([800.0]) == 0
    assert posterior.gradient([30.0])[0] == pytest.approx(2 * math.exp(-30), rel=1e-12)
    assert posterior.hessian([30.0])[0, 0] == pytest.approx(-2 * math.exp(-30), rel=1e-12)


def test_one_extreme_row_among_many_leaves_the_others_alone():
    x, y, _ = data(n=200, d=1)
    beta = [0.0, 1.0]
    usual = TailoredPosterior(x, y).log_likelihood(beta)
    extreme = TailoredPosterior(np.append(x, [[5000.0]], axis=0), np.append(y, 0))
    assert extreme.log_likelihood(beta) == pytest.approx(usual - 5000, rel=1e-14)


# --- Far from zero ----------------------------------------------------------------------------


def high_precision(x, y, weights, beta, sd):
    """Value, gradient and Hessian of the log posterior; margins are exact fractions.

    What is cancelled when a column is far from zero is the margin, so that is what must be exact.
    """
    p = len(beta)
    value = -sum(b * b / (2 * sd**2) + math.log(sd * math.sqrt(2 * math.pi)) for b in beta)
    gradient, hessian = -np.asarray(beta, dtype=np.longdouble) / sd**2, np.zeros((p, p))
    hessian = hessian.astype(np.longdouble) - np.eye(p) / sd**2
    exact = [Fraction(b) for b in beta]
    for row, outcome, weight in zip(x, y, weights, strict=True):
        z = [Fraction(1), *map(Fraction, map(float, row))]
        sign = 1 if outcome else -1
        margin = float(sign * sum(a * b for a, b in zip(exact, z, strict=True)))
        wrong = 1 / (1 + math.exp(margin))
        value += weight * math.log1p(-wrong)
        zl = np.array([float(a) for a in z], dtype=np.longdouble)
        gradient = gradient + weight * wrong * sign * zl
        hessian = hessian - weight * wrong * (1 - wrong) * np.outer(zl, zl)
    return value, gradient, hessian


@pytest.mark.parametrize("far", [0.0, 1e3, 1e6, 1e8])
def test_columns_far_from_zero_lose_nothing(far):
    x, y, weights = data(n=80, d=2)
    x[:, 0] += far
    posterior = TailoredPosterior(x, y)
    assert (posterior.shift[0] != 0) == (far > 0)
    assert posterior.shift[1] == 0
    beta = np.array([0.25 - 0.75 * far, 0.75, -0.5])
    # A prior wide enough not to drown the likelihood at such an intercept.
    sd = 10 * (1 + far)
    posterior = TailoredPosterior(x, y, weights=weights, prior=Normal(0, sd))
    value, gradient, hessian = high_precision(x, y, weights[:, 0], beta, sd)
    # 0.75 * far is rounded, once, on the way into the engine's coordinates.
    rtol = 1e-10 + 1e-14 * far
    assert posterior.log_density(beta) == pytest.approx(value, rel=rtol)
    np.testing.assert_allclose(posterior.gradient(beta), gradient.astype(float), rtol=rtol)
    np.testing.assert_allclose(posterior.hessian(beta), hessian.astype(float), rtol=rtol)


@pytest.mark.parametrize("far", [0.0, 1e6])
def test_the_two_coordinates_are_inverse_to_each_other(far):
    x, y, _ = data(n=80, d=2)
    x[:, 0] += far
    posterior = TailoredPosterior(x, y)
    beta = np.random.default_rng(0).normal(size=(3, 7))
    back = posterior.coefficients(posterior.theta(beta))
    np.testing.assert_allclose(back, beta, rtol=1e-14, atol=1e-15 * (1 + far))
    np.testing.assert_allclose(
        posterior.coefficient_map() @ posterior.theta(np.eye(3)), np.eye(3), atol=1e-15 * (1 + far)
    )


def test_evaluate_in_the_engines_coordinates_is_the_users_posterior():
    x, y, weights = data(n=80, d=2)
    x[:, 0] += 1e3
    posterior = TailoredPosterior(x, y, weights=weights, prior=StudentT(3, 0.5, 2))
    theta = np.array([[0.3], [0.75], [-0.5]])
    found = posterior.evaluate(theta)
    beta = posterior.coefficients(theta)[:, 0]
    assert found.value[0] == pytest.approx(posterior.log_density(beta), rel=1e-12)
    # theta's gradient is T' times beta's.
    t = posterior.coefficient_map()
    np.testing.assert_allclose(
        found.gradient[:, 0], t.T @ posterior.gradient(beta), rtol=1e-6, atol=1e-6
    )
    step = 1e-5
    for j in range(3):
        move = np.zeros((3, 1))
        move[j] = step
        up, down = posterior.evaluate(theta + move), posterior.evaluate(theta - move)
        slope = (up.value - down.value) / (2 * step)
        assert found.gradient[j, 0] == pytest.approx(slope[0], rel=1e-5, abs=1e-5)
        bend = -(up.gradient - down.gradient)[:, 0] / (2 * step)
        np.testing.assert_allclose(found.curvature[0][:, j], bend, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("constant", [3.0, 0.1, 1e6, 0.0])
def test_a_constant_column_is_another_intercept(constant):
    x, y, weights = data(n=80, d=2)
    x[:, 1] = constant
    posterior = TailoredPosterior(x, y, weights=weights, prior=Normal(0, 2))
    beta = np.array([0.25, 0.75, 0.5])
    if constant > 100:
        beta[0] -= beta[2] * constant
    value, gradient, hessian = high_precision(x, y, weights[:, 0], beta, 2)
    assert posterior.log_density(beta) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(posterior.gradient(beta), gradient.astype(float), rtol=1e-8)
    np.testing.assert_allclose(posterior.hessian(beta), hessian.astype(float), rtol=1e-8)


# --- Bad input --------------------------------------------------------------------------------


def refused(message, error=ValueError, **changed):
    x, y, weights = data(n=20, d=2)
    given = {"X": x, "y": y, "weights": weights[:, 0], **changed}
    with pytest.raises(error, match=message):
        TailoredPosterior(given.pop("X"), given.pop("y"), **given)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("row", [0, 7, 19])
def test_covariates_that_are_not_finite_are_refused(bad, row):
    x, _, _ = data(n=20, d=2)
    x[row, 1] = bad
    found = "NaN" if np.isnan(bad) else "infinity" if np.isinf(bad) else "1e\\+200, too large"
    refused(f"X must be finite, got {found} .*in column 1" if bad != 1e200 else found, X=x)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.nan, "weights must be finite and not negative, got NaN or infinity"),
        (np.inf, "weights must be finite and not negative, got NaN or infinity"),
        (-0.5, "weights must be finite and not negative, got -0.5"),
    ],
)
@pytest.mark.parametrize("columns", [1, 3])
def test_bad_weights_are_refused(bad, message, columns):
    _, _, weights = data(n=20, d=2, columns=columns)
    weights[13, -1] = bad
    refused(message, weights=weights)


def test_all_zero_weights_are_refused_and_the_column_is_named():
    refused("weights must not all be zero;", weights=np.zeros(20))
    _, _, weights = data(n=20, d=2, columns=3)
    weights[:, 1] = 0
    refused("weights must not all be zero in column 1", weights=weights)


@pytest.mark.parametrize("shape", [(19,), (21,), (2, 20), (20, 0), (20, 1, 1)])
def test_weights_of_another_shape_are_refused(shape):
    refused(r"weights must have shape \(20,\) or \(20, columns\)", weights=np.ones(shape))


@pytest.mark.parametrize(("y", "kind"), [(np.ones(20), "events only"), (np.zeros(20), "no events")])
def test_a_single_class_is_refused(y, kind):
    refused(f"y must hold both classes, got {kind} in 20 rows", y=y)


def test_one_row_is_refused():
    with pytest.raises(ValueError, match=r"both classes, got events only in 1 row$"):
        TailoredPosterior([[1.0]], [1])


def test_other_outcomes_are_refused():
    refused("y must hold only 0 and 1", y=np.arange(20) % 3)
    refused("y must hold only 0 and 1", y=np.where(np.arange(20) % 2, 1.0, np.nan))
    refused("y must hold numbers, got text such as 'no'", TypeError, y=["no", "yes"] * 10)
    refused("one entry a row", y=np.arange(19) % 2)
    refused("y is needed", y=None, weights=None)


def test_covariates_of_another_shape_or_kind_are_refused():
    refused("X must be two-dimensional", X=np.ones(20))
    refused("X must be two-dimensional", X=np.ones((20, 2, 1)))
    refused("at least one row and one feature", X=np.ones((20, 0)))
    refused("X must hold numbers", X=np.array([["a", "b"]] * 20))
    refused("X must hold numbers", X=np.array([[1.0, "b"]] * 20, dtype=object))
    refused("X must hold numbers", X=np.array([["1", "2"]] * 20))
    refused("X must hold numbers", X=np.ones((20, 2), dtype=complex))
    refused("X must hold numbers", X=np.full((20, 2), np.datetime64("2020-01-01")))


def test_names_priors_and_threads_are_checked():
    refused("names must name the 2 columns of X, got 3 names", names=["a", "b", "c"])
    refused("prior must be a prior such as", TypeError, prior="normal")
    refused("prior must be a prior such as", TypeError, prior=2.5)
    refused("sd has 2 entries, expected one or 3", prior=Normal(0, [1, 2]))
    refused("threads must be a finite number at least 1, got 0", threads=0)
    refused("threads must be a finite number .* got the text 'all'", TypeError, threads="all")
    refused("fit_intercept must be True or False, got", TypeError, fit_intercept="no")
    refused("weights must hold numbers, one a row", TypeError, weights=["a"] * 20)


@pytest.mark.parametrize(
    "beta", [[0, 0], [0, 0, 0, 0], [[0, 0, 0]], [0, np.nan, 0], [0, 0, np.inf]]
)
def test_a_bad_point_is_refused(beta):
    x, y, _ = data(n=20, d=2)
    posterior = TailoredPosterior(x, y)
    for method in (posterior.log_density, posterior.gradient, posterior.hessian):
        with pytest.raises(
            ValueError, match=r"beta must be 3 finite numbers \(intercept, x0, x1\)"
        ):
            method(beta)


@pytest.mark.parametrize("column", [-1, 2])
def test_an_unknown_weight_column_is_refused(column):
    x, y, weights = data(n=20, d=2, columns=2)
    posterior = TailoredPosterior(x, y, weights=weights)
    with pytest.raises(ValueError, match=f"column must be from 0 to 1, got {column}"):
        posterior.log_density([0, 0, 0], column)


def test_a_row_source_brings_its_own_outcomes():
    x, y, _ = data(n=20, d=2)
    rows = TailoredPosterior(x, y).rows
    assert TailoredPosterior(rows).log_likelihood([0, 0, 0]) == pytest.approx(-20 * math.log(2))
    with pytest.raises(ValueError, match="a row source brings y and weights along"):
        TailoredPosterior(rows, y)


def test_tables_and_lists_are_read():
    pd = pytest.importorskip("pandas")
    x, y, weights = data(n=20, d=2)
    table = pd.DataFrame(x, columns=["age", "size"])
    beta = [0.1, 0.2, 0.3]
    expected = TailoredPosterior(x, y, weights=weights).log_density(beta)
    for form in (table, x.tolist()):
        for outcome in (pd.Series(y), y.tolist(), y.astype(bool)):
            found = TailoredPosterior(form, outcome, weights=weights[:, 0].tolist())
            assert found.log_density(beta) == expected
