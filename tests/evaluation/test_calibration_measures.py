"""Calibration against plain formulae, its own definition by loops, and known distortions."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from statistical.yardsticks import critical_z

import tailoredbayes as tb
from tailoredbayes.evaluation import calibration as module
from tailoredbayes.evaluation.miscalibration import MISCALIBRATIONS


def sample(n=400, seed=0):
    rng = np.random.default_rng(seed)
    risk = rng.beta(1.5, 3, size=n)
    return rng.random(n) < risk, risk


def one(y, risk, **options):
    return tb.calibration(y, risk, **options).models["model"]


def table(y, risk, **options):
    return tb.calibration(y, risk, **options).to_frame().set_index("statistic")


# --- Numbers ----------------------------------------------------------------------------------


def test_the_intercept_in_the_large_balances_events_and_risks():
    y, risk = sample()
    stated = expit(logit(risk) + 0.7)
    found = one(y, stated).in_the_large
    root = brentq(lambda a: (y - expit(a + logit(stated))).sum(), -5, 5, xtol=1e-12)
    fitted = expit(root + logit(stated))
    assert found.value == pytest.approx(root, abs=1e-9)
    assert found.se == pytest.approx((fitted * (1 - fitted)).sum() ** -0.5)


def test_coxs_line_is_the_logistic_regression_on_the_logit():
    y, risk = sample()
    found = one(y, risk)
    model = LogisticRegression(C=1e10, tol=1e-10).fit(logit(risk)[:, None], y)
    fitted = model.predict_proba(logit(risk)[:, None])[:, 1]
    design = np.stack([np.ones(len(y)), logit(risk)], axis=1)
    covariance = np.linalg.inv(design.T @ (design * (fitted * (1 - fitted))[:, None]))
    assert found.cox_intercept.value == pytest.approx(model.intercept_[0], abs=1e-4)
    assert found.slope.value == pytest.approx(model.coef_[0, 0], abs=1e-4)
    assert found.slope.se == pytest.approx(covariance[1, 1] ** 0.5, rel=1e-4)
    assert found.cox_intercept.se == pytest.approx(covariance[0, 0] ** 0.5, rel=1e-4)


def test_observed_to_expected_of_a_constant_risk_has_the_textbook_error():
    """sqrt((1 - O/n) / O) for log(O/E)."""
    y = np.arange(50) < 20
    found = one(y, np.full(50, 0.25)).observed_expected
    assert found.value == pytest.approx(20 / 12.5)
    assert found.se / found.value == pytest.approx(np.sqrt((1 - 20 / 50) / 20))


@pytest.mark.parametrize("kind", list(MISCALIBRATIONS), ids="-".join)
def test_coxs_line_recovers_a_deliberate_miscalibration(kind):
    """Slope 1 / stretch, intercept -shift / stretch, to sampling error."""
    y, risk = sample(20_000, seed=1)
    bend = MISCALIBRATIONS[kind]
    found = one(y, tb.miscalibrate(risk, *kind))
    z = critical_z(2 * len(MISCALIBRATIONS))
    assert abs(found.slope.value - 1 / bend.stretch) < z * found.slope.se
    apart = found.cox_intercept.value + bend.shift / bend.stretch
    assert abs(apart) < z * found.cox_intercept.se
    if bend.stretch == 1:
        assert abs(found.in_the_large.value + bend.shift) < z * found.in_the_large.se


# --- The curve --------------------------------------------------------------------------------


def loess_by_definition(x, y, w, at, span, degree):
    """Sort by distance, reach the span, fit a weighted polynomial: one point at a time."""
    values = []
    for point in at:
        distance = np.abs(x - point)
        order = np.argsort(distance)
        last = np.flatnonzero(np.cumsum(w[order]) >= span * w.sum() - 1e-9)[0]
        h = distance[order[last]]
        kernel = np.where(distance < h, (1 - (distance / h) ** 3) ** 3, 0)
        fit = np.polyfit(x - point, y, degree, w=np.sqrt(w * kernel))
        values.append(fit[-1])
    return np.clip(values, 0, 1)


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("span", [0.4, 0.75, 1.0])
def test_the_curve_is_loess_by_its_definition(degree, span):
    y, risk = sample(80)
    weight = np.random.default_rng(2).exponential(size=80)
    curve = one(y, risk, span=span, degree=degree, sample_weight=weight).curve
    expected = loess_by_definition(risk, y, weight, curve.risk, span, degree)
    np.testing.assert_allclose(curve.observed, expected, atol=1e-7)


def test_ici_is_the_mean_distance_of_the_curve_from_the_diagonal():
    y, risk = sample(80)
    found = one(y, risk)
    apart = np.abs(loess_by_definition(risk, y, np.ones(80), risk, 0.75, 2) - risk)
    assert found.ici == pytest.approx(apart.mean(), abs=1e-7)
    assert found.e50 == pytest.approx(np.quantile(apart, 0.5, method="inverted_cdf"), abs=1e-7)
    assert found.e90 == pytest.approx(np.quantile(apart, 0.9, method="inverted_cdf"), abs=1e-7)
    assert found.emax == pytest.approx(apart.max(), abs=1e-7)


def test_ici_of_a_calibrated_model_is_near_zero():
    """20,000 rows: the curve's own error is about 0.004, so 0.01 leaves room."""
    y, risk = sample(20_000, seed=3)
    found = one(y, risk)
    assert found.ici < 0.01
    assert found.e90 < 0.015


@pytest.mark.parametrize("kind", ["overestimation", "underestimation", "overfitting"])
def test_the_curve_recovers_a_known_distortion(kind):
    """Where 98% of the rows lie, the curve is within 0.03 of the true risk at each stated one."""
    y, risk = sample(20_000, seed=4)
    stated = tb.miscalibrate(risk, kind, "mild")
    curve = one(y, stated, span=0.3).curve
    order = np.argsort(stated)
    truth = np.interp(curve.risk, stated[order], risk[order])
    inside = (curve.risk > np.quantile(stated, 0.01)) & (curve.risk < np.quantile(stated, 0.99))
    assert np.abs(curve.observed - truth)[inside].max() < 0.03
    assert one(y, stated, span=0.3).ici == pytest.approx(np.abs(stated - risk).mean(), abs=0.005)


def test_gathering_neighbours_changes_little(monkeypatch):
    """2000 risks in 1000 groups: the curve moves by less than 0.001, far below its error."""
    y, risk = sample(2000, seed=5)
    gathered = one(y, risk, threshold=0.3)
    monkeypatch.setattr(module, "_MOST_GROUPS", 2000)
    exact = one(y, risk, threshold=0.3)
    np.testing.assert_allclose(gathered.curve.observed, exact.curve.observed, atol=1e-3)
    assert gathered.ici == pytest.approx(exact.ici, abs=1e-4)
    assert gathered.near.ici == pytest.approx(exact.near.ici, abs=1e-4)


def test_few_distinct_risks_are_fitted_as_they_are():
    risk = np.repeat([0.2, 0.4], 10)
    y = np.r_[np.arange(10) < 4, np.arange(10) < 8]
    curve = one(y, risk).curve
    np.testing.assert_allclose(curve.observed[[0, -1]], [0.4, 0.8], atol=1e-9)


# --- Near the threshold -----------------------------------------------------------------------


def test_near_the_threshold_rows_count_by_a_tricube_kernel():
    y, risk = sample()
    near = one(y, risk, threshold=0.3, bandwidth=0.1).near
    kernel = np.clip(1 - np.abs((risk - 0.3) / 0.1) ** 3, 0, None) ** 3
    assert near.observed_expected.value == pytest.approx((kernel @ y) / (kernel @ risk))
    curve = loess_by_definition(risk, y, np.ones(len(y)), risk, 0.75, 2)
    assert near.ici == pytest.approx(kernel @ np.abs(curve - risk) / kernel.sum(), abs=1e-7)
    at = loess_by_definition(risk, y, np.ones(len(y)), [0.3], 0.75, 2)[0]
    assert near.observed.value == pytest.approx(at, abs=1e-7)
    assert near.rows == np.count_nonzero(np.abs(risk - 0.3) < 0.1)


def test_a_fifth_of_the_rows_is_near_by_default():
    y, risk = sample(500)
    near = one(y, risk, threshold=0.3).near
    assert near.rows == 100


def test_a_threshold_beyond_all_risks_has_no_curve():
    y, risk = sample()
    near = one(y, 0.5 * risk, threshold=0.9, bandwidth=0.1).near
    assert np.isnan(near.observed.value)
    assert np.isnan(near.ici)
    assert np.isnan(near.observed_expected.value)
    assert near.rows == 0


# --- Weights ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [300, 2500])
def test_integer_weights_equal_repeated_rows(n):
    y, risk = sample(n)
    count = np.random.default_rng(6).integers(0, 4, size=n)
    weighted = tb.calibration(y, risk, sample_weight=count, threshold=0.3)
    repeated = tb.calibration(np.repeat(y, count), np.repeat(risk, count), threshold=0.3)
    for name in ("to_frame", "curve_frame", "histogram_frame"):
        left, right = getattr(weighted, name)(), getattr(repeated, name)()
        pd.testing.assert_frame_equal(left, right, rtol=1e-6, atol=1e-8)


# --- What has no answer -----------------------------------------------------------------------


def test_equal_risks_have_no_line_but_an_intercept_in_the_large():
    y = np.arange(40) < 10
    found = one(y, np.full(40, 0.4))
    assert np.isnan([found.slope.value, found.cox_intercept.value]).all()
    assert found.in_the_large.value == pytest.approx(logit(0.25) - logit(0.4))
    assert found.ici == pytest.approx(0.15)


def test_risks_that_separate_the_outcomes_have_no_slope():
    found = one([0, 0, 1, 1], [0.1, 0.2, 0.6, 0.7])
    assert np.isnan([found.slope.value, found.slope.low, found.slope.high]).all()


def test_risks_of_0_and_1_have_a_bounded_logit():
    y, risk = sample()
    found = one(y, np.where(risk > 0.5, 1.0, np.where(risk < 0.1, 0.0, risk)))
    assert np.isfinite([found.slope.value, found.in_the_large.value]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y_true": [1, 1, 1]}, "y_true must hold both events"),
        ({"models": [0.1, 0.2, 1.2]}, "models must lie between 0 and 1, got 1.2 at row 2"),
        ({"models": [0.1, 0.2, np.nan]}, "models must lie between 0 and 1, got nan at row 2"),
        ({"models": [0.1, 0.2]}, "must have the same length"),
        ({"models": {}}, "at least one model"),
        ({"sample_weight": [0, 0, 0]}, "at least one weight above 0"),
        ({"sample_weight": [1, 0, 1]}, "y_true must hold both events"),
        ({"threshold": 0}, "threshold must lie strictly between 0 and 1"),
        ({"threshold": 1}, "threshold must lie strictly between 0 and 1"),
        ({"bandwidth": 0.1}, "give threshold="),
        ({"bandwidth": 0, "threshold": 0.3}, "bandwidth must be a finite number above 0"),
        ({"span": 0}, "span must be"),
        ({"degree": 3}, "degree must be 1"),
        ({"prob": 1}, "prob must be"),
    ],
)
def test_bad_input_is_refused(options, message):
    given = {"y_true": [1, 0, 1], "models": [0.2, 0.3, 0.4], **options}
    with pytest.raises(ValueError, match=message):
        tb.calibration(given.pop("y_true"), given.pop("models"), **given)


# --- Models and frames ------------------------------------------------------------------------


def test_a_family_is_taken_at_its_model_for_the_threshold():
    rng = np.random.default_rng(7)
    X = rng.uniform(size=(300, 2))
    y = rng.random(300) < X[:, 1] / X.sum(axis=1)
    family = tb.TailoredFamily([0.3, 0.6], discount=5, random_state=0).fit(X, y)
    both = {"family": family, "its model": family.models_[0.6]}
    found = tb.calibration(y, both, X=X, threshold=0.6).models
    assert found["family"].slope == found["its model"].slope
    with pytest.raises(ValueError, match="pass one of its models"):
        tb.calibration(y, family, X=X)
    with pytest.raises(ValueError, match="give the covariates"):
        tb.calibration(y, family.standard_)


def test_the_histogram_counts_every_row():
    y, risk = sample()
    frame = tb.calibration(y, {"a": risk, "b": 1 - risk}).histogram_frame()
    by_model = frame.groupby("model")[["events", "nonevents"]].sum()
    assert (by_model["events"] == y.sum()).all()
    assert (by_model["nonevents"] == (~y).sum()).all()


def test_the_frame_says_which_intercept_is_which():
    y, risk = sample()
    labels = table(y, risk, threshold=0.2)["label"]
    assert "in the large" in labels["in_the_large"]
    assert "Cox" in labels["cox_intercept"]
    assert "t = 0.2" in labels["ici_near"]


# --- Intervals --------------------------------------------------------------------------------


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say():
    """1000 calibrated samples of 400 rows, 95% intervals; 2 points of room for n = 400."""
    held = []
    for seed in range(1000):
        y, risk = sample(400, seed=seed)
        found = one(y, risk, threshold=0.3)
        pairs = [
            (found.in_the_large, 0),
            (found.cox_intercept, 0),
            (found.slope, 1),
            (found.observed_expected, 1),
            (found.near.observed, 0.3),
        ]
        held.append([e.low <= truth <= e.high for e, truth in pairs])
    share = np.mean(held, axis=0)
    room = 0.02 + critical_z(len(share)) * np.sqrt(0.95 * 0.05 / 1000)
    assert (np.abs(share - 0.95) < room).all(), share


def test_rows_of_weight_zero_are_not_counted():
    found = tb.calibration([0, 1, 0, 1], [0.1, 0.4, 0.5, 0.8], sample_weight=[1, 2, 0, 1])
    assert (found.n, found.events, found.nonevents) == (3, 3.0, 1.0)
