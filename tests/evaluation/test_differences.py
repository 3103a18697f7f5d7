"""Differences in net benefit: paired errors by rows, the bootstrap, repeated splits, words."""

import re
from dataclasses import replace

import numpy as np
import pytest

import tailoredbayes as tb

GRID = np.array([0.5, 0.1, 0.2, 0.33])


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.beta(1, 3, size=n)
    y = rng.random(n) < truth
    logit = np.log(truth / (1 - truth))
    noisy = {s: 1 / (1 + np.exp(-logit - s * rng.normal(size=n))) for s in (0.5, 1.5)}
    return y, {"TB": truth, "SB": noisy[0.5], "ES": noisy[1.5]}, rng.exponential(size=n)


def by_rows(y, first, second, t, weight, prevalence):
    """Difference and its standard error, row by row."""
    d = (first >= t).astype(float) - (second >= t)
    odds = t / (1 - t)
    if prevalence is None:
        strata = [(np.ones(len(y), bool), np.where(y, 1.0, -odds))]
    else:
        strata = [
            (y, prevalence * np.ones(len(y))),
            (~y, -(1 - prevalence) * odds * np.ones(len(y))),
        ]
    total = variance = 0.0
    for rows, worth in strata:
        v, w = (d * worth)[rows], weight[rows]
        mean = np.sum(w * v) / w.sum()
        total += mean
        variance += np.sum(w**2 * (v - mean) ** 2) / w.sum() ** 2
    return total, variance**0.5


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prevalence", [None, 0.1])
def test_the_difference_and_its_error_are_the_formulae_by_rows(weighted, prevalence):
    y, models, weight = sample()
    options = {"sample_weight": weight if weighted else None, "prevalence": prevalence}
    found = tb.net_benefit_difference(
        y, models, GRID, against="SB", replicates=2, harm={"TB": 0.01, "SB": 0.002}, **options
    )
    assert found.models == ("TB", "ES")
    weight = weight if weighted else np.ones(len(y))
    for place, name in enumerate(found.models):
        rows = [by_rows(y, models[name], models["SB"], t, weight, prevalence) for t in GRID]
        expected, error = np.array(rows).T
        harm = {"TB": 0.008, "ES": -0.002}[name]
        np.testing.assert_allclose(found.difference[place], expected - harm, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.standard_error[place], error, rtol=1e-9, atol=1e-12)


def test_against_treating_all_or_none_it_is_the_curves_difference_and_error():
    y, models, weight = sample()
    for weights in (None, weight):
        curve = tb.decision_curve(y, models, GRID, sample_weight=weights)
        for standard, place in (("all", 3), ("none", 4)):
            found = tb.net_benefit_difference(
                y, models, GRID, against=standard, replicates=2, sample_weight=weights
            )
            assert found.models == ("TB", "SB", "ES")
            expected = curve.net_benefit[:3] - curve.net_benefit[place]
            np.testing.assert_allclose(found.difference, expected, atol=1e-12)
        np.testing.assert_allclose(found.standard_error, curve.standard_error[:3], rtol=1e-9)


def test_models_that_decide_alike_differ_by_nothing():
    y, models, _ = sample()
    found = tb.net_benefit_difference(
        y, {"a": models["TB"], "b": models["TB"]}, GRID, against="b", random_state=0
    )
    for part in (found.difference, found.standard_error, found.low, found.high):
        assert (part == 0).all()


def test_a_risk_that_depends_on_the_threshold_is_judged_at_each_by_its_own():
    y, models, weight = sample()
    columns = np.stack([models[name] for name in ("TB", "ES", "TB", "ES")], axis=1)
    options = {"against": "SB", "random_state": 0, "prevalence": 0.2, "sample_weight": weight}
    found = tb.net_benefit_difference(
        y, {"family": columns, "SB": models["SB"]}, GRID, **{**options, "replicates": 50}
    )
    apart = tb.net_benefit_difference(y, models, GRID, **{**options, "replicates": 50})
    for part in ("difference", "standard_error"):
        tb_, es = getattr(apart, part)
        expected = [tb_[0], es[1], tb_[2], es[3]]
        np.testing.assert_allclose(getattr(found, part)[0], expected, rtol=1e-9, atol=1e-12)
    ratio = found.bootstrap_standard_error / found.standard_error
    assert (np.abs(ratio - 1) < 0.5).all()  # 50 replicates: some five standard deviations


# --- The bootstrap ----------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_replicates_whichever_models_are_beside():
    y, models, weight = sample()
    for weights in (None, weight):
        run = [
            tb.net_benefit_difference(
                y, named, GRID, against="SB", replicates=50, sample_weight=weights, random_state=5
            )
            for named in (models, models, {"TB": models["TB"], "SB": models["SB"]})
        ]
        assert run[0].low.tolist() == run[1].low.tolist()
        assert run[0].high[0].tolist() == run[2].high[0].tolist()


def test_a_replicate_without_weights_is_a_whole_number_of_rows():
    rng = np.random.default_rng(0)
    y, models, _ = sample(n=40)
    found = tb.net_benefit_difference(
        y, {"TB": models["TB"], "SB": models["ES"]}, 0.5, against="SB", random_state=rng
    )  # odds of 1: a difference is a number of rows by 40
    np.testing.assert_allclose(found.low * 40, np.round(found.low * 40), atol=1e-9)
    assert found.replicates == 2000
    assert (found.low < found.difference).all()
    assert (found.difference < found.high).all()


# --- Repeated splits --------------------------------------------------------------------------


def test_the_papers_standard_error_over_splits():
    rng = np.random.default_rng(1)
    D, own = rng.normal(size=(5, 3)), rng.uniform(size=(5, 3))
    found = tb.resplit_difference(D, [0.1, 0.2, 0.3], sampling_error=own)
    mean = D.mean(axis=0)
    expected = np.sqrt(np.sum((D - mean) ** 2, axis=0) / (5 * 4))
    np.testing.assert_allclose(found.difference[0], mean)
    np.testing.assert_allclose(found.standard_error[0], expected)
    np.testing.assert_allclose(found.sampling_error[0], np.sqrt(np.mean(own**2, axis=0)))
    one = tb.resplit_difference(D, [0.1, 0.2, 0.3], sampling_error=own[0])
    np.testing.assert_allclose(one.sampling_error[0], own[0])
    assert tb.resplit_difference(D, [0.1, 0.2, 0.3]).sampling_error is None


def test_records_of_splits_bring_their_own_sampling_error():
    records = []
    for seed in range(3):
        y, models, _ = sample(seed=seed)
        records.append(
            tb.net_benefit_difference(y, models, GRID, against="SB", replicates=2, random_state=0)
        )
    found = tb.resplit_difference(records)
    D = np.stack([one.difference for one in records])
    assert found.models == ("TB", "ES")
    assert found.splits == 3
    np.testing.assert_allclose(found.standard_error, D.std(axis=0, ddof=1) / 3**0.5)
    own = np.stack([one.standard_error for one in records])
    np.testing.assert_allclose(found.sampling_error, np.sqrt((own**2).mean(axis=0)))
    frame = found.to_frame()
    assert frame["model"].tolist() == ["TB"] * 4 + ["ES"] * 4
    assert frame["difference"].tolist() == found.difference.ravel().tolist()
    assert frame["sampling_error"].tolist() == found.sampling_error.ravel().tolist()
    assert tb.resplit_difference(one for one in records).to_frame().equals(frame)
    with pytest.raises(ValueError, match="must all compare the same models at the same thres"):
        tb.resplit_difference([records[0], replace(records[1], against="ES")])
    with pytest.raises(ValueError, match="must all compare the same models at the same thres"):
        tb.resplit_difference([records[0], np.zeros(4)])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.1], [0.2]],), "thresholds must be given for an array of differences, got None"),
        (([[0.1]], [0.2]), "differences must hold at least 2 splits, got 1"),
        (([[0.1], [np.nan]], [0.2]), "differences must be finite, got nan at row 1, column 0"),
        (([[0.1], [0.2]], [0.2, 0.3]), "differences must have one column for each of the 2 thr"),
        (([0.1, 0.2], [0.2]), "differences must be two-dimensional, got shape (2,)"),
        (([], [0.2]), "differences must be two-dimensional, got shape (0,)"),
    ],
)
def test_splits_that_say_nothing_are_refused(arguments, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        tb.resplit_difference(*arguments)


def test_sampling_errors_must_fit():
    with pytest.raises(ValueError, match="sampling_error must have one value for each of the 1 t"):
        tb.resplit_difference([[0.1], [0.2]], [0.2], sampling_error=[0.1, 0.2])
    with pytest.raises(ValueError, match="sampling_error must be finite and 0 or more, got -1"):
        tb.resplit_difference([[0.1], [0.2]], [0.2], sampling_error=[-1])


# --- Tables and words -------------------------------------------------------------------------


def test_the_table_holds_the_arrays():
    y, models, _ = sample()
    found = tb.net_benefit_difference(y, models, GRID, against="SB", replicates=20, random_state=0)
    frame = found.to_frame()
    assert frame["model"].tolist() == ["TB"] * 4 + ["ES"] * 4
    assert frame["threshold"].tolist() == GRID.tolist() * 2
    assert set(frame["against"]) == {"SB"}
    for name in ("difference", "standard_error", "bootstrap_standard_error", "low", "high"):
        assert frame[name].tolist() == getattr(found, name).ravel().tolist()


def test_a_difference_in_words():
    # Of 250 patients TB finds one event more (+1), for no more treatments: 4 per 1000.
    y = np.arange(250) < 50
    sb = np.where(np.arange(250) < 30, 0.8, 0.1)
    better = np.where(np.arange(250) < 31, 0.8, 0.1)
    found = tb.net_benefit_difference(
        y, {"TB": better, "SB": sb}, [0.2], against="SB", random_state=0
    )
    assert found.in_words(0.2) == (
        "At a threshold of 20%, TB instead of SB is worth 4 more true positives per 1000 patients "
        f"for the same number of unnecessary treatments (95% bootstrap interval: no more to "
        f"{1000 * found.high[0, 0]:.0f} more)."
    )
    resplit = tb.resplit_difference([[0.004], [0.006]], [0.2], model="TB", against="SB")
    assert resplit.in_words(0.2) == (
        "At a threshold of 20%, TB instead of SB is worth 5 more true positives per 1000 patients "
        "for the same number of unnecessary treatments (one standard error over 2 splits: 4 more "
        "to 6 more)."
    )
    both = tb.resplit_difference([[0.004], [0.006]], [0.2], sampling_error=[0.0031])
    assert both.in_words(0.2) == (
        resplit.in_words(0.2)
        + " The test rows' own standard error is 3.1 true positives per 1000 patients."
    )


def test_words_need_a_model_where_there_are_several():
    y, models, _ = sample()
    found = tb.net_benefit_difference(y, models, GRID, against="SB", replicates=2)
    assert "ES instead of SB" in found.in_words(0.2, "ES")
    with pytest.raises(ValueError, match="model must be named where there are several: TB, ES"):
        found.in_words(0.2)
    with pytest.raises(ValueError, match="t must be one of the 4 thresholds of this record"):
        found.in_words(0.25, "ES")


GOOD = {"y_true": [0, 1, 1], "models": {"TB": [0.1, 0.6, 0.2], "SB": [0.1, 0.1, 0.2]}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"against": "LR"}, "against must name models that there are, got 'LR'; they are 'TB'"),
        ({"models": {"SB": [0.1, 0.6, 0.2]}}, "models must hold a model besides 'SB', got none"),
        ({"replicates": 1}, "replicates must be a whole number, at least 2, got 1"),
        ({"thresholds": 0.0}, "threshold must lie strictly between 0 and 1, got 0"),
        ({"models": {"TB": [0, 1, 2], "SB": [0, 0, 0]}}, "models['TB'] must lie between 0 and 1"),
        ({"sample_weight": [0, 0, 0]}, "sample_weight must hold at least one weight above 0"),
        ({"y_true": []}, "y_true must hold at least one row, got none"),
        ({"y_true": [1, 1, 1], "prevalence": 0.2}, "y_true must hold both events (1) and non-ev"),
    ],
)
def test_bad_input_meets_a_clear_sentence(change, message):
    good = {**GOOD, "thresholds": [0.3], "against": "SB", "replicates": 2}
    tb.net_benefit_difference(**good)
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        tb.net_benefit_difference(**{**good, **change})


def test_one_class_alone_has_a_difference():
    good = {**GOOD, "y_true": [1, 1, 1], "thresholds": [0.3], "against": "SB", "replicates": 2}
    assert tb.net_benefit_difference(**good).difference[0, 0] == pytest.approx(1 / 3)
