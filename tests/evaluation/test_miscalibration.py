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
