"""Patients against loops over draws; deferral against tables worked by hand."""

import importlib

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import tailoredbayes as tb

module = importlib.import_module("tailoredbayes.evaluation.patients")


@pytest.fixture(scope="module")
def family():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(size=(300, 2)), columns=["a", "b"])
    X.index = [f"p{i}" for i in range(300)]
    y = rng.random(300) < X["b"] / X.sum(axis=1)
    return tb.TailoredFamily([0.3, 0.6], discount=10, draws=500, random_state=0).fit(X, y), X, y


def test_each_column_is_what_its_definition_says(family):
    family, X, _ = family
    model = family.models_[0.3]
    frame = tb.patients(model, X, prob=0.8, uncertain=0.95).to_frame()
    draws = model.risk_draws(X)
    np.testing.assert_allclose(frame["risk"], model.risk(X))
    np.testing.assert_allclose(frame["sd"], draws.std(axis=1, ddof=1))
    # Between two draws, the model's own intervals interpolate on the logit scale.
    np.testing.assert_allclose(frame[["low", "high"]], model.risk_interval(X, 0.8), rtol=1e-3)
    np.testing.assert_allclose(frame["certainty"], model.decision_certainty(X))
    np.testing.assert_array_equal(frame["treat"], model.risk(X) >= 0.3)
    certainty = np.where(frame["treat"], frame["certainty"], 1 - frame["certainty"])
    np.testing.assert_array_equal(frame["uncertain"], certainty < 0.95)
    assert list(frame.index) == list(X.index)
    assert 0 < frame["uncertain"].sum() < len(frame)


def test_blocks_of_patients_change_nothing(family, monkeypatch):
    family, X, _ = family
    whole = tb.patients(family, X, 0.6, predictive=[250, 3])
    monkeypatch.setattr(module, "_BLOCK", 500 * 7)
    parts = tb.patients(family, X, 0.6, predictive=[250, 3])
    pd.testing.assert_frame_equal(parts.to_frame(), whole.to_frame())
    pd.testing.assert_frame_equal(parts.predictive_frame(), whole.predictive_frame())


def test_predictive_draws_of_chosen_patients_are_kept(family):
    family, X, _ = family
    found = tb.patients(family, X, 0.3, predictive=[5, 2])
    assert list(found.predictive) == ["p5", "p2"]
    draws = family.models_[0.3].risk_draws(X.iloc[[5, 2]])
    np.testing.assert_allclose(np.stack(list(found.predictive.values())), draws)
    density = found.density_frame()
    for _, part in density.groupby("patient"):
        assert np.trapezoid(part["density"], part["risk"]) == pytest.approx(1, abs=1e-3)
        assert part["risk"].between(0, 1).all()
    assert tb.patients(family, X, 0.3).predictive_frame().empty
    assert tb.patients(family, X, 0.3).density_frame().empty


def test_risk_draws_alone_will_do(family):
    family, X, _ = family
    model = family.models_[0.3]
    by_draws = tb.patients(model.risk_draws(X), threshold=0.3).to_frame()
    pd.testing.assert_frame_equal(
        by_draws.reset_index(drop=True), tb.patients(model, X).to_frame().reset_index(drop=True)
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f, X: tb.patients(f, X), ValueError, "its thresholds are 0.3, 0.6"),
        (lambda f, X: tb.patients(f, X, 0.5), ValueError, "no model for the threshold 0.5"),
        (lambda f, X: tb.patients(f.models_[0.3]), ValueError, "give the covariates"),
        (lambda f, X: tb.patients(f, X, 0.3, prob=0), ValueError, "prob must be"),
        (lambda f, X: tb.patients(f, X, 0.3, uncertain=0.4), ValueError, "uncertain must be"),
        (lambda f, X: tb.patients(f, X, 0.3, predictive=[300]), ValueError, "from 0 to 299"),
        (lambda f, X: tb.patients([[0.1, 0.2]]), ValueError, "threshold must be given"),
        (lambda f, X: tb.patients([0.1, 0.2], threshold=0.1), ValueError, "two-dimensional"),
        (lambda f, X: tb.patients([[0.1, 2.0]], threshold=0.1), ValueError, "between 0 and 1"),
        (lambda f, X: tb.patients([[0.1, 0.2]], threshold=1), ValueError, "strictly between"),
        (
            lambda f, X: tb.patients(LogisticRegression(), X, 0.3),
            TypeError,
            "whose risks have no posterior",
        ),
    ],
)
def test_bad_input_is_refused(family, call, error, message):
    with pytest.raises(error, match=message):
        call(family[0], family[1])


# --- Deferral ---------------------------------------------------------------------------------

# Six patients, t = 0.2 so that a false positive costs a quarter of a case. Certainty of treating:
# 1, .75, .75, .25, .25, 0; the middle four are uncertain.
DRAWS = np.array(
    [
        [0.5, 0.5, 0.5, 0.5],
        [0.1, 0.3, 0.3, 0.3],
        [0.1, 0.3, 0.3, 0.3],
        [0.1, 0.1, 0.1, 0.3],
        [0.1, 0.1, 0.1, 0.3],
        [0.1, 0.1, 0.1, 0.1],
    ]
)
EVENT = np.array([1, 1, 0, 1, 0, 0])


def test_deferral_with_a_perfect_test_by_hand():
    """Without: TP = 2, FP = 1. With: all 3 cases found, nothing else treated, 4 tests."""
    found = tb.deferral(EVENT, tb.patients(DRAWS, threshold=0.2), cost=0.06, levels=[0.7, 0.9])
    assert found.without == pytest.approx(2 / 6 - 1 / 6 / 4)
    frame = found.to_frame().set_index("level")
    assert frame.loc[0.7, "deferred"] == 0
    assert frame.loc[0.7, "gain"] == 0
    assert np.isnan(frame.loc[0.7, "break_even_cost"])
    assert frame.loc[0.9, "deferred"] == pytest.approx(4 / 6)
    assert frame.loc[0.9, "net_benefit"] == pytest.approx(3 / 6 - 0.06 * 4 / 6)
    # One case more and one false positive less, over four tests.
    assert frame.loc[0.9, "break_even_cost"] == pytest.approx((1 + 0.25) / 4)


def test_deferral_with_an_imperfect_test_by_hand():
    """Sensitivity 0.8, specificity 0.6: of 2 cases 1.6 found, of 2 others 0.8 treated."""
    found = tb.deferral(
        EVENT,
        tb.patients(DRAWS, threshold=0.2),
        cost=0.01,
        sensitivity=0.8,
        specificity=0.6,
        levels=0.9,
    )
    expected = (1 + 1.6) / 6 - 0.8 / 6 / 4 - 0.01 * 4 / 6
    assert found.net_benefit[0] == pytest.approx(expected)
    assert found.gain[0] == pytest.approx(expected - found.without)


def test_deferral_without_anyone_uncertain_is_the_rule_itself(family):
    family, X, y = family
    model = family.models_[0.3]
    found = tb.deferral(y, tb.patients(model, X), cost=0.02)
    assert found.without == pytest.approx(tb.net_benefit(y, model.risk(X), 0.3))
    assert 0.9 in found.level
    assert (np.diff(found.deferred) >= 0).all()


def test_at_the_break_even_cost_deferral_gains_nothing(family):
    family, X, y = family
    patients = tb.patients(family, X, 0.3)
    even = tb.deferral(y, patients, cost=0.0, levels=0.9).break_even_cost[0]
    assert tb.deferral(y, patients, cost=even, levels=0.9).gain[0] == pytest.approx(0, abs=1e-12)


def test_the_error_of_the_gain_is_that_of_a_mean_over_patients():
    found = tb.deferral(EVENT, tb.patients(DRAWS, threshold=0.2), cost=0.06, levels=0.9)
    row = np.array([0, 0, 0.25, 1, 0, 0]) - 0.06 * np.array([0, 1, 1, 1, 1, 0])
    assert found.gain[0] == pytest.approx(row.mean())
    assert found.gain_se[0] == pytest.approx(row.std() / 6**0.5)


def test_the_error_of_the_gain_is_that_of_net_benefit_whatever_the_weights_add_up_to():
    """A perfect free test of everyone: the gain is the net benefit of y itself less the rule's."""
    weight = np.array([0.1, 0.3, 0.2, 0.05, 0.1, 0.2])
    surely = tb.patients(np.repeat(EVENT[:, None] * 0.5, 4, axis=1), threshold=0.2)
    unsure = np.array([[0.1, 0.1, 0.1, 0.3]] * 6)  # no one is treated, everyone is uncertain
    for scale in (1, 100):
        found = tb.deferral(
            EVENT,
            tb.patients(unsure, threshold=0.2),
            cost=0.0,
            levels=0.9,
            sample_weight=scale * weight,
        )
        curve = tb.decision_curve(EVENT, surely.risk, 0.2, sample_weight=scale * weight)
        assert found.gain[0] == pytest.approx(curve.net_benefit[0, 0])
        assert found.gain_se[0] == pytest.approx(curve.standard_error[0, 0])


def test_integer_weights_equal_repeated_patients_save_for_the_error():
    """A patient who stands for three tells less than three patients do."""
    count = np.array([1, 2, 0, 3, 1, 2])
    found = tb.deferral(
        EVENT, tb.patients(DRAWS, threshold=0.2), cost=0.03, sample_weight=count
    ).to_frame()
    repeated = tb.patients(np.repeat(DRAWS, count, axis=0), threshold=0.2)
    expected = tb.deferral(np.repeat(EVENT, count), repeated, cost=0.03).to_frame()
    assert (found["gain_se"] >= expected["gain_se"]).all()
    pd.testing.assert_frame_equal(found.drop(columns="gain_se"), expected.drop(columns="gain_se"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cost": -1}, "cost must be"),
        ({"cost": 0.1, "sensitivity": 1.1}, "sensitivity must be"),
        ({"cost": 0.1, "specificity": -0.1}, "specificity must be"),
        ({"cost": 0.1, "levels": [0.4]}, "levels must lie from 0.5 to 1"),
        ({"cost": 0.1, "sample_weight": np.zeros(6)}, "at least one weight above 0"),
        ({"cost": 0.1, "sample_weight": np.ones(5)}, "same length"),
    ],
)
def test_bad_deferrals_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        tb.deferral(EVENT, tb.patients(DRAWS, threshold=0.2), **options)


def test_a_deferral_is_of_what_patients_returned():
    with pytest.raises(TypeError, match=r"found must be what patients\(\) returned, got ndarray"):
        tb.deferral(EVENT, DRAWS, cost=0.1)
