"""Rows as cells: whom a rule treats, and sums over cells against the rows themselves."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tailoredbayes.decision import net_benefit
from tailoredbayes.evaluation.cells import (
    at_threshold,
    contrast,
    enter,
    occupied,
    patterns,
    suggested_thresholds,
)

tenths = st.integers(0, 10).map(lambda k: k / 10)
some_thresholds = st.lists(st.integers(1, 9).map(lambda k: k / 10), min_size=1, max_size=6)
rows = st.lists(
    st.tuples(st.booleans(), tenths, tenths, st.integers(0, 3)), min_size=2, max_size=30
)


@given(rows, some_thresholds)
def test_a_pattern_says_who_is_treated_where_ties_treat(sample, thresholds):
    risk, grid = np.array([row[1] for row in sample]), np.array(thresholds)
    treated = risk[:, None] >= grid
    for given_as in (risk, np.repeat(risk[:, None], len(grid), axis=1)):
        found = patterns(given_as, grid)
        assert found.treats[found.of_row].tolist() == treated.tolist()


def test_a_familys_columns_are_compared_each_with_its_own_threshold():
    risk = np.random.default_rng(0).random((200, 9))
    grid = np.arange(1, 10) / 10
    found = patterns(risk, grid)
    assert found.treats[found.of_row].tolist() == (risk >= grid).tolist()
    assert len(found.treats) <= 200


@pytest.mark.parametrize("most", [10, 10**9])
def test_occupied_codes_lead_back_to_the_rows(most):
    code = np.random.default_rng(1).integers(10, size=500) % 7
    values, place = occupied(code, most)
    assert values.tolist() == sorted(set(code.tolist()))
    assert values[place].tolist() == code.tolist()


@pytest.mark.parametrize("prevalence", [None, 0.07])
@given(rows, some_thresholds)
def test_for_given_counts_of_rows_cells_give_exactly_what_the_rows_give(
    prevalence, sample, thresholds
):
    y, a, b, count = map(np.array, zip(*sample, strict=True))
    counted = y[count > 0]
    assume(count.sum() > 0 and (prevalence is None or (counted.any() and not counted.all())))
    assume(y.any() and not y.all())
    grid = np.array(thresholds)
    entered = enter(y, {"a": a, "b": b}, grid, prevalence=prevalence)
    strata = contrast(entered, entered.strategies["a"], entered.strategies["b"])
    parts = [count] if prevalence is None else [count[y], count[~y]]
    found = sum(
        part.mean(part.sums(taken.astype(float))) for part, taken in zip(strata, parts, strict=True)
    )
    again = np.repeat(np.arange(len(y)), count)  # the rows of the replicate, one by one
    expected = [net_benefit(y[again], risk[again], grid, prevalence=prevalence) for risk in (a, b)]
    np.testing.assert_allclose(found, expected[0] - expected[1], rtol=1e-10, atol=1e-12)


def test_rows_of_weight_zero_are_left_out():
    entered = enter([0, 1, 1], {"a": [0.1, 0.9, 0.5]}, 0.5, sample_weight=[2, 0, 1])
    assert entered.n == 2
    assert entered.risks["a"].tolist() == [0.1, 0.5]
    assert entered.prevalence == pytest.approx(1 / 3)


# --- A range of thresholds where none was given -----------------------------------------------


@given(st.floats(1e-6, 1), st.floats(1e-6, 0.999))
def test_suggested_thresholds_go_from_one_step_to_the_largest_risk_that_matters(top, prevalence):
    values, note = suggested_thresholds({"a": np.array([top / 2, top])}, prevalence)
    highest = max(top, prevalence)
    step = values[0]
    assert 1 <= len(values) <= 100
    assert (values > 0).all()
    assert (values < 1).all()
    np.testing.assert_allclose(values, step * np.arange(1, len(values) + 1), rtol=1e-9)
    assert values[-1] <= highest * (1 + 1e-9)
    assert highest < values[-1] + step * (1 + 1e-6) or values[-1] + step >= 1
    mantissa = float(f"{step:e}".split("e")[0])
    assert mantissa == pytest.approx(round(mantissa))
    assert round(mantissa) in (1, 2, 5)
    assert f"{values[0]:g} to {values[-1]:g}" in note
    assert "the prevalence, or to the risk that 1% of the rows exceed if that is larger" in note
    assert "pass thresholds=" in note


def test_suggested_thresholds_are_round_numbers():
    values, _ = suggested_thresholds({"a": np.linspace(0, 1, 1001)}, 0.3)
    assert values.tolist() == [k / 100 for k in range(1, 100)]
    values, _ = suggested_thresholds({"a": np.zeros(5)}, 0.0)
    assert values.tolist() == [k / 100 for k in range(1, 100)]


def test_suggested_thresholds_follow_the_weights():
    risk = {"a": np.array([0.1, 0.9])}
    values, _ = suggested_thresholds(risk, 0.05, np.array([999.0, 1.0]))
    assert values[-1] == 0.1


@pytest.mark.parametrize(("t", "place"), [(0.1, 0), (0.1 + 0.2, 2)])
def test_a_threshold_is_found_up_to_rounding(t, place):
    assert at_threshold(np.array([0.1, 0.2, 0.3]), t) == place


@pytest.mark.parametrize("t", [0.15, np.nan])
def test_a_threshold_that_is_not_there_is_refused(t):
    with pytest.raises(ValueError, match="t must be one of the 3 thresholds of this record"):
        at_threshold(np.array([0.1, 0.2, 0.3]), t)
