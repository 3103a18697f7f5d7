"""Net benefit against hand-worked tables, its own identities, a plain loop and dcurves."""

import pickle
import re
from pathlib import Path

import dcurves
import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate

from tailoredbayes.decision import (
    harm_to_benefit,
    interventions_avoided,
    net_benefit,
    net_benefit_scorer,
    net_benefit_treat_all,
    net_benefit_treat_none,
    standardized_net_benefit,
    target_threshold,
    target_threshold_from_utilities,
    treated_counts,
)

PERCENTS = np.arange(1, 100) / 100

# Twelve patients, worked by hand. At t = 0.2 rows of risk 0.2 tie and are treated.
#   t    TP  FP  odds   NB = TP/12 - FP/12 * odds
#   0.1   4   6  1/9    4/12 - 6/108
#   0.2   4   3  1/4    4/12 - 3/48
#   0.5   2   1  1      2/12 - 1/12
#   0.9   0   1  9      0    - 9/12
OUTCOME = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0])
RISK = np.array([0.7, 0.5, 0.4, 0.2, 0.9, 0.3, 0.2, 0.19, 0.15, 0.1, 0.05, 0.0])
BY_HAND = {
    0.1: (4, 6, 4 / 12 - 6 / 108),
    0.2: (4, 3, 4 / 12 - 3 / 48),
    0.5: (2, 1, 1 / 12),
    0.9: (0, 1, -9 / 12),
}

# Few risks and thresholds to choose from, so that ties are common.
tenths = st.integers(0, 10).map(lambda k: k / 10)
thresholds = st.one_of(st.integers(1, 9).map(lambda k: k / 10), st.floats(0.001, 0.999))
rows = st.lists(
    st.tuples(st.booleans(), st.one_of(tenths, st.floats(0, 1)), st.integers(0, 5)),
    min_size=1,
    max_size=40,
)


def columns(sample):
    y_true, risk, weight = map(np.array, zip(*sample, strict=True))
    assume(weight.sum() > 0)
    return y_true, risk.astype(float), weight


# --- The threshold ----------------------------------------------------------------------------


def test_a_harm_to_benefit_ratio_of_1_to_9_is_a_threshold_of_a_tenth():
    assert target_threshold(benefit=9, harm=1) == 0.1
    assert harm_to_benefit(0.1) == pytest.approx(1 / 9)


def test_equal_harm_and_benefit_put_the_threshold_at_one_half():
    assert target_threshold(benefit=3, harm=3) == 0.5
    assert harm_to_benefit(0.5) == 1


@given(thresholds)
def test_odds_undo_the_threshold(t):
    assert target_threshold(benefit=1, harm=harm_to_benefit(t)) == pytest.approx(t, rel=1e-12)


@given(
    *[st.integers(1, 100)] * 2,
    *[st.integers(-100, 100)] * 2,
    st.sampled_from([0.25, 1, 8]),
)
def test_utilities_matter_only_by_their_differences(benefit, harm, fn, tn, scale):
    t = target_threshold_from_utilities(
        tp=scale * (fn + benefit), fn=scale * fn, tn=scale * tn, fp=scale * (tn - harm)
    )
    assert t == target_threshold(benefit=benefit, harm=harm)


@given(st.floats(0.01, 1), st.floats(0.01, 1), st.floats(-1, 1), st.floats(-1, 1))
def test_at_the_threshold_treating_and_not_treating_are_worth_the_same(benefit, harm, fn, tn):
    tp, fp = fn + benefit, tn - harm
    t = target_threshold_from_utilities(tp=tp, fp=fp, fn=fn, tn=tn)
    assert t * tp + (1 - t) * fp == pytest.approx(t * fn + (1 - t) * tn, abs=1e-12)


@pytest.mark.parametrize(
    ("utilities", "message"),
    [
        ({"tp": 0, "fp": 0, "fn": 1, "tn": 1}, "tp must exceed fn (treating a case must help)"),
        ({"tp": 1, "fp": 1, "fn": 0, "tn": 1}, "tn must exceed fp (treating a non-case must cost)"),
        ({"tp": np.nan, "fp": 0, "fn": 0, "tn": 1}, "tp must be a finite number, got nan"),
    ],
)
def test_utilities_out_of_order_are_refused(utilities, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        target_threshold_from_utilities(**utilities)


@pytest.mark.parametrize(
    ("benefit", "harm", "message"),
    [
        (0, 1, "benefit must be a finite number above 0, got 0; only the ratio"),
        (1, -1, "harm must be a finite number above 0, got -1; only the ratio"),
        (1, 1e30, "must give a threshold strictly between 0 and 1, got 1 from benefit=1"),
    ],
)
def test_benefit_and_harm_must_be_positive_and_comparable(benefit, harm, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        target_threshold(benefit=benefit, harm=harm)


# --- Counts and net benefit -------------------------------------------------------------------


@pytest.mark.parametrize(("t", "expected"), BY_HAND.items())
def test_the_hand_worked_table(t, expected):
    tp, fp, value = expected
    counts = treated_counts(OUTCOME, RISK, t)
    assert (counts.true_positives, counts.false_positives) == (tp, fp)
    assert (counts.events, counts.nonevents) == (4, 8)
    assert (counts.true_positive_rate, counts.false_positive_rate) == (tp / 4, fp / 8)
    assert net_benefit(OUTCOME, RISK, t) == pytest.approx(value, abs=1e-15)
    assert net_benefit(OUTCOME, RISK, t, harm=0.02) == pytest.approx(value - 0.02, abs=1e-15)
    assert standardized_net_benefit(OUTCOME, RISK, t) == pytest.approx(3 * value, abs=1e-15)


def test_the_hand_worked_case_control_table():
    # TPR = 4/4 and FPR = 3/8 at t = 0.2; in a population with one event in ten,
    # NB = 0.1 * 1 - 0.9 * 3/8 * 1/4.
    value = 0.1 - 0.9 * 3 / 32
    assert net_benefit(OUTCOME, RISK, 0.2, prevalence=0.1) == pytest.approx(value, abs=1e-15)
    assert standardized_net_benefit(OUTCOME, RISK, 0.2, prevalence=0.1) == pytest.approx(10 * value)
    assert net_benefit_treat_all(OUTCOME, 0.2, prevalence=0.1) == pytest.approx(0.1 - 0.9 / 4)


def test_the_hand_worked_interventions_avoided():
    # At t = 0.2 five of twelve are spared, none of them an event; at t = 0.5 nine are spared, two
    # of them events, worth one treatment each.
    assert interventions_avoided(OUTCOME, RISK, 0.2) == pytest.approx(100 * 5 / 12)
    assert interventions_avoided(OUTCOME, RISK, 0.5) == pytest.approx(100 * (7 - 2) / 12)


@given(rows, st.lists(thresholds, min_size=1, max_size=12))
def test_a_curve_equals_a_plain_loop_exactly(sample, grid):
    y_true, risk, weight = columns(sample)
    for w in (None, weight):
        curve = net_benefit(y_true, risk, np.array(grid), sample_weight=w)
        assert curve.tolist() == [net_benefit(y_true, risk, t, sample_weight=w) for t in grid]
        ones = np.ones(len(risk)) if w is None else w
        for t, value in zip(grid, curve, strict=True):
            tp = sum(wi for yi, pi, wi in zip(y_true, risk, ones, strict=True) if pi >= t and yi)
            fp = sum(
                wi for yi, pi, wi in zip(y_true, risk, ones, strict=True) if pi >= t and not yi
            )
            assert value == tp / ones.sum() - fp / ones.sum() * (t / (1 - t))


def test_ninety_nine_thresholds_equal_ninety_nine_calls_exactly():
    rng = np.random.default_rng(2024)
    risk = rng.random(5000).round(2)  # every threshold is tied
    y_true = rng.random(5000) < risk
    for measure in (net_benefit, standardized_net_benefit, interventions_avoided):
        for prevalence in (None, 0.07):
            curve = measure(y_true, risk, PERCENTS, prevalence=prevalence, harm=0.01)
            calls = [measure(y_true, risk, t, prevalence=prevalence, harm=0.01) for t in PERCENTS]
            assert curve.tolist() == calls


def test_a_weighted_curve_equals_its_calls_to_rounding():
    rng = np.random.default_rng(7)
    risk, weight = rng.random(5000).round(2), rng.exponential(size=5000)
    y_true = rng.random(5000) < risk
    curve = net_benefit(y_true, risk, PERCENTS, sample_weight=weight)
    calls = [net_benefit(y_true, risk, t, sample_weight=weight) for t in PERCENTS]
    np.testing.assert_allclose(curve, calls, rtol=1e-12, atol=1e-12)


@given(rows, thresholds)
def test_integer_weights_equal_repeated_rows(sample, t):
    y_true, risk, weight = columns(sample)
    repeated = np.repeat(y_true, weight), np.repeat(risk, weight)
    assert net_benefit(y_true, risk, t, sample_weight=weight) == net_benefit(*repeated, t)
    assert interventions_avoided(y_true, risk, t, sample_weight=weight) == interventions_avoided(
        *repeated, t
    )


@given(rows, thresholds, st.floats(1e-3, 1e3))
def test_the_scale_of_the_weights_does_not_matter(sample, t, scale):
    y_true, risk, weight = columns(sample)
    assert net_benefit(y_true, risk, t, sample_weight=weight * scale) == pytest.approx(
        net_benefit(y_true, risk, t, sample_weight=weight), rel=1e-9, abs=1e-9
    )


@given(rows, thresholds, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(sample, t, random):
    before = columns(sample)
    shuffled = list(sample)
    random.shuffle(shuffled)
    after = columns(shuffled)
    assert net_benefit(*before[:2], t, sample_weight=before[2]) == net_benefit(
        *after[:2], t, sample_weight=after[2]
    )


@given(rows, thresholds)
def test_risk_1_for_all_treats_all_and_risk_0_treats_none(sample, t):
    y_true, risk, weight = columns(sample)
    everyone = net_benefit(y_true, np.ones_like(risk), t, sample_weight=weight)
    assert everyone == pytest.approx(
        net_benefit_treat_all(y_true, t, sample_weight=weight), rel=1e-12, abs=1e-12
    )
    no_one = net_benefit(y_true, np.zeros_like(risk), t, sample_weight=weight)
    assert no_one == net_benefit_treat_none(t) == 0
    assert interventions_avoided(
        y_true, np.ones_like(risk), t, sample_weight=weight
    ) == pytest.approx(0, abs=1e-9)


@given(rows, thresholds)
def test_a_perfect_model_reaches_the_prevalence(sample, t):
    y_true, _, weight = columns(sample)
    prevalence = np.average(y_true, weights=weight)
    assert net_benefit(y_true, y_true, t, sample_weight=weight) == pytest.approx(prevalence)
    if prevalence > 0:
        perfect = standardized_net_benefit(y_true, y_true, t, sample_weight=weight)
        assert perfect == pytest.approx(1)


@given(rows, thresholds)
def test_the_samples_own_prevalence_changes_nothing(sample, t):
    y_true, risk, weight = columns(sample)
    prevalence = float(np.average(y_true, weights=weight))
    assume(0 < prevalence < 1)
    for measure in (net_benefit, standardized_net_benefit, interventions_avoided):
        assert measure(
            y_true, risk, t, sample_weight=weight, prevalence=prevalence
        ) == pytest.approx(measure(y_true, risk, t, sample_weight=weight), rel=1e-9, abs=1e-9)


@given(rows, thresholds)
def test_interventions_avoided_is_the_gain_over_treating_all_in_treatments(sample, t):
    y_true, risk, _ = columns(sample)
    gain = net_benefit(y_true, risk, t, harm=0.01) - net_benefit_treat_all(y_true, t)
    assert interventions_avoided(y_true, risk, t, harm=0.01) == pytest.approx(
        100 * gain / harm_to_benefit(t), rel=1e-9, abs=1e-9
    )


def test_treating_all_breaks_even_at_the_prevalence_and_tends_to_it():
    y_true = [1, 0, 0, 0]
    assert net_benefit_treat_all(y_true, 0.25) == pytest.approx(0, abs=1e-15)
    assert net_benefit_treat_all(y_true, 1e-12) == pytest.approx(0.25)


def test_no_events_and_no_nonevents_have_a_net_benefit():
    assert net_benefit([0, 0], [0.1, 0.3], 0.2) == -0.125
    assert net_benefit([1, 1], [0.1, 0.3], 0.2) == 0.5
    counts = treated_counts([0, 0], [0.1, 0.3], 0.2)
    assert np.isnan(counts.true_positive_rate)
    assert counts.false_positive_rate == 0.5


@pytest.mark.parametrize("repeated", [[0.5, 0.2, 0.2, 0.9, 0.1], [0.3]])
def test_thresholds_keep_their_order_and_may_repeat(repeated):
    curve = net_benefit(OUTCOME, RISK, np.array(repeated))
    assert curve.tolist() == [net_benefit(OUTCOME, RISK, t) for t in repeated]


def test_frames_and_lists_are_as_good_as_arrays():
    frame = pd.DataFrame({"y": OUTCOME, "risk": RISK}, index=range(50, 62))
    expected = net_benefit(OUTCOME, RISK, 0.2)
    assert net_benefit(frame["y"], frame["risk"], 0.2) == expected
    assert net_benefit(OUTCOME.astype(bool).tolist(), RISK.tolist(), 0.2) == expected
    assert type(net_benefit(OUTCOME, RISK, 0.2)) is float


@pytest.mark.parametrize("measure", [net_benefit, standardized_net_benefit, interventions_avoided])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": 1.2}, "threshold must lie strictly between 0 and 1, got 1.2; did you mean"),
        ({"threshold": np.array([0.1, 0.0])}, "threshold must lie strictly between 0 and 1, got 0"),
        ({"y_true": [0, 1, 2]}, "y_true must hold only 0 and 1"),
        ({"y_true": [0, 1]}, "y_true and risk must have the same length, got 2 and 3"),
        ({"risk": [0.1, np.nan, 0.2]}, "risk must lie between 0 and 1, got nan at row 1"),
        ({"risk": [10, 20, 30]}, "risk must lie between 0 and 1, got 10 at row 0"),
        ({"sample_weight": [1, 1]}, "y_true, risk and sample_weight must have the same length"),
        ({"sample_weight": [1, -1, 1]}, "sample_weight must be 0 or more"),
        ({"sample_weight": [0, 0, 0]}, "sample_weight must hold at least one weight above 0"),
        ({"prevalence": 5}, "prevalence must be a finite number above 0 and below 1, got 5"),
        ({"y_true": [1, 1, 1], "prevalence": 0.1}, "y_true must hold both events (1) and non-even"),
        ({"harm": -0.1}, "harm must be a finite number at least 0, got -0.1; pass the cost of one"),
    ],
)
def test_bad_input_meets_a_clear_sentence(measure, change, message):
    good = {"y_true": [0, 1, 1], "risk": [0.1, 0.6, 0.2], "threshold": 0.3}
    measure(**good)
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        measure(**{**good, **change})


def test_net_benefit_without_events_cannot_be_standardized():
    with pytest.raises(ValueError, match=r"y_true must hold at least one event \(1\), got none"):
        standardized_net_benefit([0, 0], [0.1, 0.2], 0.3)


# --- An independent reference: dcurves --------------------------------------------------------


def dcurves_example(name):
    return pd.read_csv(Path(dcurves.data) / f"{name}.csv")


@pytest.mark.parametrize("model", ["cancerpredmarker", "famhistory"])
@pytest.mark.parametrize("harm", [0.0, 0.0333])
def test_a_cohort_agrees_with_dcurves(model, harm):
    frame = dcurves_example("df_binary")
    table = dcurves.dca(frame, "cancer", [model], thresholds=PERCENTS, harm={model: harm})
    theirs = {name: part.reset_index() for name, part in table.groupby("model")}
    ours = (frame["cancer"], frame[model].astype(float), PERCENTS)
    counts = treated_counts(*ours)
    n = len(frame)
    for actual, expected in (
        (counts.true_positives / n, theirs[model]["tp_rate"]),
        (counts.false_positives / n, theirs[model]["fp_rate"]),
        (net_benefit(*ours, harm=harm), theirs[model]["net_benefit"]),
        (
            interventions_avoided(*ours, harm=harm) / 100,
            theirs[model]["net_intervention_avoided"],
        ),
        (net_benefit_treat_all(frame["cancer"], PERCENTS), theirs["all"]["net_benefit"]),
        (net_benefit_treat_none(PERCENTS), theirs["none"]["net_benefit"]),
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("prevalence", [0.05, 0.2])
def test_a_case_control_sample_agrees_with_dcurves(prevalence):
    frame = dcurves_example("df_case_control")
    table = dcurves.dca(
        frame, "casecontrol", ["cancerpredmarker"], thresholds=PERCENTS, prevalence=prevalence
    )
    theirs = {name: part.reset_index() for name, part in table.groupby("model")}
    ours = (frame["casecontrol"], frame["cancerpredmarker"], PERCENTS)
    model = theirs["cancerpredmarker"]
    for actual, expected in (
        (net_benefit(*ours, prevalence=prevalence), model["net_benefit"]),
        (standardized_net_benefit(*ours, prevalence=prevalence), model["net_benefit"] / prevalence),
        (
            interventions_avoided(*ours, prevalence=prevalence) / 100,
            model["net_intervention_avoided"],
        ),
        (
            net_benefit_treat_all(frame["casecontrol"], PERCENTS, prevalence=prevalence),
            theirs["all"]["net_benefit"],
        ),
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


# --- The scorer -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(300, 2))
    y = (rng.random(300) < 1 / (1 + np.exp(1 - X[:, 0]))).astype(int)
    return X, y, rng.integers(0, 4, size=300)


def test_the_scorer_is_net_benefit_of_the_predicted_risk(task):
    X, y, weight = task
    model = LogisticRegression().fit(X, y)
    risk = model.predict_proba(X)[:, 1]
    assert net_benefit_scorer(0.3)(model, X, y) == net_benefit(y, risk, 0.3)
    assert net_benefit_scorer(0.3, prevalence=0.1, harm=0.01)(
        model, X, y, sample_weight=weight
    ) == net_benefit(y, risk, 0.3, sample_weight=weight, prevalence=0.1, harm=0.01)


@pytest.mark.parametrize(
    ("labels", "pos_label"),
    [
        (["well", "ill"], "ill"),  # the event sorts first
        (["alive", "dead"], "dead"),
        ([2, 1], 1),
        ([1, 2], 2),
        ([-1, 1], None),
        ([False, True], None),
        ([0, 1], 1),
    ],
)
def test_the_scorer_finds_the_event_whatever_the_labels(task, labels, pos_label):
    X, y, _ = task
    coded = np.array(labels)[y]
    expected = cross_val_score(LogisticRegression(), X, y, scoring=net_benefit_scorer(0.3))
    scorer = net_benefit_scorer(0.3, pos_label=pos_label)
    actual = cross_val_score(LogisticRegression(), X, coded, scoring=scorer)
    np.testing.assert_allclose(actual, expected, atol=0.02)  # the fit stops at its tolerance
    model = LogisticRegression().fit(X, coded)
    column = 1 if pos_label is None else model.classes_.tolist().index(pos_label)
    assert scorer(model, X, coded) == net_benefit(y, model.predict_proba(X)[:, column], 0.3)


@pytest.mark.parametrize("labels", [["well", "ill"], [1, 2], [-1, 0]])
def test_the_scorer_asks_for_the_event_rather_than_guess(task, labels):
    X, y, _ = task
    coded = np.array(labels)[y]
    with pytest.raises(ValueError, match=r"when pos_label is None, got .*; name the event, as in"):
        net_benefit_scorer(0.3)(LogisticRegression().fit(X, coded), X, coded)


def test_the_scorer_sets_its_threshold_at_the_door():
    with pytest.raises(ValueError, match="threshold must lie strictly between 0 and 1, got 30"):
        net_benefit_scorer(30)
    with pytest.raises(TypeError, match="threshold must be one number"):
        net_benefit_scorer([0.1, 0.2])


def test_the_scorer_chooses_a_model_in_a_grid_search_and_survives_pickling(task):
    X, y, _ = task
    scorer = pickle.loads(pickle.dumps(net_benefit_scorer(0.3)))
    search = GridSearchCV(LogisticRegression(), {"C": [1e-4, 1.0]}, scoring=scorer).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_params_ == {"C": 1.0}
    assert scores[1] == cross_val_score(LogisticRegression(), X, y, scoring=scorer).mean()


def test_several_scorers_share_one_prediction(task):
    X, y, _ = task
    scorers = {f"nb_{t}": net_benefit_scorer(t) for t in (0.2, 0.5)}
    table = cross_validate(LogisticRegression(), X, y, scoring=scorers)
    assert {"test_nb_0.2", "test_nb_0.5"} < set(table)


def test_metadata_routing_brings_the_scorer_its_weights(task):
    X, y, weight = task
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            LogisticRegression().set_fit_request(sample_weight=False),
            {"C": [1.0]},
            scoring=net_benefit_scorer(0.3).set_score_request(sample_weight=True),
            cv=[(np.arange(200), np.arange(200, 300))],
        ).fit(X, y, sample_weight=weight)
    model = LogisticRegression().fit(X[:200], y[:200])
    assert search.best_score_ == net_benefit(
        y[200:], model.predict_proba(X[200:])[:, 1], 0.3, sample_weight=weight[200:]
    )
