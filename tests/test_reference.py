"""Stage 1: the reference risk of a row never comes from a model that saw the row."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from plain import laplace, ones_first, predictive_mean
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from tailoredbayes.fitting import Settings, Training, stage_1
from tailoredbayes.inference import sample
from tailoredbayes.posterior import TailoredPosterior
from tailoredbayes.predictive import mean_risk
from tailoredbayes.reference import (
    Recalibration,
    check_design,
    given_reference,
    model_reference,
    recalibration,
    standard_reference,
    stratified_folds,
)


def rows(n=300, seed=0, d=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, rng.random(n) < expit(x[:, 0] - 0.5 * x[:, 1] - 0.7)


def alone(x, y, train, test, weight=None):
    """The standard posterior predictive mean of some rows, by a fit of other rows alone."""
    w = np.ones(len(y)) if weight is None else weight
    z = ones_first(x)
    return predictive_mean(z[test], *laplace(z[train], y[train], w[train]))


# --- Out of fold ------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_cross_fitting_equals_refitting_each_fold_alone(weighted):
    x, y = rows()
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None
    found = standard_reference(
        TailoredPosterior(x, y), y, "crossfit", np.random.default_rng(2), weight
    )
    folds = stratified_folds(y, 10, np.random.default_rng(2))
    for fold in range(10):
        expected = alone(x, y, folds != fold, folds == fold, weight)
        np.testing.assert_allclose(found.risk[folds == fold], expected, rtol=0, atol=1e-8)
    assert found.design == "crossfit"
    assert found.development.all()
    assert found.findings == ()


@pytest.mark.parametrize("i", [0, 17, 299])
def test_a_rows_own_outcome_does_not_move_its_reference_risk(i):
    x, y = rows()
    folds = (np.arange(len(y)) % 7).astype(np.int16)
    flipped = y.copy()
    flipped[i] = ~y[i]
    rng = np.random.default_rng(0)
    before, after = (
        standard_reference(TailoredPosterior(x, y_), y_, "crossfit", rng, folds=folds).risk
        for y_ in (y, flipped)
    )
    own = folds == folds[i]
    assert after[own] == pytest.approx(before[own], rel=1e-10)
    assert (np.abs(after[~own] - before[~own]) > 1e-6).all()


class Rememberer(ClassifierMixin, BaseEstimator):
    """Says 0.9 of a row it was fitted on, 0.1 of another; the first column names the row."""

    def fit(self, X, y, sample_weight=None):
        self.seen_, self.classes_ = set(X[:, 0]), np.unique(y)
        return self

    def predict_proba(self, X):
        risk = np.where([row in self.seen_ for row in X[:, 0]], 0.9, 0.1)
        return np.column_stack([1 - risk, risk])


@pytest.mark.parametrize("design", ["crossfit", 0.2, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_no_model_predicts_a_row_it_saw(design, weighted):
    x, y = rows()
    x = np.column_stack([np.arange(len(y)), x])
    weight = np.ones(len(y)) if weighted else None
    found = model_reference(Rememberer(), x, y, design, np.random.default_rng(0), weight)
    assert (found.risk[found.development] == 0.1).all()
    assert np.isnan(found.risk[~found.development]).all()


def test_stratified_folds_share_out_the_events():
    _, y = rows(n=101)
    folds = stratified_folds(y, 5, np.random.default_rng(0))
    events = np.bincount(folds, weights=y)
    assert events.max() - events.min() <= 1
    assert (np.bincount(folds) >= 20).all()
    # At random: another stream, other folds; the same stream, the same.
    assert (folds != stratified_folds(y, 5, np.random.default_rng(1))).any()
    assert (folds == stratified_folds(y, 5, np.random.default_rng(0))).all()


def test_with_few_events_fewer_models_are_cross_fitted():
    x, y = rows(n=60)
    y[:] = np.arange(60) < 3
    found = standard_reference(TailoredPosterior(x, y), y, "crossfit", np.random.default_rng(0))
    folds = stratified_folds(y, 3, np.random.default_rng(0))
    for fold in range(3):
        expected = alone(x, y, folds != fold, folds == fold)
        np.testing.assert_allclose(found.risk[folds == fold], expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("wrap", ["list", "splitter"])
@pytest.mark.parametrize("own_model", [False, True])
def test_the_users_splits_are_those_of_cross_fitting(wrap, own_model):
    x, y = rows()
    splitter = StratifiedKFold(4, shuffle=True, random_state=3)
    splits = list(splitter.split(x, y))
    settings = Settings(
        cv=splits if wrap == "list" else splitter,
        reference=LogisticRegression(C=3.0) if own_model else None,
    )
    base = TailoredPosterior(x, y)
    found = stage_1(Training(x, y, X=x), settings, np.random.default_rng(0), base)
    for train, test in splits:
        if own_model:
            fitted = LogisticRegression(C=3.0).fit(x[train], y[train])
            expected = fitted.predict_proba(x[test])[:, 1]
        else:
            expected = alone(x, y, train, test)
        np.testing.assert_allclose(found.risk[test], expected, rtol=0, atol=1e-8)


# --- Designs ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("design", "share"), [("split", 0.2), (0.2, 0.2), (0.35, 0.35)])
def test_a_split_learns_from_the_design_rows_and_predicts_the_others(design, share):
    x, y = rows(n=400)
    found = standard_reference(
        TailoredPosterior(x, y), y, check_design(design), np.random.default_rng(4)
    )
    used = found.development
    assert (~used).sum() == round(share * 400)
    assert y[~used].mean() == pytest.approx(y.mean(), abs=0.01)
    assert np.isnan(found.risk[~used]).all()
    np.testing.assert_allclose(found.risk[used], alone(x, y, ~used, used), rtol=0, atol=1e-8)
    assert found.design == "split"


def test_development_rows_have_no_part_in_the_split_model():
    x, y = rows(n=400)
    first = standard_reference(TailoredPosterior(x, y), y, 0.2, np.random.default_rng(4))
    used = first.development
    moved = np.where(used[:, None], 2 * x, x)  # outcomes, and so the split, are as they were
    again = standard_reference(TailoredPosterior(moved, y), y, 0.2, np.random.default_rng(4))
    design = np.flatnonzero(~used)
    expected = alone(np.vstack([x[design], moved]), np.r_[y[design], y], slice(80), slice(80, 480))
    np.testing.assert_allclose(again.risk[used], expected[used], rtol=0, atol=1e-8)


def test_designs_by_name():
    assert check_design("crossfit") == "crossfit"
    assert check_design("split") == 0.2
    assert check_design(0.5) == 0.5


@pytest.mark.parametrize("design", ["halves", 0, 1, 1.5, -0.2, True, None, np.nan])
def test_an_unknown_design_is_refused(design):
    with pytest.raises(ValueError, match="design must be"):
        check_design(design)


# --- The posterior predictive mean ------------------------------------------------------------


def test_of_many_rows_the_reference_risk_is_the_mean_over_posterior_draws():
    # The normal approximation is off by O(1/n), here 6e-5; the draws by less.
    x, y = rows(n=20_000)
    found = standard_reference(TailoredPosterior(x, y), y, 0.5, np.random.default_rng(0))
    design, used = ~found.development, found.development
    posterior = TailoredPosterior(x[design], y[design])
    draws = sample(posterior, "importance", draws=8000, random_state=1)
    assert np.abs(found.risk[used] - mean_risk(x[used], draws.flat)).max() < 3e-4


@pytest.mark.parametrize("sampler", ["importance", "nuts", "metropolis"])
def test_of_hundreds_it_is_near_it(sampler):
    x, y = rows(n=2000)
    found = standard_reference(TailoredPosterior(x, y), y, 0.4, np.random.default_rng(0))
    design, used = ~found.development, found.development
    posterior = TailoredPosterior(x[design], y[design])
    draws = sample(posterior, sampler, draws=4000, random_state=1)
    assert np.abs(found.risk[used] - mean_risk(x[used], draws.flat)).max() < 3e-3


# --- Any classifier ---------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_a_pipeline_with_other_covariates_is_fitted_fold_by_fold(weighted):
    x, y = rows(d=3)
    frame = pd.DataFrame(x, columns=["age", "size", "score"])
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y)) if weighted else None
    model = make_pipeline(
        ColumnTransformer([("keep", StandardScaler(), ["age", "score"])]), LogisticRegression(C=2.0)
    )
    with parallel_config("threading"):
        found = model_reference(
            model, frame, y, "crossfit", np.random.default_rng(2), weight, n_jobs=2
        )
    folds = stratified_folds(y, 10, np.random.default_rng(2))
    for fold in range(10):
        train, test = folds != fold, folds == fold
        some = x[train][:, [0, 2]]
        centre, scale = some.mean(axis=0), some.std(axis=0)
        fitted = LogisticRegression(C=2.0).fit(
            (some - centre) / scale, y[train], None if weight is None else weight[train]
        )
        expected = fitted.predict_proba((x[test][:, [0, 2]] - centre) / scale)[:, 1]
        np.testing.assert_allclose(found.risk[test], expected, rtol=0, atol=1e-8)
    assert "ColumnTransformer" in found.source


def test_the_model_given_is_left_unfitted():
    x, y = rows()
    model = LogisticRegression()
    model_reference(model, x, y, "crossfit", np.random.default_rng(0))
    assert not hasattr(model, "coef_")


def test_a_reference_must_give_probabilities():
    x, y = rows()
    with pytest.raises(
        TypeError, match="reference must be a classifier with fit and predict_proba"
    ):
        model_reference(LinearSVC(), x, y, "crossfit", np.random.default_rng(0))


def test_a_reference_must_take_the_sample_weight_it_is_given():
    x, y = rows()
    with pytest.raises(TypeError, match=r"reference must be .* takes sample_weight"):
        model_reference(
            KNeighborsClassifier(), x, y, "crossfit", np.random.default_rng(0), np.ones(len(y))
        )
    # Without one there is nothing to take.
    found = model_reference(KNeighborsClassifier(), x, y, "crossfit", np.random.default_rng(0))
    assert not np.isnan(found.risk).any()


# --- Risks from outside -----------------------------------------------------------------------


def cox_by_scipy(risk, y, weight=1.0):
    eta = np.log(risk / (1 - risk))

    def loss(ab):
        linear = ab[0] + ab[1] * eta
        return -(weight * np.where(y, log_expit(linear), log_expit(-linear))).sum()

    return minimize(loss, [0.0, 1.0], method="BFGS", options={"gtol": 1e-7}).x


@pytest.mark.parametrize("weighted", [False, True])
def test_recalibration_is_a_logistic_regression_on_the_logit(weighted):
    rng = np.random.default_rng(0)
    eta = rng.normal(size=2000)
    y = rng.random(2000) < expit(0.5 + 0.6 * eta)
    weight = rng.uniform(0.1, 3, 2000) if weighted else None
    cox = recalibration(expit(eta), y, weight)
    expected = cox_by_scipy(expit(eta), y, 1.0 if weight is None else weight)
    assert (cox.intercept, cox.slope) == pytest.approx(tuple(expected), abs=1e-4)
    # An unpenalised logistic regression of another make.
    other = LogisticRegression(C=1e10, tol=1e-8).fit(eta[:, None], y, weight)
    assert cox.slope == pytest.approx(other.coef_[0, 0], abs=1e-3)
    applied = cox.apply(np.array([0.1, 0.5]))
    by_hand = expit(cox.intercept + cox.slope * np.array([np.log(1 / 9), 0]))
    assert applied == pytest.approx(by_hand)


def test_recalibrated_risks_fit_the_data():
    rng = np.random.default_rng(0)
    eta = rng.normal(size=2000)
    y = rng.random(2000) < expit(0.5 + 0.6 * eta)
    found = given_reference(expit(eta), y, recalibrate=True)
    again = recalibration(found.risk, y)
    assert (again.intercept, again.slope) == pytest.approx((0, 1), abs=1e-4)
    assert found.recalibrated
    assert found.findings == ()
    assert found.development.all()
    assert (found.source, found.design) == ("given", "outside")


def test_miscalibrated_risks_are_told_and_used_as_they_are():
    rng = np.random.default_rng(0)
    eta = rng.normal(size=2000)
    y = rng.random(2000) < expit(1.0 + 0.4 * eta)
    found = given_reference(expit(eta), y)
    (finding,) = found.findings
    assert finding.code == "reference-miscalibrated"
    assert finding.value == found.recalibration.slope == pytest.approx(0.4, abs=0.1)
    assert f"{found.recalibration.intercept:.2f}" in finding.message
    assert found.risk.tolist() == expit(eta).tolist()
    assert not found.recalibrated


@pytest.mark.parametrize(
    ("intercept", "slope", "told"),
    [(0, 1, False), (0.5, 1, True), (-0.5, 1, True), (0, 0.5, True), (0, 1.6, True)],
)
def test_either_the_intercept_or_the_slope_may_be_off(intercept, slope, told):
    rng = np.random.default_rng(1)
    eta = rng.normal(size=5000)
    y = rng.random(5000) < expit(intercept + slope * eta)
    codes = [finding.code for finding in given_reference(expit(eta), y).findings]
    assert codes == (["reference-miscalibrated"] if told else [])


def test_calibrated_risks_are_taken_without_a_word():
    rng = np.random.default_rng(0)
    risk = expit(rng.normal(size=5000))
    found = given_reference(risk, rng.random(5000) < risk)
    assert found.findings == ()
    assert found.recalibration.slope == pytest.approx(1, abs=0.15)


def test_risks_of_0_and_1_are_taken_and_told():
    rng = np.random.default_rng(0)
    risk = expit(rng.normal(size=2000))
    y = rng.random(2000) < risk
    risk[:10], risk[10:20] = 0.0, 1.0
    y[:10], y[10:20] = False, True
    found = given_reference(risk, y)
    (finding,) = (f for f in found.findings if f.code == "saturated-reference")
    assert finding.value == pytest.approx(0.01)
    assert found.risk.tolist() == risk.tolist()
    assert np.isfinite([found.recalibration.intercept, found.recalibration.slope]).all()
    assert np.isfinite(given_reference(risk, y, recalibrate=True).risk).all()


def test_a_saturated_model_is_told():
    x, y = rows()
    found = model_reference(KNeighborsClassifier(1), x, y, "crossfit", np.random.default_rng(0))
    assert [finding.code for finding in found.findings] == ["saturated-reference"]
    assert found.findings[0].value == 1


def test_recalibration_of_the_calibrated_is_the_identity():
    risk = np.array([0.01, 0.3, 0.999])
    assert Recalibration(0.0, 1.0).apply(risk) == pytest.approx(risk)


# --- Bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize("design", ["crossfit", 0.2])
def test_one_event_is_too_few_for_stage_1(design):
    x, y = rows(n=40)
    y[:] = np.arange(40) == 7
    with pytest.raises(ValueError, match=r"y must hold at least 2 events and 2 non-events"):
        standard_reference(TailoredPosterior(x, y), y, design, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"y must hold at least 2 events and 2 non-events"):
        model_reference(LogisticRegression(), x, y, design, np.random.default_rng(0))


def test_a_split_that_leaves_no_events_on_a_side_is_refused():
    x, y = rows(n=40)
    y[:] = np.arange(40) < 2
    with pytest.raises(ValueError, match="design must leave both classes on both sides"):
        standard_reference(TailoredPosterior(x, y), y, 0.02, np.random.default_rng(0))


@pytest.mark.parametrize("own_model", [False, True])
def test_the_users_folds_must_leave_both_classes_to_learn_from(own_model):
    x, y = rows(n=40)
    events, others = np.flatnonzero(y), np.flatnonzero(~y)
    # Without the first fold there are no events.
    splits = [(others[5:], np.r_[events, others[:5]]), (np.r_[events, others[:5]], others[5:])]
    settings = Settings(cv=splits, reference=LogisticRegression() if own_model else None)
    with pytest.raises(ValueError, match="cv must leave events and non-events to learn from"):
        stage_1(Training(x, y, X=x), settings, np.random.default_rng(0), TailoredPosterior(x, y))
