"""Decisions of held-out rows, counted from a search; shares of uncertain decisions."""

import warnings

import numpy as np
import pytest

import tailoredbayes as tb
from tailoredbayes.evaluation.certainty import uncertain_shares
from tailoredbayes.evaluation.held_out import held_out_curve, held_out_difference

THRESHOLDS = [0.3, 0.6]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    x = rng.uniform(size=(400, 2))
    return x, rng.random(400) < x[:, 1] / x.sum(axis=1)


def fit(model, rows, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tb.TailoringWarning)
        return model.fit(*rows, **more)


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_held_out_net_benefit_is_the_mean_over_equal_folds(rows, repeats, weighted):
    # 400 rows in 5 folds of 80: folds of equal size, so their mean is the mean over rows.
    family = tb.TailoredFamily(
        THRESHOLDS, discount_grid=[1, 10], cv_repeats=repeats, draws=200, random_state=0
    )
    weight = np.full(400, 2.0) if weighted else None
    fit(family, rows, sample_weight=weight)
    curve = held_out_curve(family)
    table = family.discount_table_.groupby(["threshold", "discount"])["net_benefit"].mean()
    for place, t in enumerate(THRESHOLDS):
        assert curve.net_benefit[0, place] == pytest.approx(table[t, family.discounts_[t]])
        assert curve.net_benefit[1, place] == pytest.approx(table[t, 0.0])


def test_held_out_counts_are_those_of_the_decision_curve_of_the_same_decisions(rows):
    model = fit(tb.TailoredLogisticRegression(0.3, draws=200, random_state=0), rows)
    choice, tally = model.fit_.search.choice, model.fit_.search.tallies[0]
    treated = tally.treated[:, tally.discounts == choice.discount][:, 0].astype(float)
    plain = tb.decision_curve(rows[1], {"TB": treated, "SB": tally.treated[:, 0]}, 0.3)
    curve = held_out_curve(model)
    assert curve.models == plain.models
    for name in ("tp_rate", "fp_rate", "net_benefit", "standard_error", "low", "high"):
        np.testing.assert_allclose(getattr(curve, name), getattr(plain, name), atol=1e-12)
    paired = tb.net_benefit_difference(
        rows[1], {"TB": treated, "SB": tally.treated[:, 0]}, 0.3, against="SB", random_state=0
    )
    gain = held_out_difference(model)
    np.testing.assert_allclose(gain.difference, paired.difference, atol=1e-12)
    # n - 1 in the one, n in the other
    np.testing.assert_allclose(gain.standard_error, paired.standard_error, rtol=0.002)


def test_a_design_split_counts_its_development_rows(rows):
    model = fit(tb.TailoredLogisticRegression(0.3, design=0.25, draws=200, random_state=0), rows)
    kept = model.fit_.reference.development
    curve = held_out_curve(model)
    assert curve.n == kept.sum() == 300
    assert curve.prevalence == pytest.approx(rows[1][kept].mean())


def test_a_given_discount_has_nothing_held_out(rows):
    model = fit(tb.TailoredLogisticRegression(0.3, discount=3, draws=200, random_state=0), rows)
    assert held_out_curve(model) is None
    assert held_out_difference(model) is None


def test_uncertain_shares_are_those_of_patients(rows):
    family = fit(tb.TailoredFamily(THRESHOLDS, discount=4, draws=300, random_state=0), rows)
    shares = uncertain_shares(family, rows[0], [0.6, 0.3], uncertain=0.8)
    expected = [tb.patients(family, rows[0], t, uncertain=0.8).uncertain.mean() for t in (0.6, 0.3)]
    assert shares.tolist() == pytest.approx(expected)
    single = uncertain_shares(family.standard_, rows[0], 0.4)
    assert single[0] == pytest.approx(tb.patients(family.standard_, rows[0], 0.4).uncertain.mean())
    weight = np.arange(400.0)
    flags = tb.patients(family.standard_, rows[0], 0.4).uncertain
    weighted = uncertain_shares(family.standard_, rows[0], 0.4, sample_weight=weight)
    assert weighted[0] == pytest.approx(np.average(flags, weights=weight))


def test_an_unknown_threshold_of_a_family_is_named(rows):
    family = fit(tb.TailoredFamily(THRESHOLDS, discount=4, draws=100, random_state=0), rows)
    with pytest.raises(ValueError, match=r"no model for the threshold 0\.4, only for 0\.3, 0\.6"):
        uncertain_shares(family, rows[0], 0.4)
