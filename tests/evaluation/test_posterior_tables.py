"""Overlap against closed forms, intervals against arviz-stats, densities against SciPy."""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy.special import ndtri
from scipy.stats import gaussian_kde, norm

import tailoredbayes as tb


def normal_draws(size, mean=0.0, sd=1.0):
    """A normal's own quantiles: draws without sampling error."""
    return mean + sd * ndtri((np.arange(size) + 0.5) / size)


def overlap_of_normals(mean, sd, other_mean, other_sd):
    """Closed form: the densities cross where a quadratic is 0; 2 Phi(-d / 2) for equal sds."""
    grid_a = 1 / other_sd**2 - 1 / sd**2
    b = 2 * (mean / sd**2 - other_mean / other_sd**2)
    c = other_mean**2 / other_sd**2 - mean**2 / sd**2 + 2 * np.log(other_sd / sd)
    cuts = np.sort(np.roots([grid_a, b, c])) if abs(grid_a) > 1e-12 else np.array([-c / b])
    ends = np.r_[-np.inf, cuts, np.inf]
    one = np.diff(norm.cdf(ends, mean, sd))
    other = np.diff(norm.cdf(ends, other_mean, other_sd))
    return np.minimum(one, other).sum()


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("sd", [1.0, 0.5, 2.0])
def test_the_overlap_of_two_normals_is_its_closed_form(shift, sd):
    """The kernel widens each sd by the factor sqrt(1 + (0.9 n^-0.2)^2), which is allowed for."""
    n = 4000
    wide = np.sqrt(1 + (0.9 * n**-0.2) ** 2)
    found = tb.posterior_overlap(normal_draws(n), normal_draws(n, shift, sd)).overlap[0]
    expected = 1.0 if (shift, sd) == (0, 1) else overlap_of_normals(0, wide, shift, sd * wide)
    assert found == pytest.approx(expected, abs=0.002)
    plain = 1.0 if (shift, sd) == (0, 1) else overlap_of_normals(0, 1, shift, sd)
    assert found == pytest.approx(plain, abs=0.015)


@pytest.mark.parametrize("ratio", [50, 200, 1000])
def test_a_posterior_much_narrower_than_the_other_is_still_seen(ratio):
    """As that of SB beside one that is separated, which the prior alone holds."""
    found = tb.posterior_overlap(normal_draws(4000, sd=1 / ratio), normal_draws(4000))
    assert found.overlap[0] == pytest.approx(overlap_of_normals(0, 1, 0, 1 / ratio), rel=0.05)
    grid, both = found.densities.grid[0], found.densities.density
    for density in both.values():
        assert np.trapezoid(density[0], grid) == pytest.approx(1, abs=1e-3)


def test_draws_with_long_tails_keep_their_middle():
    draws = np.random.default_rng(6).standard_cauchy(4000)
    found = tb.posterior_densities({"m": draws})
    middle = np.interp(0.0, found.grid[0], found.density["m"][0])
    assert middle == pytest.approx(1 / np.pi, rel=0.1)


def test_overlap_does_not_depend_on_order_scale_or_place():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=2000), rng.normal(0.7, 1.4, size=1500)
    found = tb.posterior_overlap(one, other).overlap
    np.testing.assert_allclose(tb.posterior_overlap(other, one).overlap, found, atol=1e-9)
    moved = tb.posterior_overlap(1e4 * one + 5, 1e4 * other + 5).overlap
    np.testing.assert_allclose(moved, found, atol=1e-6)


def test_densities_are_gaussian_kernel_densities():
    rng = np.random.default_rng(1)
    draws = rng.gamma(2.0, size=800)
    found = tb.posterior_densities({"m": draws})
    quarter, three = np.quantile(draws, [0.25, 0.75])
    width = 0.9 * min(draws.std(ddof=1), (three - quarter) / 1.34) * 800**-0.2
    scipy = gaussian_kde(draws, bw_method=width / draws.std(ddof=1))(found.grid[0])
    np.testing.assert_allclose(found.density["m"][0], scipy, atol=2e-4 * scipy.max())


def test_densities_integrate_to_one():
    rng = np.random.default_rng(2)
    draws = {"a": rng.normal(size=(500, 2)), "b": rng.normal(3, 0.2, size=(900, 2))}
    found = tb.posterior_densities(draws, names=["x", "z"])
    for density in found.density.values():
        np.testing.assert_allclose(np.trapezoid(density, found.grid, axis=1), 1, atol=1e-4)
    frame = found.to_frame()
    assert len(frame) == 2 * 2 * found.grid.shape[1]
    assert list(frame["coefficient"].unique()) == ["x", "z"]


def test_hdi_is_that_of_arviz_stats():
    draws = np.random.default_rng(3).gamma(2.0, size=(1000, 3))
    for prob in (0.5, 0.9, 0.95):
        expected = np.stack([array_stats.hdi(column, prob=prob) for column in draws.T])
        np.testing.assert_array_equal(tb.hdi(draws, prob), expected)
        np.testing.assert_array_equal(tb.hdi(draws[:, 1], prob), expected[1])


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(400, 2))
    y = rng.random(400) < X[:, 1] / X.sum(axis=1)
    return tb.TailoredFamily([0.3], discount=20, draws=1000, random_state=0).fit(X, y)


def test_models_draws_and_arrays_are_taken_alike(fitted):
    standard, tailored = fitted.standard_, fitted.models_[0.3]
    found = tb.posterior_overlap(standard, tailored)
    assert found.names == ("intercept", "x0", "x1")
    by_draws = tb.posterior_overlap(standard.draws_, tailored.draws_)
    by_arrays = tb.posterior_overlap(standard.draws_.flat, tailored.draws_.flat)
    np.testing.assert_array_equal(found.overlap, by_draws.overlap)
    np.testing.assert_array_equal(found.overlap, by_arrays.overlap)
    np.testing.assert_array_equal(tb.hdi(tailored), tailored.draws_.hdi())


def test_widths_and_shifts_are_those_of_the_intervals(fitted):
    standard, tailored = fitted.standard_, fitted.models_[0.3]
    frame = tb.posterior_overlap(standard, tailored, prob=0.8).to_frame().set_index("coefficient")
    models = {"standard": standard, "tailored": tailored}
    both = tb.posterior_intervals(models, [0.8]).to_frame().set_index(["model", "coefficient"])
    for name in ("intercept", "x0", "x1"):
        row = frame.loc[name]
        for model in models:
            assert row[f"{model}_width"] == pytest.approx(both.loc[(model, name), "width"])
            assert row[f"{model}_median"] == pytest.approx(both.loc[(model, name), "median"])
        shift = row["tailored_median"] - row["standard_median"]
        assert row["shift"] == pytest.approx(shift)
    sd = dict(zip(standard.draws_.names, standard.draws_.sd, strict=True))
    assert frame.loc["x1", "shift_in_sd"] == pytest.approx(frame.loc["x1", "shift"] / sd["x1"])
    assert (frame["width_ratio"] > 1).all()  # tailoring discounts the likelihood
    assert frame["overlap"].is_monotonic_increasing


def test_the_forest_has_a_row_a_model_coefficient_and_prob(fitted):
    models = {"SB": fitted.standard_, "TB": fitted.models_[0.3]}
    frame = tb.posterior_intervals(models).to_frame()
    assert len(frame) == 2 * 3 * 2
    wide = frame.pivot(index=["model", "coefficient"], columns="prob", values="width")
    assert (wide[0.95] > wide[0.9]).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tb.hdi([1.0, 2.0], prob=1), ValueError, "prob must be"),
        (lambda: tb.hdi([1.0, np.nan]), ValueError, "draws must be finite, got nan at row 1"),
        (lambda: tb.hdi([1.0]), ValueError, "at least 2 draws"),
        (lambda: tb.posterior_overlap([1, 2], [[1, 2], [3, 4]]), ValueError, "same covariates"),
        (lambda: tb.posterior_overlap([1, 1], [1, 2]), ValueError, "must differ to have a density"),
        (lambda: tb.posterior_intervals([1, 2]), TypeError, "must map names to models"),
        (
            lambda: tb.posterior_intervals({"a": [[1, 2], [3, 4]]}, names=["x"]),
            ValueError,
            "must have 1 coefficients",
        ),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_family_is_standard_bayes_and_its_models_by_threshold():
    rng = np.random.default_rng(0)
    x = rng.random((200, 2))
    y = rng.random(200) < x[:, 1]
    family = tb.TailoredFamily([0.2, 0.35], discount=5, draws=100, random_state=0).fit(x, y)
    named = {"SB": family.standard_, "TB, t = 0.2": family.models_[0.2]}
    named["TB, t = 0.35"] = family.models_[0.35]
    for of in (tb.posterior_intervals, tb.posterior_densities):
        assert of(family).to_frame().equals(of(named).to_frame())
