"""Models as evaluations see them: the event's risk, or a clear refusal, never another class's."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import tailoredbayes as tb
from tailoredbayes.evaluation.models import model_risks


def sample(n=200):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    return x, rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))


@pytest.mark.parametrize(("nonevent", "event"), [(0, 1), (-1, 1), (1, 2), (False, True)])
def test_the_event_of_a_classifier_is_the_larger_number(nonevent, event):
    x, y = sample()
    expected = LogisticRegression().fit(x, y).predict_proba(x)[:, 1]
    model = LogisticRegression().fit(x, np.where(y, event, nonevent))
    np.testing.assert_allclose(model_risks(model, y, X=x)["model"], expected)


def test_labels_that_are_text_do_not_say_which_is_the_event():
    x, y = sample()
    model = LogisticRegression().fit(x, np.where(y, "case", "control"))
    for evaluate in (tb.decision_curve, tb.calibration, tb.discrimination):
        with pytest.raises(ValueError, match=r"labels 'case' and 'control'.*pass its risks"):
            evaluate(y, {"A": model}, X=x)


def test_a_pos_label_says_which_is_the_event_also_within_a_pipeline():
    x, y = sample()
    labels = np.where(y, "case", "control")
    ours = tb.TailoredLogisticRegression(
        0.3, discount=5, pos_label="case", draws=100, random_state=0
    )
    for model in (ours.fit(x, labels), make_pipeline(StandardScaler(), ours).fit(x, labels)):
        assert model_risks(model, y, X=x)["model"][y].mean() > 0.55


def test_a_classifier_of_three_classes_is_refused():
    x, y = sample()
    three = LogisticRegression().fit(x, np.where(y, 2, np.arange(len(y)) % 2))
    with pytest.raises(ValueError, match=re.escape("models['A'] must be a classifier of two")):
        tb.decision_curve(y, {"A": three}, 0.3, X=x)


def test_what_predict_proba_returns_is_not_taken_for_risks_at_two_thresholds_or_two_draws():
    x, y = sample()
    both = LogisticRegression().fit(x, y).predict_proba(x)
    message = r"got columns that add up to 1 in each row, .*; pass predict_proba\(X\)\[:, 1\]"
    with pytest.raises(ValueError, match=message):
        tb.decision_curve(y, {"A": both}, [0.2, 0.4])
    with pytest.raises(ValueError, match=message):
        tb.bayesian_decision_curve(y, {}, [0.2, 0.4], risk_draws={"A": both})
    with pytest.raises(ValueError, match=message):
        tb.patients(both, threshold=0.2)


def test_one_risk_of_a_half_for_all_is_a_model():
    _, y = sample()
    curve = tb.decision_curve(y, {"A": np.full((len(y), 2), 0.5)}, [0.2, 0.4])
    assert curve.net_benefit[0].tolist() == curve.net_benefit[1].tolist()


def test_a_table_does_not_say_whether_its_columns_are_models_or_thresholds():
    x, y = sample()
    table = pd.DataFrame({"A": 1 / (1 + np.exp(-x[:, 0])), "B": 1 / (1 + np.exp(-x[:, 1]))})
    for evaluate in (tb.decision_curve, tb.bayesian_decision_curve):
        with pytest.raises(TypeError, match=r"for models pass dict\(table.items\(\)\)"):
            evaluate(y, table, [0.2, 0.4])
    curve = tb.decision_curve(y, dict(table.items()), [0.2, 0.4])
    assert curve.models == ("A", "B", "all", "none")


def test_two_names_that_read_alike_are_refused():
    _, y = sample()
    risk = np.full(len(y), 0.3)
    with pytest.raises(ValueError, match="names that differ as text, got 1, '1'"):
        tb.decision_curve(y, {1: risk, "1": risk}, 0.2)


@pytest.mark.parametrize("model", [tb.TailoredFamily([0.3]), SVC()])
def test_what_is_not_fitted_or_gives_no_risk_is_said_to_be(model):
    with pytest.raises(TypeError, match=r"models\['m'\] must be risks or a fitted model .* got a"):
        model_risks({"m": model}, np.array([True, False]), X=np.ones((2, 1)), name="models")


def test_posteriors_of_a_family_that_is_not_fitted_are_asked_to_be():
    with pytest.raises(TypeError, match="got TailoredFamily; fit it first"):
        tb.posterior_intervals(tb.TailoredFamily([0.3]))
