"""The log-density near a mode by its polynomial: held to the rows themselves."""

import math

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.special import expit

from tailoredbayes import Normal, StudentT, TailoredPosterior, expansion, find_modes
from tailoredbayes.expansion import NearMode
from tailoredbayes.rows import ParquetRows


def rows(n, d, seed=0, far=0.0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    y = rng.random(n) < expit(x @ rng.normal(0, 0.7, d) - 1)
    return x + far, y.astype(int)


def near_and_direct(posterior, column=0, points=3000, spread=1.0, seed=1):
    approximation = find_modes(posterior).approximation(column)
    z = spread * np.random.default_rng(seed).standard_normal((points, len(approximation.mode)))
    near = NearMode(posterior, column, approximation.mode, approximation.root)
    theta = approximation.mode[:, None] + approximation.root @ z.T
    return near, z, posterior.evaluate(theta, column, order=0).value


@pytest.mark.parametrize(
    ("n", "d", "far"), [(4000, 1, 0.0), (5000, 3, 0.0), (3000, 5, 0.0), (5000, 3, 1e6)]
)
def test_it_is_the_log_density(n, d, far):
    posterior = TailoredPosterior(*rows(n, d, far=far), prior=Normal(0, 100))
    near, z, direct = near_and_direct(posterior)
    value = near.log_density(z)
    assert near._coefficients, "these points are cheaper by the polynomial: it was to be tried"
    np.testing.assert_allclose(value, direct, rtol=0, atol=1e-5)


@pytest.mark.parametrize("spread", [3.0, 10.0, 40.0])
def test_points_too_far_for_the_polynomial_are_evaluated_row_by_row(spread):
    posterior = TailoredPosterior(*rows(2000, 3), prior=StudentT(4, 0, 2.5))
    near, z, direct = near_and_direct(posterior, spread=spread)
    z[::2] *= 0.05
    direct = np.concatenate([direct[1::2], near_value(posterior, near, z[::2])])
    z = np.concatenate([z[1::2], z[::2]])
    assert np.abs(near.log_density(z) - direct).max() < 1e-4
    degree, reach = near._plan(np.sqrt((z * z).sum(axis=1)))
    assert degree > 0
    beyond = np.sqrt((z * z).sum(axis=1)) > reach
    assert 0.2 < beyond.mean() < 0.8
    np.testing.assert_allclose(near.log_density(z)[beyond], direct[beyond], rtol=1e-13)


def near_value(posterior, near, z):
    theta = near.mode[:, None] + near.root @ z.T
    return posterior.evaluate(theta, near.column, order=0).value


def test_the_bound_holds_where_it_is_tight():
    # One margin a row and all rows alike: |g'z| is |g| |z|, and nothing cancels between rows.
    x = np.full((3000, 1), 2.0)
    posterior = TailoredPosterior(
        x, np.arange(3000) % 5 == 0, prior=Normal(0, 100), fit_intercept=False
    )
    near, _, _ = near_and_direct(posterior)
    length = np.linspace(0, 60, 2000)
    degree, reach = near._plan(length)
    assert degree > 0
    for z in (0.999 * reach, -0.999 * reach):
        error = near._polynomial(np.array([[z]]), degree)
        exact = near_value(posterior, near, np.array([[z]])) - posterior.prior.value(
            near.mode[:, None] + near.root * z
        )
        # All of the tolerance may be used up: the bound is within a factor of twenty of the truth.
        assert 0.05e-4 < abs(error[0] - exact[0]) < 1e-4


def test_weights_and_columns_are_their_own():
    x, y = rows(4000, 3)
    weights = np.random.default_rng(2).random((4000, 3))
    weights[:1000, 1] = 0.0
    posterior = TailoredPosterior(x, y, weights=weights, prior=Normal(0, 10))
    for column in range(3):
        near, z, direct = near_and_direct(posterior, column)
        np.testing.assert_allclose(near.log_density(z), direct, rtol=0, atol=1e-5)
        assert near._coefficients
        alone = TailoredPosterior(x, y, weights=weights[:, column], prior=Normal(0, 10))
        same = NearMode(alone, 0, near.mode, near.root).log_density(z)
        np.testing.assert_allclose(near.log_density(z), same, rtol=1e-12)


def test_threads_and_files_change_nothing(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    x, y = rows(60_000, 2)
    posterior = TailoredPosterior(x, y, threads=1)
    near, z, _ = near_and_direct(posterior, points=500)
    value = near.log_density(z)
    assert near._coefficients
    two = NearMode(posterior.on_threads(2), 0, near.mode, near.root)
    assert np.array_equal(two.log_density(z), value)
    pq.write_table(pa.table({"a": x[:, 0], "b": x[:, 1], "y": y}), tmp_path / "rows.parquet")
    stored = TailoredPosterior(ParquetRows(tmp_path / "rows.parquet", outcome="y"))
    filed = NearMode(stored, 0, near.mode, near.root)
    np.testing.assert_allclose(filed.log_density(z), value, rtol=1e-13)


def test_few_rows_or_many_coefficients_are_evaluated_as_ever():
    for n, d in [(100, 3), (3000, 15)]:
        posterior = TailoredPosterior(*rows(n, d), prior=Normal(0, 10))
        near, z, direct = near_and_direct(posterior, points=1000)
        assert np.array_equal(near.log_density(z), direct)
        assert not near._coefficients


# --- Its parts ------------------------------------------------------------------------------------


def test_the_derivatives_of_the_loss():
    u = np.linspace(-6, 6, 25)
    f = expansion._loss_derivatives(u, 10)
    q = expit(u)
    np.testing.assert_allclose(f[0], np.logaddexp(0, u), rtol=1e-14)
    np.testing.assert_allclose(f[1], q, rtol=1e-14)
    np.testing.assert_allclose(f[2], q * (1 - q), rtol=1e-12)
    np.testing.assert_allclose(f[3], q * (1 - q) * (1 - 2 * q), atol=1e-15)
    # Each is the slope of the one below.
    h = 1e-4
    up, down = expansion._loss_derivatives(u + h, 10), expansion._loss_derivatives(u - h, 10)
    slope = (up - down) / (2 * h)
    size = np.abs(f[1:]).max(axis=1, keepdims=True)
    np.testing.assert_allclose(slope[:-1] / size, f[1:] / size, atol=1e-6)


def test_the_loss_far_out_neither_overflows_nor_loses_digits():
    f = expansion._loss_derivatives(np.array([-1000.0, -40.0, 40.0, 1000.0]), 4)
    np.testing.assert_allclose(f[0], [0.0, math.exp(-40), 40.0, 1000.0], rtol=1e-14)
    np.testing.assert_allclose(f[2][:2], [0.0, math.exp(-40)], rtol=1e-14)
    assert (np.abs(f[2:, 2:]) < 1e-15).all()


@pytest.mark.parametrize("order", range(2, 12))
def test_the_largest_derivative_is_the_largest(order):
    polynomial = Polynomial([0.0, *expansion._derivative_polynomials()[order - 1]])
    grid = np.abs(polynomial(np.linspace(0, 1, 20_001))).max()
    largest = expansion._largest_derivative(order)
    assert grid <= largest * (1 + 1e-12)
    assert largest <= grid * (1 + 1e-6)


def test_monomials_and_factorials_are_those_of_the_multinomial_theorem():
    # (a + b + c)^k / k! = sum of monomials of degree k over alpha!.
    z = np.random.default_rng(0).standard_normal((3, 7))
    factorials = expansion._factorials(3, 6)
    terms = expansion._monomials(z, 6) / factorials[:, None]
    starts = expansion._starts(3, 6)
    for k in range(7):
        by_terms = terms[starts[k] : starts[k + 1]].sum(axis=0)
        np.testing.assert_allclose(by_terms, z.sum(axis=0) ** k / math.factorial(k), atol=1e-13)
