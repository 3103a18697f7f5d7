"""Priors: SciPy's densities, finite differences, clear refusals."""

import numpy as np
import pytest
from scipy import stats

from tailoredbayes import Laplace, LogDensity, Normal, StudentT, TailoredPosterior, find_modes
from tailoredbayes.priors import Prior

PRIORS = {
    "normal": (Normal(0.5, 2), lambda: stats.norm(0.5, 2)),
    "normals": (
        Normal([0, 1, -2], [0.1, 1, 50]),
        lambda: stats.norm([[0], [1], [-2]], [[0.1], [1], [50]]),
    ),
    "default": (Normal(), lambda: stats.norm(0, 100)),
    "student": (StudentT(3, 0.5, 2), lambda: stats.t(3, 0.5, 2)),
    "students": (
        StudentT([1, 5, 30], [0, 1, -2], [0.1, 1, 50]),
        lambda: stats.t([[1], [5], [30]], [[0], [1], [-2]], [[0.1], [1], [50]]),
    ),
    "cauchy": (StudentT(1, 0.5, 2.5), lambda: stats.cauchy(0.5, 2.5)),
    "laplace": (Laplace(0.3, 0.7), lambda: stats.laplace(0.3, 0.7)),
    "laplaces": (
        Laplace([0, 1, -2], [0.1, 1, 50]),
        lambda: stats.laplace([[0], [1], [-2]], [[0.1], [1], [50]]),
    ),
}
BETA = np.random.default_rng(0).normal(0, 3, (3, 7))


def own(beta):
    return -0.25 * float((beta**4).sum()) + float(np.sin(beta).prod())


def own_gradient(beta):
    sin, cos = np.sin(beta), np.cos(beta)
    return -(beta**3) + np.array([cos[0] * sin[1] * sin[2], sin[0] * cos[1] * sin[2],
                                  sin[0] * sin[1] * cos[2]])  # fmt: skip


SMOOTH = {name: prior for name, (prior, _) in PRIORS.items()} | {
    "rounded": Laplace(0.3, 0.7).smoothed(np.array([[0.1], [1.0], [0.5]])),
    "own": LogDensity(own),
    "own with gradient": LogDensity(own, own_gradient),
}


@pytest.mark.parametrize("name", PRIORS)
def test_the_log_density_is_scipys(name):
    prior, reference = PRIORS[name]
    expected = reference().logpdf(BETA).sum(axis=0)
    np.testing.assert_allclose(prior.value(BETA), expected, rtol=1e-13)


def test_student_t_tends_to_the_normal():
    wide = StudentT(1e10, 0.5, 2).value(BETA)
    np.testing.assert_allclose(wide, Normal(0.5, 2).value(BETA), rtol=1e-6)


@pytest.mark.parametrize("prior", SMOOTH.values(), ids=SMOOTH)
def test_shapes_are_a_column_a_point(prior):
    assert isinstance(prior, Prior)
    prior.check(3)
    assert prior.value(BETA).shape == (7,)
    assert prior.gradient(BETA).shape == (3, 7)
    assert prior.curvature(BETA).shape == (7, 3, 3)
    one = prior.curvature(BETA[:, [2]])[0]
    np.testing.assert_allclose(one, prior.curvature(BETA)[2], rtol=1e-12)


@pytest.mark.parametrize("prior", SMOOTH.values(), ids=SMOOTH)
def test_derivatives_are_the_finite_differences(prior):
    step = 1e-5
    for j in range(3):
        move = np.zeros((3, 1))
        move[j] = step
        up, down = BETA + move, BETA - move
        slope = (prior.value(up) - prior.value(down)) / (2 * step)
        np.testing.assert_allclose(prior.gradient(BETA)[j], slope, rtol=1e-5, atol=1e-6)
        bend = -(prior.gradient(up) - prior.gradient(down)) / (2 * step)
        # A gradient by differences is good to 1e-10; divided by the step, to 1e-5.
        rough = 1e-3 if prior is SMOOTH["own"] else 1e-6
        np.testing.assert_allclose(
            prior.curvature(BETA)[:, j].T, bend, rtol=1e-5 + rough, atol=rough
        )


def test_students_tails_are_convex():
    prior = StudentT(4, 0, 1)
    at = np.array([[0.0, 1.99, 2.01, 100]])  # the inflection is at sqrt(df) = 2
    assert (np.sign(prior.curvature(at)[:, 0, 0]) == [1, 1, -1, -1]).all()


def test_the_kink_of_laplace_has_a_gradient_of_0():
    prior = Laplace([1.0], [2.0])
    assert prior.gradient(np.array([[1.0]]))[0, 0] == 0
    assert (prior.curvature(BETA[:1]) == 0).all()


def test_a_rounded_kink_tends_to_the_kink():
    prior = Laplace(0.3, 0.7)
    for width in (1.0, 1e-2, 1e-4):
        rounded = prior.smoothed(np.full((3, 1), width))
        lower, upper = rounded.value(BETA), prior.value(BETA)
        # sqrt(b^2 + w^2) - |b| lies between 0 and w.
        assert (lower <= upper).all()
        assert (upper - lower <= 3 * width / 0.7 + 1e-12).all()
    exact = rounded.gradient(BETA)
    np.testing.assert_allclose(exact, prior.gradient(BETA), rtol=1e-4)
    peak = rounded.curvature(np.full((3, 1), 0.3))[0, 0, 0]
    assert peak == pytest.approx(1 / (1e-4 * 0.7))


@pytest.mark.parametrize("prior", [Normal(), StudentT(3), LogDensity(own)])
def test_what_has_no_kink_is_its_own_smoothing(prior):
    assert prior.smoothed(np.ones((3, 1))) is prior


def test_the_users_gradient_is_used():
    calls = []

    def gradient(beta):
        calls.append(beta.copy())
        return own_gradient(beta)

    found = LogDensity(own, gradient).gradient(BETA)
    assert len(calls) == 7
    np.testing.assert_allclose(found, LogDensity(own).gradient(BETA), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Normal(0, 0), "Normal: sd must be positive and finite .*, got 0"),
        (lambda: Normal(0, -1), "Normal: sd must be positive and finite .*, got -1"),
        (lambda: Normal(0, [1, np.nan]), "Normal: sd must be positive and finite"),
        (lambda: Normal(np.inf), "Normal: mean must be finite, got inf"),
        (lambda: Normal(0, [[1, 2]]), "Normal: sd must be a scalar or one-dimensional"),
        (lambda: Normal(0, []), "Normal: sd must be a scalar or one-dimensional"),
        (lambda: Normal(0, 1e-200), "Normal: sd must be positive .* 1e-150 .* got 1e-200"),
        (lambda: Laplace(0, [1, 1e200]), "Laplace: scale must be positive .* 1e\\+150"),
        (lambda: StudentT(0), "StudentT: df must be positive and finite, got 0"),
        (lambda: StudentT(np.inf), "StudentT: df must be positive and finite, got inf"),
        (lambda: StudentT(3, 0, 0), "StudentT: sd must be positive and finite .*, got 0"),
        (lambda: Laplace(0, -2), "Laplace: scale must be positive and finite .*, got -2"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_parameters_of_another_kind_are_refused():
    with pytest.raises(TypeError, match="Normal: sd must be a number or a list of numbers"):
        Normal(0, "wide")
    with pytest.raises(TypeError, match="LogDensity: function must be callable, got 3"):
        LogDensity(3)
    with pytest.raises(TypeError, match="LogDensity: gradient must be callable, got 'g'"):
        LogDensity(own, "g")


@pytest.mark.parametrize("prior", [Normal(0, [1, 2]), StudentT([1, 2]), Laplace([1, 2])])
def test_the_wrong_number_of_parameters_is_refused(prior):
    with pytest.raises(ValueError, match="has 2 entries, expected one or 3"):
        prior.check(3)
    prior.check(2)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_log_density_that_is_no_number_is_refused(value):
    with pytest.raises(ValueError, match="function must return a number below infinity, got"):
        LogDensity(lambda beta: value).check(2)


@pytest.mark.parametrize("value", [None, np.zeros(2), "low"])
def test_a_log_density_returns_one_number(value):
    with pytest.raises(TypeError, match="LogDensity: function must return one number, got"):
        LogDensity(lambda beta: value).check(2)


def test_a_hard_edge_at_the_start_is_refused_and_one_away_from_the_mode_is_not():
    x = np.linspace(-1, 1, 50)[:, None]
    y = x[:, 0] + np.sin(40 * x[:, 0]) > 0  # the slope is positive

    def normal_above(edge):
        return LogDensity(lambda b: -np.inf if b[0] < edge else -0.5 * float(b @ b))

    at_zero = TailoredPosterior(x, y, prior=normal_above(0), fit_intercept=False)
    with pytest.raises(ValueError, match=r"LogDensity: function must be finite .* hard edge"):
        find_modes(at_zero)
    away = TailoredPosterior(x, y, prior=normal_above(-1), fit_intercept=False)
    plain = TailoredPosterior(x, y, prior=Normal(0, 1), fit_intercept=False)
    np.testing.assert_allclose(find_modes(away).theta, find_modes(plain).theta, atol=1e-6)


def test_many_degrees_of_freedom_do_not_overflow():
    beta = np.array([[-3.0, 0.5]])
    wide = StudentT(1e300, 0, 2)
    np.testing.assert_allclose(wide.curvature(beta), Normal(0, 2).curvature(beta), rtol=1e-12)


@pytest.mark.parametrize("gradient", [np.zeros(2), np.zeros((3, 1)), np.array([0, np.nan, 0])])
def test_a_gradient_of_another_shape_is_refused(gradient):
    with pytest.raises(ValueError, match="gradient must return 3 finite numbers"):
        LogDensity(lambda beta: 0.0, lambda beta: gradient).check(3)
