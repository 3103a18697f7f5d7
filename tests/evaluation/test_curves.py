"""Decision curves against dcurves, the measures of one model, and plain formulae by row."""

import re
from pathlib import Path

import dcurves
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import tailoredbayes as tb

PERCENTS = np.arange(1, 100) / 100
COLUMNS = [
    "model",
    "threshold",
    "n",
    "prevalence",
    "harm",
    "test_pos_rate",
    "tp_rate",
    "fp_rate",
    "net_benefit",
    "net_intervention_avoided",
]


def dcurves_example(name):
    return pd.read_csv(Path(dcurves.data) / f"{name}.csv")


def sample(n=400, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.beta(1, 3, size=n)
    y = rng.random(n) < truth
    noisy = 1 / (1 + np.exp(-np.log(truth / (1 - truth)) - rng.normal(size=n)))
    return y, {"good": truth, "noisy": noisy.round(2)}, rng.exponential(size=n)


# --- An independent reference: dcurves --------------------------------------------------------


def test_the_table_of_a_cohort_is_that_of_dcurves():
    frame = dcurves_example("df_binary")
    models, harm = ["cancerpredmarker", "famhistory"], {"famhistory": 0.0333}
    theirs = dcurves.dca(frame, "cancer", models, thresholds=PERCENTS, harm=harm)
    ours = tb.decision_curve(
        frame["cancer"], {name: frame[name] for name in models}, PERCENTS, harm=harm
    ).to_frame()
    assert list(ours.columns[: len(COLUMNS)]) == COLUMNS
    pd.testing.assert_frame_equal(
        ours[COLUMNS], theirs[COLUMNS], check_dtype=False, rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize("prevalence", [0.05, 0.2])
def test_the_table_of_a_case_control_sample_is_that_of_dcurves(prevalence):
    frame = dcurves_example("df_case_control")
    models = ["cancerpredmarker", "famhistory"]
    theirs = dcurves.dca(frame, "casecontrol", models, thresholds=PERCENTS, prevalence=prevalence)
    ours = tb.decision_curve(
        frame["casecontrol"],
        {name: frame[name] for name in models},
        PERCENTS,
        prevalence=prevalence,
    ).to_frame()
    # Ours is the population's share of treated patients; dcurves leaves it the sample's.
    same = [name for name in COLUMNS if name != "test_pos_rate"]
    pd.testing.assert_frame_equal(
        ours[same], theirs[same], check_dtype=False, rtol=1e-11, atol=1e-11
    )
    np.testing.assert_allclose(ours["test_pos_rate"], theirs["tp_rate"] + theirs["fp_rate"])


# --- The measures of one model ----------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prevalence", [None, 0.1])
def test_a_curve_is_the_measures_of_each_model(weighted, prevalence):
    y, models, weight = sample()
    options = {"sample_weight": weight if weighted else None, "prevalence": prevalence}
    curve = tb.decision_curve(y, models, PERCENTS, harm={"noisy": 0.01}, **options)
    assert curve.models == ("good", "noisy", "all", "none")
    for place, (name, risk) in enumerate(models.items()):
        harm = 0.01 if name == "noisy" else 0.0
        for found, measure in (
            (curve.net_benefit, tb.net_benefit),
            (curve.standardized_net_benefit, tb.standardized_net_benefit),
            (curve.interventions_avoided, tb.interventions_avoided),
        ):
            expected = measure(y, risk, PERCENTS, harm=harm, **options)
            np.testing.assert_allclose(found[place], expected, rtol=1e-9, atol=1e-9)
    everyone = tb.net_benefit_treat_all(y, PERCENTS, **options)
    np.testing.assert_allclose(curve.net_benefit[2], everyone, rtol=1e-12, atol=1e-12)
    assert (curve.net_benefit[3] == 0).all()
    assert curve.harm.tolist() == [0, 0.01, 0, 0]


def test_a_family_is_a_model_whose_risk_depends_on_the_threshold():
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(300, 2))
    y = rng.random(300) < X[:, 1] / X.sum(axis=1)
    family = tb.TailoredFamily([0.3, 0.5], discount=5, draws=200, random_state=0).fit(X, y)
    classifier = LogisticRegression().fit(X, y)
    models = {"TB": family, "LR": classifier, "columns": family.risks(X)}
    curve = tb.decision_curve(y, models, X=X)
    assert curve.thresholds.tolist() == [0.3, 0.5]
    assert "family" in curve.note
    for j, t in enumerate((0.3, 0.5)):
        assert curve.net_benefit[0, j] == pytest.approx(
            tb.net_benefit(y, family.models_[t].risk(X), t), abs=1e-12
        )
        assert curve.net_benefit[1, j] == pytest.approx(
            tb.net_benefit(y, classifier.predict_proba(X)[:, 1], t), abs=1e-12
        )
    assert curve.net_benefit[2].tolist() == curve.net_benefit[0].tolist()


def test_one_model_needs_no_name_and_one_threshold_no_list():
    y, models, _ = sample()
    curve = tb.decision_curve(y, models["good"], 0.2)
    assert curve.models == ("model", "all", "none")
    assert curve.net_benefit[0, 0] == pytest.approx(tb.net_benefit(y, models["good"], 0.2))


# --- Sampling error ---------------------------------------------------------------------------


def by_rows(y, treated, odds, weight, prevalence):
    """The variance of net benefit, row by row."""
    if prevalence is None:
        value = treated * np.where(y, 1.0, -odds)
        mean = np.average(value, weights=weight)
        return np.sum(weight**2 * (value - mean) ** 2) / weight.sum() ** 2
    total = 0.0
    for rows, worth in ((y, prevalence), (~y, (1 - prevalence) * odds)):
        d, w = treated[rows].astype(float), weight[rows]
        spread = np.sum(w**2 * (d - np.average(d, weights=w)) ** 2) / w.sum() ** 2
        total += worth**2 * spread
    return total


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prevalence", [None, 0.1])
def test_the_standard_error_is_the_formula_by_rows(weighted, prevalence):
    y, models, weight = sample()
    weight = weight if weighted else np.ones(len(y))
    curve = tb.decision_curve(
        y, models, PERCENTS, sample_weight=weight if weighted else None, prevalence=prevalence
    )
    risks = [*models.values(), np.ones(len(y)), np.zeros(len(y))]
    for place, risk in enumerate(risks):
        expected = [by_rows(y, risk >= t, t / (1 - t), weight, prevalence) ** 0.5 for t in PERCENTS]
        np.testing.assert_allclose(curve.standard_error[place], expected, rtol=1e-9, atol=1e-12)


def test_the_interval_is_the_normal_one_and_its_probability_is_kept():
    y, models, _ = sample()
    curve = tb.decision_curve(y, models, [0.2, 0.4], prob=0.9)
    np.testing.assert_allclose(
        curve.high - curve.net_benefit, 1.6448536269514722 * curve.standard_error
    )
    np.testing.assert_allclose(curve.low + curve.high, 2 * curve.net_benefit)
    assert curve.prob == 0.9


def test_the_scale_of_the_weights_does_not_matter_but_repeated_rows_are_more_evidence():
    y, models, weight = sample()
    once = tb.decision_curve(y, models, 0.2, sample_weight=weight)
    scaled = tb.decision_curve(y, models, 0.2, sample_weight=7 * weight)
    np.testing.assert_allclose(once.standard_error, scaled.standard_error)
    twice = tb.decision_curve(np.tile(y, 2), {k: np.tile(v, 2) for k, v in models.items()}, 0.2)
    one = tb.decision_curve(y, models, 0.2)
    np.testing.assert_allclose(twice.net_benefit, one.net_benefit)
    np.testing.assert_allclose(twice.standard_error * 2**0.5, one.standard_error)


# --- What reaches the user --------------------------------------------------------------------


def test_a_range_that_was_chosen_is_told():
    y, models, _ = sample()
    chosen = tb.decision_curve(y, models)
    assert "No thresholds were given: 0.01 to" in chosen.note
    assert chosen.note in repr(chosen)
    assert chosen.to_frame().attrs["note"] == chosen.note
    given = tb.decision_curve(y, models, [0.1, 0.2])
    assert given.note == ""
    assert repr(given).startswith("DecisionCurve of good, noisy, all, none at 2 thresholds from")


def test_a_net_benefit_in_words():
    curve = tb.decision_curve([1, 1, 0, 0], {"TB": [0.9, 0.8, 0.1, 0.1]}, [0.2, 0.3])
    assert curve.in_words(0.2, "TB") == (
        "TB: At a threshold of 20%, 500 more true positives per 1000 patients than treating no "
        "one, without one unnecessary treatment, would be worth as much."
    )
    with pytest.raises(ValueError, match="model must name models that there are, got 'SB'"):
        curve.in_words(0.2, "SB")


def test_one_class_alone_has_a_curve_without_a_standardized_one():
    curve = tb.decision_curve([0, 0], {"TB": [0.1, 0.3]}, 0.2)
    assert curve.net_benefit.ravel().tolist() == [-0.125, -0.25, 0]
    assert np.isnan(curve.standardized_net_benefit).all()
    assert tb.decision_curve([1, 1], {"TB": [0.1, 0.3]}, 0.2).net_benefit[0, 0] == 0.5


GOOD = {"y_true": [0, 1, 1], "models": {"TB": [0.1, 0.6, 0.2]}, "thresholds": [0.3]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"thresholds": [0.1, 0.0]}, "threshold must lie strictly between 0 and 1, got 0;"),
        ({"thresholds": 1}, "threshold must lie strictly between 0 and 1, got 1;"),
        ({"thresholds": []}, "threshold must hold at least one value, got none"),
        ({"y_true": [0, 1, 2]}, "y_true must hold only 0 and 1"),
        ({"y_true": [0, 1]}, "y_true and models['TB'] must have the same length, got 2 and 3"),
        ({"y_true": []}, "y_true must hold at least one row, got none; check how it was selected"),
        ({"models": {"TB": [0.1, np.nan, 1]}}, "models['TB'] must lie between 0 and 1, got nan"),
        ({"models": {"TB": [10, 20, 30]}}, "models['TB'] must lie between 0 and 1, got 10"),
        ({"models": {}}, "models must name at least one model, got none"),
        ({"models": {"all": [0.1, 0.6, 0.2]}}, "models may not be named 'all' or 'none'"),
        ({"sample_weight": [1, 1]}, "y_true and sample_weight must have the same length"),
        ({"sample_weight": [1, -1, 1]}, "sample_weight must be 0 or more"),
        ({"sample_weight": [0, 0, 0]}, "sample_weight must hold at least one weight above 0"),
        ({"prevalence": 1.0}, "prevalence must be a finite number above 0 and below 1, got 1"),
        ({"prevalence": 0.1, "y_true": [1, 1, 1]}, "y_true must hold both events (1) and non-ev"),
        (
            {"prevalence": 0.1, "sample_weight": [0, 1, 1]},
            "y_true must hold both events (1) and non-events (0), got 2 rows of 1 only",
        ),
        ({"harm": -0.1}, "harm must be a finite number at least 0, got -0.1"),
        ({"harm": {"TB": np.nan}}, "harm['TB'] must be a finite number at least 0, got nan"),
        ({"harm": {"SB": 0.1}}, "harm must name models that there are, got 'SB'; they are 'TB'"),
        ({"prob": 1}, "prob must be a finite number above 0 and below 1, got 1"),
    ],
)
def test_bad_input_meets_a_clear_sentence(change, message):
    tb.decision_curve(**GOOD)
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        tb.decision_curve(**{**GOOD, **change})
