"""Weights: limits, identities and hand-worked values."""

import math
import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tailoredbayes.weighting import (
    DISTANCES,
    distance_to_threshold,
    effective_sample_fraction,
    effective_sample_size,
    kish_effective_sample_size,
    largest_discount,
    tailoring_weights,
)

risks = arrays(float, st.integers(1, 30), elements=st.floats(0, 1))
thresholds = st.floats(0.01, 0.99)
discounts = st.floats(0, 500)  # exp(-500) is above 0 in double precision
names = st.sampled_from(sorted(DISTANCES))
epsilons = st.sampled_from([0.0, 0.01, 0.1])


# --- The distance -----------------------------------------------------------------------------


def test_distances_by_hand():
    risk = [0.0, 0.2, 0.5, 1.0]
    squared = distance_to_threshold(risk, 0.25, "squared")
    absolute = distance_to_threshold(risk, 0.25, "absolute")
    assert squared == pytest.approx([0.0625, 0.0025, 0.0625, 0.5625])
    assert absolute == pytest.approx([0.25, 0.05, 0.25, 0.75])


def test_epsilon_insensitivity_by_hand():
    # |pi_u - t|_eps: 0 within eps of t, |pi_u - t| - eps beyond.
    risk = [0.0, 0.2, 0.5, 1.0]
    absolute = distance_to_threshold(risk, 0.25, "absolute", epsilon=0.1)
    squared = distance_to_threshold(risk, 0.25, "squared", epsilon=0.0625)
    assert absolute == pytest.approx([0.15, 0, 0.15, 0.65])
    assert squared == pytest.approx([0, 0, 0, 0.5])


@pytest.mark.parametrize("name", sorted(DISTANCES))
@given(risk=risks, t=thresholds, epsilon=epsilons)
def test_every_registered_distance_is_one(name, risk, t, epsilon):
    h = distance_to_threshold(risk, t, name, epsilon)
    assert h.shape == risk.shape
    assert (h >= 0).all()
    assert distance_to_threshold([t], t, name).tolist() == [0]
    further = np.argsort(np.abs(risk - t))
    assert (np.diff(h[further]) >= -1e-15).all()


@given(risks, thresholds, epsilons)
def test_a_function_is_as_good_as_a_name(risk, t, epsilon):
    by_name = tailoring_weights(risk, t, 5, "absolute", epsilon)
    by_function = tailoring_weights(risk, t, 5, lambda p, t: np.abs(p - t), epsilon)
    assert by_function.tolist() == by_name.tolist()


# --- The weights ------------------------------------------------------------------------------


def test_weights_by_hand():
    # exp(-10 * 0.09) and exp(-10 * 0.3)
    assert tailoring_weights([0.5, 0.2], 0.2, 10) == pytest.approx([math.exp(-0.9), 1])
    assert tailoring_weights([0.5, 0.2], 0.2, 10, "absolute") == pytest.approx([math.exp(-3), 1])


@given(risks, thresholds, names, epsilons)
def test_no_discount_is_standard_bayes(risk, t, name, epsilon):
    assert (tailoring_weights(risk, t, 0, name, epsilon) == 1).all()


@given(risks, thresholds, discounts, names, epsilons)
def test_weights_lie_above_0_and_reach_1_only_near_the_threshold(risk, t, discount, name, epsilon):
    weights = tailoring_weights(risk, t, discount, name, epsilon)
    assert (weights > 0).all()
    assert (weights <= 1).all()
    assert (weights[distance_to_threshold(risk, t, name, epsilon) == 0] == 1).all()


@given(risks, thresholds, discounts, discounts, names)
def test_weights_fall_as_the_discount_grows(risk, t, a, b, name):
    lighter, heavier = sorted((a, b))
    assert (
        tailoring_weights(risk, t, heavier, name) <= tailoring_weights(risk, t, lighter, name)
    ).all()


@given(risks, thresholds, discounts, discounts, names)
def test_discounts_add_where_weights_multiply(risk, t, a, b, name):
    np.testing.assert_allclose(
        tailoring_weights(risk, t, a, name) * tailoring_weights(risk, t, b, name),
        tailoring_weights(risk, t, a + b, name),
        rtol=1e-11,
        atol=1e-300,
    )


@given(risks, thresholds, st.lists(discounts, min_size=1, max_size=6), names, epsilons)
def test_columns_are_the_single_discounts(risk, t, grid, name, epsilon):
    weights = tailoring_weights(risk, t, grid, name, epsilon)
    assert weights.shape == (len(risk), len(grid))
    for column, discount in zip(weights.T, grid, strict=True):
        assert column.tolist() == tailoring_weights(risk, t, discount, name, epsilon).tolist()


def test_the_distance_is_computed_once_for_all_discounts():
    calls = []

    def counted(risk, t):
        calls.append(t)
        return np.abs(risk - t)

    tailoring_weights([0.1, 0.9], 0.3, [0, 1, 10, 100], distance=counted)
    assert calls == [0.3]


def test_a_discount_beyond_double_precision_leaves_the_rows_at_the_threshold():
    assert tailoring_weights([0.3, 0.9], 0.3, 1e308).tolist() == [1, 0]
    far = tailoring_weights([0.3, 0.9], 0.3, 1e308, lambda p, t: 1e9 * np.abs(p - t))
    assert far.tolist() == [1, 0]


# --- Effective sample sizes -------------------------------------------------------------------


@given(risks, thresholds, discounts, names)
def test_effective_sizes_in_order(risk, t, discount, name):
    weights = tailoring_weights(risk, t, discount, name)
    n = len(risk)
    ess, kish = effective_sample_size(weights), kish_effective_sample_size(weights)
    assert ess == pytest.approx(math.fsum(weights))
    assert effective_sample_fraction(weights) == pytest.approx(ess / n)
    assert 0 < ess <= kish * (1 + 1e-12)
    assert 1 - 1e-12 <= kish <= n * (1 + 1e-12)


@given(st.integers(1, 50), st.sampled_from([1e-300, 1e-3, 1.0, 1e200]))
def test_equal_weights_of_any_size_are_all_of_n_to_kish(n, weight):
    assert kish_effective_sample_size(np.full(n, weight)) == pytest.approx(n)


def test_without_tailoring_every_size_is_n():
    weights = tailoring_weights([0.1, 0.5, 0.9], 0.2, 0)
    assert effective_sample_size(weights) == kish_effective_sample_size(weights) == 3
    assert effective_sample_fraction(weights) == 1


def test_kish_by_hand():
    assert kish_effective_sample_size([3, 1]) == pytest.approx(16 / 10)
    assert kish_effective_sample_size([0, 0, 7]) == 1
    assert kish_effective_sample_size([0, 0]) == 0


@given(risks, thresholds, st.lists(discounts, min_size=1, max_size=4))
def test_effective_sizes_go_column_by_column(risk, t, grid):
    weights = tailoring_weights(risk, t, grid)
    for size in (effective_sample_size, effective_sample_fraction, kish_effective_sample_size):
        assert size(weights) == pytest.approx([size(column) for column in weights.T])
        assert type(size(weights[:, 0])) is float


# --- The largest discount ---------------------------------------------------------------------


@given(risks, thresholds, st.floats(0.01, 0.99), names, epsilons)
def test_the_largest_discount_attains_the_share(risk, t, share, name, epsilon):
    h = distance_to_threshold(risk, t, name, epsilon)
    # Distances below 1e-200 would need a discount near the largest float.
    assume(((h == 0) | (h > 1e-200)).all())
    at_threshold = np.mean(h == 0)
    assume(abs(at_threshold - share) > 1e-6)
    discount = largest_discount(risk, t, share, name, epsilon)
    if share <= at_threshold:
        assert discount == math.inf
    else:
        weights = tailoring_weights(risk, t, discount, name, epsilon)
        assert effective_sample_fraction(weights) == pytest.approx(share, rel=1e-9)


@pytest.mark.parametrize("share", [1e-12, 0.1, 0.5, 0.999999, 1 - 1e-15, math.nextafter(1, 0)])
@pytest.mark.parametrize("n", [1, 3, 10])
def test_rows_all_alike_have_a_closed_form(share, n):
    # exp(-lambda * 0.25) = share
    discount = largest_discount(np.ones(n), 0.5, share)
    assert discount == pytest.approx(-4 * math.log(share), rel=1e-9, abs=1e-15)


def test_the_largest_discount_falls_as_the_share_rises():
    risk = np.random.default_rng(3).random(200)
    found = [largest_discount(risk, 0.15, share) for share in np.linspace(0.05, 1, 20)]
    assert (np.diff(found) < 0).all()
    assert found[-1] == 0


def test_a_share_held_by_rows_at_the_threshold_is_never_lost():
    risk = [0.2, 0.2, 0.9]
    assert largest_discount(risk, 0.2, 0.5) == math.inf
    assert largest_discount(risk, 0.2, 0.7) < math.inf
    assert largest_discount([0.2, 0.2], 0.2, 1) == math.inf
    assert largest_discount([0.25, 0.2], 0.2, 1, "absolute", epsilon=0.1) == math.inf
    assert largest_discount([0.25, 0.2], 0.2, 1, "absolute") == 0


def test_distances_of_very_different_sizes_are_no_trouble():
    spread = 10.0 ** -np.arange(31)
    discount = largest_discount(np.zeros(31), 0.5, 0.05, lambda p, t: spread)
    assert np.exp(-discount * spread).mean() == pytest.approx(0.05, rel=1e-9)


# --- Bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"reference_risk": [0.1, 2]}, ValueError, "reference_risk must lie between 0 and 1, got"),
        ({"reference_risk": [0.1, np.nan]}, ValueError, "reference_risk must lie between 0 and 1"),
        ({"reference_risk": []}, ValueError, "reference_risk must hold at least one row"),
        ({"threshold": 1.2}, ValueError, "threshold must lie strictly between 0 and 1, got 1.2"),
        ({"threshold": [0.1, 0.2]}, TypeError, "threshold must be one number, got an array"),
        ({"discount": -1}, ValueError, "discount must be finite and 0 or more, got -1; 0 gives"),
        (
            {"discount": [1, np.inf]},
            ValueError,
            "discount must be finite and 0 or more, got inf at row 1; 0 gives standard Bayes",
        ),
        ({"discount": "cv"}, TypeError, "discount must hold numbers, got text such as 'cv'"),
        ({"discount": [[1, 2]]}, ValueError, "discount must be a single number or one-dimensional"),
        ({"distance": "cubic"}, ValueError, "distance must be one of 'squared', 'absolute' or a"),
        ({"distance": None}, ValueError, "distance must be one of 'squared', 'absolute' or a"),
        ({"epsilon": -0.1}, ValueError, "epsilon must be a finite number at least 0, got -0.1"),
        (
            {"distance": lambda p, t: p - 1},
            ValueError,
            "distance(reference_risk, threshold) must be finite and 0 or more, got -0.9 at row 0",
        ),
        (
            {"distance": lambda p, t: np.ones(3)},
            ValueError,
            "distance(reference_risk, threshold) must return one distance per row, got 3 for 2",
        ),
        (
            {"distance": lambda p, t: 1.0},
            ValueError,
            "distance(reference_risk, threshold) must be one-dimensional, got shape (); return",
        ),
    ],
)
def test_bad_input_meets_a_clear_sentence(change, error, message):
    good = {"reference_risk": [0.1, 0.4], "threshold": 0.3, "discount": 10}
    tailoring_weights(**good)
    with pytest.raises(error, match="^" + re.escape(message)):
        tailoring_weights(**{**good, **change})


@pytest.mark.parametrize("share", [0, 1.1, -0.5, math.nan])
def test_a_share_is_a_part_of_the_whole(share):
    with pytest.raises(ValueError, match="share must be a finite number above 0 and at most 1"):
        largest_discount([0.1, 0.4], 0.3, share)


@pytest.mark.parametrize(
    "size", [effective_sample_size, effective_sample_fraction, kish_effective_sample_size]
)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1], "weights must be finite and 0 or more, got -1 at row 1"),
        ([[1, 2], [1, math.nan]], "weights must be finite and 0 or more, got nan at row 1, column"),
        (np.ones((2, 2, 2)), "weights must be one-dimensional or two-dimensional, got shape"),
    ],
)
def test_impossible_weights_are_refused(size, weights, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        size(weights)
