"""Modes: other optimisers, other units, other starts; refusals where there is no answer."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from tailoredbayes import Laplace, LogDensity, Normal, StudentT, TailoredPosterior, find_modes
from tailoredbayes.inference import CollinearityError
from tailoredbayes.inference import laplace as engine


def data(n=400, d=3, columns=1, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    eta = 0.3 + x @ np.linspace(-1, 1.5, d)
    y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    return x, y, rng.random((n, columns))


def by_scipy(posterior, start=None, column=0):
    """The mode by SciPy's trust region; our density is tested on its own, its optimum here."""
    p = posterior.n_coefficients
    return minimize(
        lambda b: -posterior.log_density(b, column),
        np.zeros(p) if start is None else start,
        jac=lambda b: -posterior.gradient(b, column),
        hess=lambda b: -posterior.hessian(b, column),
        method="trust-exact",
        options={"gtol": 1e-10, "maxiter": 1000},
    ).x


# --- Other optimisers -------------------------------------------------------------------------


@pytest.mark.parametrize("sd", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_mode_is_scikit_learns(sd, fit_intercept):
    x, y, weights = data()
    # scikit-learn leaves the intercept free and minimises |b|^2 / 2 + C sum(loss): C = sd^2.
    prior = Normal(0, [1e6, *[sd] * 3]) if fit_intercept else Normal(0, sd)
    posterior = TailoredPosterior(x, y, weights=weights, prior=prior, fit_intercept=fit_intercept)
    modes = find_modes(posterior)
    theirs = LogisticRegression(
        C=sd**2, solver="newton-cholesky", tol=1e-12, fit_intercept=fit_intercept
    ).fit(x, y, sample_weight=weights[:, 0])
    expected = np.append(theirs.intercept_, theirs.coef_) if fit_intercept else theirs.coef_[0]
    assert modes.converged.all()
    np.testing.assert_allclose(modes.theta[:, 0], expected, atol=1e-8)


@pytest.mark.parametrize(
    "prior",
    [
        Normal(0, 100),
        Normal([0, 1, -1, 2], [1, 2, 0.1, 5]),
        StudentT(3, 0, 1),
        StudentT(1, 0.5, 0.2),
        LogDensity(lambda b: -0.5 * float(b @ b) + float(np.cos(b).sum())),
        LogDensity(lambda b: -float((b**4).sum()), lambda b: -4 * b**3),
    ],
    ids=["normal", "normals", "student", "cauchy", "own", "own with gradient"],
)
def test_the_mode_is_scipys(prior):
    x, y, weights = data()
    posterior = TailoredPosterior(x, y, weights=weights, prior=prior)
    modes = find_modes(posterior)
    assert modes.converged.all()
    # A gradient by central differences is good to eight digits or so.
    digits = 1e-6 if isinstance(prior, LogDensity) and prior.gradient_function is None else 1e-8
    np.testing.assert_allclose(modes.theta[:, 0], by_scipy(posterior), atol=digits)
    assert modes.value[0] == pytest.approx(posterior.log_density(modes.theta[:, 0]), abs=1e-8)


def test_the_gradient_vanishes_at_the_mode_and_the_curvature_is_minus_the_hessian():
    x, y, weights = data(columns=5)
    posterior = TailoredPosterior(x, y, weights=weights, prior=Normal(0, 3))
    modes = find_modes(posterior)
    for column in range(5):
        mode = modes.theta[:, column]
        sd = np.sqrt(np.diag(modes.approximation(column).covariance))
        assert np.abs(posterior.gradient(mode, column) * sd).max() < 1e-9
        np.testing.assert_allclose(
            modes.curvature[column], -posterior.hessian(mode, column), rtol=1e-5, atol=1e-6
        )
        np.testing.assert_allclose(modes.prior_curvature[column], np.eye(4) / 9, rtol=1e-12)
        root = modes.roots()[column]
        np.testing.assert_allclose(root @ root.T @ modes.curvature[column], np.eye(4), atol=1e-10)


def test_a_sharp_prior_is_its_own_mode():
    x, y, _ = data()
    posterior = TailoredPosterior(x, y, prior=Normal([1, 2, 3, 4], 1e-6))
    np.testing.assert_allclose(find_modes(posterior).theta[:, 0], [1, 2, 3, 4], atol=1e-8)


# --- Batches, starts, threads -------------------------------------------------------------------


@pytest.mark.parametrize("columns", [2, 3, 5, 40])
def test_columns_together_equal_columns_alone(columns):
    x, y, weights = data(columns=columns)
    weights *= np.geomspace(1, 0.05, columns)
    together = find_modes(TailoredPosterior(x, y, weights=weights))
    assert together.converged.all()
    for column in range(0, columns, 1 if columns < 10 else 7):
        alone = find_modes(TailoredPosterior(x, y, weights=weights[:, column]))
        np.testing.assert_allclose(together.theta[:, column], alone.theta[:, 0], atol=1e-10)
        np.testing.assert_allclose(together.value[column], alone.value[0], rtol=1e-10)
        np.testing.assert_allclose(together.curvature[column], alone.curvature[0], rtol=1e-4)


def test_some_columns_are_those_of_all():
    x, y, weights = data(columns=6)
    posterior = TailoredPosterior(x, y, weights=weights)
    every = find_modes(posterior)
    some = find_modes(posterior, np.array([5, 2]))
    np.testing.assert_allclose(some.theta, every.theta[:, [5, 2]], atol=1e-10)


@pytest.mark.parametrize("prior", [Normal(0, 100), StudentT(3)], ids=["normal", "student"])
def test_the_start_changes_nothing(prior):
    x, y, weights = data(columns=3)
    posterior = TailoredPosterior(x, y, weights=weights, prior=prior)
    default = find_modes(posterior).theta
    rng = np.random.default_rng(0)
    for start in (
        np.zeros(4),
        default,
        default[:, 0],
        rng.normal(0, 3, (4, 3)),
        rng.normal(0, 30, (4, 3)),
        np.full(4, 1e3),
    ):
        modes = find_modes(posterior, start=start)
        assert modes.converged.all()
        np.testing.assert_allclose(modes.theta, default, atol=1e-9)


def test_the_start_given_is_not_changed():
    x, y, _ = data()
    start = np.ones(4)
    find_modes(TailoredPosterior(x, y), start=start)
    assert (start == 1).all()


def test_modes_are_the_same_to_the_bit_for_any_number_of_threads():
    x, y, weights = data(n=70_000, columns=3)
    one, two = (
        find_modes(TailoredPosterior(x, y, weights=weights, threads=threads)) for threads in (1, 2)
    )
    assert (one.theta == two.theta).all()
    assert (one.curvature == two.curvature).all()


def test_a_pilot_on_a_thinned_sample_changes_nothing(monkeypatch):
    x, y, weights = data(n=110_000, d=2)
    posterior = TailoredPosterior(x, y, weights=weights, prior=StudentT(3))
    thinned = []
    monkeypatch.setattr(
        TailoredPosterior,
        "thinned",
        lambda self, step, original=TailoredPosterior.thinned: (
            thinned.append(step),
            original(self, step),
        )[1],
    )
    with_pilot = find_modes(posterior)
    assert thinned == [4]
    without = find_modes(posterior, start=np.zeros(3))
    assert thinned == [4]
    np.testing.assert_allclose(with_pilot.theta, without.theta, atol=1e-11)
    assert with_pilot.iterations[0] < without.iterations[0]


def test_a_sample_ordered_by_outcome_misleads_no_pilot():
    x, y, _ = data(n=110_000, d=2)
    order = np.lexsort((x[:, 0], y))
    np.testing.assert_allclose(
        find_modes(TailoredPosterior(x[order], y[order])).theta,
        find_modes(TailoredPosterior(x, y)).theta,
        atol=1e-10,
    )


def test_rare_events_go_without_a_pilot():
    # 60 events among 110,000: a quarter of them would be too few for three coefficients.
    x, y, _ = data(n=110_000, d=2)
    y = np.zeros(len(x), dtype=int)
    y[::1800] = 1
    posterior = TailoredPosterior(x, y)
    modes = find_modes(posterior)
    assert modes.converged.all()
    np.testing.assert_allclose(
        modes.theta, find_modes(posterior, start=np.zeros(3)).theta, atol=1e-10
    )


# --- Units ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1e3, 1e8])
@pytest.mark.parametrize("family", [Normal, lambda m, s: StudentT(3, m, s)], ids=["N", "t"])
def test_units_of_the_columns_do_not_matter(scale, family):
    x, y, weights = data(columns=2)
    unit = np.array([1, scale, 1, 1 / scale])
    plain = find_modes(TailoredPosterior(x, y, weights=weights, prior=family(0, [5.0, 5, 5, 5])))
    scaled = find_modes(
        TailoredPosterior(x * unit[1:], y, weights=weights, prior=family(0, 5 / unit))
    )
    assert scaled.converged.all()
    assert (scaled.iterations <= plain.iterations + 1).all()
    np.testing.assert_allclose(scaled.theta * unit[:, None], plain.theta, rtol=1e-9)
    np.testing.assert_allclose(
        scaled.roots() * unit[None, :, None], plain.roots(), rtol=1e-7, atol=1e-9
    )


def test_units_do_not_matter_for_the_laplace_prior():
    x, y, weights = data()
    unit = np.array([1, 1e-8, 1, 1e8])
    plain = find_modes(TailoredPosterior(x, y, weights=weights, prior=Laplace(0, [1.0] * 4)))
    scaled = find_modes(
        TailoredPosterior(x * unit[1:], y, weights=weights, prior=Laplace(0, 1 / unit))
    )
    np.testing.assert_allclose(scaled.theta * unit[:, None], plain.theta, rtol=1e-8)


@pytest.mark.parametrize("far", [1e4, 1e7])
def test_columns_far_from_zero_have_the_slopes_of_those_near(far):
    x, y, weights = data()
    prior = Normal(0, [1e12, 5, 5, 5])  # flat for the intercept, wherever it goes
    near = TailoredPosterior(x, y, weights=weights, prior=prior)
    away = TailoredPosterior(x + np.array([far, 0, -far]), y, weights=weights, prior=prior)
    slopes = find_modes(near).theta[1:, 0]
    moved = away.coefficients(find_modes(away).theta)[:, 0]
    np.testing.assert_allclose(moved[1:], slopes, atol=1e-7)
    intercept = find_modes(near).theta[0, 0] - slopes @ [far, 0, -far]
    assert moved[0] == pytest.approx(intercept, abs=1e-7 * far)


# --- Priors that are not concave, or have a kink ------------------------------------------------


def test_a_student_prior_far_from_the_data_has_a_mode_where_the_gradient_vanishes():
    # Convex tails: Newton's direction may point downhill and must be turned around.
    x, y, _ = data(n=30)
    posterior = TailoredPosterior(x, y, prior=StudentT(1, 0, 0.01))
    rng = np.random.default_rng(0)
    for start in (np.zeros(4), np.full(4, 50.0), rng.normal(0, 20, 4), rng.normal(0, 200, 4)):
        modes = find_modes(posterior, start=start)
        assert modes.converged.all()
        mode = modes.theta[:, 0]
        assert np.abs(posterior.gradient(mode)).max() < 1e-6
        assert np.linalg.eigvalsh(-posterior.hessian(mode)).min() > 0


def test_a_laplace_prior_has_the_mode_of_its_kink_rounded_off_over_one_sd():
    x, y, _ = data(n=1000)
    prior = Laplace(0, 0.02)  # strong: 50 per unit and coefficient
    modes = find_modes(TailoredPosterior(x, y, prior=prior))
    assert modes.converged.all()
    sd = np.sqrt(np.diag(modes.approximation().covariance))
    # The width is found by iteration, to a few per cent.
    rounded = TailoredPosterior(x, y, prior=prior.smoothed(sd[:, None]))
    np.testing.assert_allclose(modes.theta[:, 0], by_scipy(rounded), atol=0.02 * sd.max())
    widths = np.sqrt(np.diag(find_modes(rounded).approximation().covariance))
    np.testing.assert_allclose(widths, sd, rtol=0.05)


def test_a_laplace_priors_mode_is_within_its_rounding_of_the_lasso():
    x, y, _ = data(n=1000)
    modes = find_modes(TailoredPosterior(x, y, prior=Laplace(0, 0.02)))
    sd = np.sqrt(np.diag(modes.approximation().covariance))
    ones = np.column_stack([np.ones(len(y)), x])  # the intercept penalised as ours is
    lasso = LogisticRegression(
        C=0.02, l1_ratio=1, solver="liblinear", tol=1e-10, fit_intercept=False, max_iter=10_000
    ).fit(ones, y)
    assert (np.abs(modes.theta[:, 0] - lasso.coef_[0]) < 2 * sd).all()


def test_a_weak_laplace_prior_is_the_likelihood():
    x, y, _ = data()
    weak = find_modes(TailoredPosterior(x, y, prior=Laplace(0, 1e9)))
    flat = find_modes(TailoredPosterior(x, y, prior=Normal(0, 1e9)))
    np.testing.assert_allclose(weak.theta, flat.theta, atol=1e-7)
    np.testing.assert_allclose(weak.roots(), flat.roots(), atol=1e-6)


def test_the_laplace_priors_columns_together_equal_columns_alone():
    x, y, weights = data(columns=4)
    together = find_modes(TailoredPosterior(x, y, weights=weights, prior=Laplace(0, 0.3)))
    for column in range(4):
        alone = find_modes(
            TailoredPosterior(x, y, weights=weights[:, column], prior=Laplace(0, 0.3))
        )
        np.testing.assert_allclose(together.theta[:, column], alone.theta[:, 0], atol=1e-5)


# --- Little or bad data -------------------------------------------------------------------------


def test_five_rows_with_twenty_columns_have_a_mode_under_a_proper_prior():
    x = np.random.default_rng(0).standard_normal((5, 20))
    posterior = TailoredPosterior(x, [0, 1, 0, 1, 1], prior=Normal(0, 1))
    modes = find_modes(posterior)
    assert modes.converged.all()
    np.testing.assert_allclose(modes.theta[:, 0], by_scipy(posterior), atol=1e-8)


def test_separated_outcomes_have_a_mode_under_the_papers_prior():
    x = np.array([*range(-6, 0), *range(1, 7)], dtype=float)[:, None]
    posterior = TailoredPosterior(x, x[:, 0] > 0)
    modes = find_modes(posterior)
    assert modes.converged.all()
    np.testing.assert_allclose(modes.theta[:, 0], by_scipy(posterior), atol=1e-6)


def test_two_rows_have_a_mode():
    posterior = TailoredPosterior([[0.0], [1.0]], [0, 1], prior=Normal(0, 1))
    modes = find_modes(posterior)
    np.testing.assert_allclose(modes.theta[:, 0], by_scipy(posterior), atol=1e-8)


FLAT = LogDensity(lambda b: 0.0, np.zeros_like)


@pytest.mark.parametrize("prior", [FLAT, Normal(0, 1e9)], ids=["flat", "nearly flat"])
def test_collinear_columns_are_refused_by_name(prior):
    x, y, _ = data()
    x[:, 2] = 2 * x[:, 0]
    posterior = TailoredPosterior(x, y, prior=prior, names=["age", "size", "years"])
    with pytest.raises(CollinearityError, match="columns age, years are collinear") as refusal:
        find_modes(posterior)
    assert "drop one of them" in str(refusal.value)


@pytest.mark.parametrize("constant", [0.1, 3.0, 1e6])
def test_a_constant_column_beside_the_intercept_is_refused_without_a_prior(constant):
    x, y, _ = data()
    x[:, 1] = constant
    posterior = TailoredPosterior(x, y, prior=FLAT, names=["age", "size", "years"])
    with pytest.raises(
        CollinearityError, match=r"size is constant or collinear|intercept, size are collinear"
    ):
        find_modes(posterior)


def test_the_papers_prior_tells_duplicates_apart():
    x, y, _ = data()
    twice = np.column_stack([x, x[:, 0]])
    mode = find_modes(TailoredPosterior(twice, y, prior=Normal(0, 1))).theta[:, 0]
    # b1 + b4 with |b1|^2 + |b4|^2 least: halves, as for one column of prior sd sqrt(2).
    once = find_modes(TailoredPosterior(x, y, prior=Normal(0, [1, np.sqrt(2), 1, 1]))).theta
    np.testing.assert_allclose(mode[[1, 4]], once[1, 0] / 2, atol=1e-9)
    np.testing.assert_allclose(mode[[0, 2, 3]], once[[0, 2, 3], 0], atol=1e-9)


def test_a_density_without_a_maximum_is_refused():
    # Rising for ever: a prior that no posterior can be made of.
    x, y, _ = data(n=20)
    rising = LogDensity(lambda b: 30 * float(b.sum()), lambda b: np.full(4, 30.0))
    with pytest.raises(ValueError, match=r"collinear|must return a number below infinity"):
        find_modes(TailoredPosterior(x, y, prior=rising))


# --- Draws ------------------------------------------------------------------------------------


def test_laplace_draws_are_those_of_the_normal_at_the_mode():
    x, y, _ = data()
    posterior = TailoredPosterior(x, y)
    approximation = find_modes(posterior).approximation()
    chains = engine.draw(posterior, 0, approximation, draws=40_000, rng=np.random.default_rng(0))
    assert chains.theta.shape == (4, 10_000, 4)
    z = np.linalg.solve(approximation.root, (chains.theta - approximation.mode).reshape(-1, 4).T)
    # Means have the error 1/200, covariances at most sqrt(2)/200: five of them.
    assert np.abs(z.mean(axis=1)).max() < 5 / 200
    assert np.abs(np.cov(z) - np.eye(4)).max() < 5 * np.sqrt(2) / 200
