"""The eight miscalibrations: their formula, and what each does to small and large risks."""

import numpy as np
import pytest
from scipy.special import expit, logit

import tailoredbayes as tb
from tailoredbayes.evaluation.miscalibration import MISCALIBRATIONS

RISK = np.linspace(0.01, 0.99, 99)


@pytest.mark.parametrize("pivot", [0.5, 0.2])
@pytest.mark.parametrize("kind", list(MISCALIBRATIONS), ids="-".join)
def test_a_miscalibration_is_a_line_on_the_logit_scale(kind, pivot):
    bend = MISCALIBRATIONS[kind]
    expected = logit(pivot) + bend.shift + bend.stretch * (logit(RISK) - logit(pivot))
    np.testing.assert_allclose(tb.miscalibrate(RISK, *kind, pivot=pivot), expit(expected))


@pytest.mark.parametrize("degree", ["mild", "severe"])
def test_each_type_does_what_its_name_says(degree):
    small, large = RISK < 0.5, RISK > 0.5
    over = tb.miscalibrate(RISK, "overestimation", degree) - RISK
    under = tb.miscalibrate(RISK, "underestimation", degree) - RISK
    extreme = tb.miscalibrate(RISK, "overfitting", degree) - RISK
    timid = tb.miscalibrate(RISK, "underfitting", degree) - RISK
    assert (over > 0).all()
    assert (under < 0).all()
    assert (extreme[small] < 0).all()
    assert (extreme[large] > 0).all()
    assert (timid[small] > 0).all()
    assert (timid[large] < 0).all()


def test_severe_goes_further_than_mild():
    frame = tb.miscalibration_shapes(RISK).to_frame()
    frame["apart"] = (frame["miscalibrated"] - frame["risk"]).abs()
    apart = frame.groupby(["kind", "degree"])["apart"].mean().unstack()
    assert (apart["severe"] > 2 * apart["mild"]).all()


@pytest.mark.parametrize("kind", list(MISCALIBRATIONS), ids="-".join)
def test_0_and_1_stay_and_order_is_kept(kind):
    bent = tb.miscalibrate([0.0, 0.2, 0.9, 1.0], *kind)
    assert bent[0] == 0
    assert bent[-1] == 1
    assert (np.diff(bent) > 0).all()


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="kind must be one of 'overestimation'"):
        tb.miscalibrate([0.5], "wrong")
    with pytest.raises(ValueError, match="'mild' or 'severe'"):
        tb.miscalibrate([0.5], "overfitting", "moderate")
    with pytest.raises(ValueError, match="risk must lie between 0 and 1"):
        tb.miscalibrate([50], "overfitting")
    with pytest.raises(ValueError, match="pivot must be"):
        tb.miscalibrate([0.5], "overfitting", pivot=0)


# --- What it costs ----------------------------------------------------------------------------


def rows(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, (rng.uniform(size=n) < X[:, 1] / X.sum(axis=1)).astype(int)


@pytest.mark.filterwarnings("ignore::tailoredbayes.TailoringWarning")
@pytest.mark.parametrize("design", ["crossfit", "split"])
def test_the_cost_is_that_of_stage_2_run_again_with_the_bent_risk(design):
    (X, y), (X_test, y_test) = rows(600, 0), rows(400, 1)
    family = tb.TailoredFamily([0.2, 0.4], design=design, discount=20, draws=200)
    found = tb.miscalibration_cost(family, X, y, X_test, y_test, random_state=5).to_frame()
    (rng,) = np.random.default_rng(5).spawn(1)
    family.set_params(random_state=int(rng.integers(2**31)))
    pi_u = family.fit(X, y).models_[0.2].reference_risk_
    on = np.isfinite(pi_u)
    assert on.sum() == (600 if design == "crossfit" else 480)

    def net_benefits(risk):
        family.fit(X[on], y[on], reference_risk=risk)
        risks = family.risks(X_test)
        return [tb.net_benefit(y_test, risks[:, j], t) for j, t in enumerate([0.2, 0.4])]

    right = net_benefits(pi_u[on])
    assert len(found) == 16
    for kind, degree in MISCALIBRATIONS:
        bent = net_benefits(tb.miscalibrate(pi_u[on], kind, degree))
        part = found[(found["panel"] == kind) & (found["line"] == degree)]
        np.testing.assert_allclose(part["mean"], np.subtract(right, bent), atol=1e-12)
        assert part["standard_error"].isna().all()  # one repetition


def test_repetitions_have_splits_and_seeds_of_their_own():
    (X, y), (X_test, y_test) = rows(600, 0), rows(400, 1)
    family = tb.TailoredFamily([0.3], design="split", discount=50, draws=200, random_state=9)
    cost = [
        tb.miscalibration_cost(family, X, y, X_test, y_test, repetitions=3, random_state=seed)
        for seed in (0, 0, 1)
    ]
    assert cost[0].to_frame().equals(cost[1].to_frame())
    assert not cost[0].to_frame().equals(cost[2].to_frame())
    assert (cost[0].to_frame()["repetitions"] == 3).all()
    assert (cost[0].to_frame()["standard_error"] > 0).any()
    assert family.random_state == 9  # as the user left it


def test_without_a_reference_risk_there_is_nothing_to_miscalibrate():
    X, y = rows(200, 0)
    with pytest.raises(ValueError, match="with discount=0 there is none"):
        tb.miscalibration_cost(tb.TailoredFamily([0.3], discount=0, draws=50), X, y, X, y)
    with pytest.raises(TypeError, match="family must be an unfitted TailoredFamily"):
        tb.miscalibration_cost(tb.TailoredLogisticRegression(0.3), X, y, X, y)
    with pytest.raises(ValueError, match="repetitions must be a whole number"):
        tb.miscalibration_cost(tb.TailoredFamily([0.3]), X, y, X, y, repetitions=0)
