"""DecisionCurveDisplay: scikit-learn's manner, the library's numbers."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import tailoredbayes as tb
from tailoredbayes.plots import DecisionCurveDisplay

T = np.array([0.2, 0.3, 0.5])


def classifier(records, labels=(0, 1)):
    return LogisticRegression().fit(records.X, np.array(labels)[records.y])


def test_the_line_is_the_net_benefit_of_the_classifier(records):
    model = classifier(records)
    display = DecisionCurveDisplay.from_estimator(
        model, records.X_test, records.y_test, thresholds=T
    )
    risk = model.predict_proba(records.X_test)[:, 1]
    assert_array_equal(display.line_.get_xdata(), T)
    assert_allclose(display.line_.get_ydata(), tb.net_benefit(records.y_test, risk, T))
    assert_allclose(
        display.treat_all_.get_ydata(), [tb.net_benefit_treat_all(records.y_test, t) for t in T]
    )
    assert_array_equal(display.treat_none_.get_ydata(), 0)
    assert display.ax_.figure is display.figure_
    assert display.line_.get_label() == display.name == "LogisticRegression"


def test_predictions_and_estimator_agree(records):
    model = classifier(records)
    risk = model.predict_proba(records.X_test)[:, 1]
    one = DecisionCurveDisplay.from_estimator(model, records.X_test, records.y_test)
    other = DecisionCurveDisplay.from_predictions(records.y_test, risk)
    assert_array_equal(one.line_.get_ydata(), other.line_.get_ydata())


def test_labels_may_be_words_and_either_may_be_the_event(records):
    words = np.array(["alive", "died"])
    model = classifier(records, words)
    y = words[records.y_test]
    as_numbers = DecisionCurveDisplay.from_estimator(
        classifier(records), records.X_test, records.y_test, thresholds=T
    )
    for display in (
        DecisionCurveDisplay.from_estimator(model, records.X_test, y, thresholds=T),
        DecisionCurveDisplay.from_predictions(
            y, model.predict_proba(records.X_test)[:, 1], thresholds=T, pos_label="died"
        ),
    ):
        assert_allclose(display.line_.get_ydata(), as_numbers.line_.get_ydata(), rtol=1e-9)
    alive = DecisionCurveDisplay.from_estimator(
        model, records.X_test, y, thresholds=T, pos_label="alive"
    )
    risk = model.predict_proba(records.X_test)[:, 0]
    assert_allclose(alive.line_.get_ydata(), tb.net_benefit(1 - records.y_test, risk, T))


def test_the_event_of_a_pipeline_is_that_of_its_last_step(records):
    y = np.where(records.y_test == 1, "case", "control")  # of which the second is not the event
    labels = np.where(records.y == 1, "case", "control")
    model = tb.TailoredLogisticRegression(0.3, discount=0, pos_label="case", random_state=0)
    piped = make_pipeline("passthrough", model).fit(records.X, labels)
    display = DecisionCurveDisplay.from_estimator(piped, records.X_test, y, thresholds=T)
    risk = piped[-1].risk(records.X_test)
    assert_allclose(display.line_.get_ydata(), tb.net_benefit(records.y_test, risk, T))


def test_a_family_is_drawn_at_its_own_thresholds(records):
    display = DecisionCurveDisplay.from_estimator(records.family, records.X_test, records.y_test)
    assert_array_equal(display.line_.get_xdata(), records.family.thresholds_)
    risks = records.family.risks(records.X_test)
    expected = [
        tb.net_benefit(records.y_test, risks[:, i], t)
        for i, t in enumerate(records.family.thresholds_)
    ]
    assert_allclose(display.line_.get_ydata(), expected)
    with pytest.raises(ValueError, match="pos_label must be the family's own event"):
        DecisionCurveDisplay.from_estimator(
            records.family, records.X_test, records.y_test, pos_label=0
        )


def test_several_share_axes_and_take_a_look_of_their_own(records):
    first = DecisionCurveDisplay.from_predictions(records.y_test, records.X_test[:, 1], name="a")
    second = DecisionCurveDisplay.from_predictions(
        records.y_test,
        records.X_test[:, 0],
        name="b",
        ax=first.ax_,
        curve_kwargs={"linewidth": 3, "color": "black"},
    )
    assert second.ax_ is first.ax_
    assert (second.line_.get_linewidth(), second.line_.get_color()) == (3, "black")
    assert first.line_ is not second.line_
    assert len(plt.get_fignums()) == 1
    assert second.treat_all_ is first.treat_all_


def test_bad_input_is_refused(records):
    with pytest.raises(NotFittedError):
        DecisionCurveDisplay.from_estimator(LogisticRegression(), records.X_test, records.y_test)
    with pytest.raises(ValueError, match="pos_label must be one of the classifier's two classes"):
        DecisionCurveDisplay.from_estimator(
            classifier(records), records.X_test, records.y_test, pos_label="died"
        )
    with pytest.raises(ValueError, match="curve must be of one model, got TB, SB, score"):
        DecisionCurveDisplay(curve=records.curve)
