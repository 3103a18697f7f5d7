"""Every bad input meets one clear sentence: what was expected, what came, what to do."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from tailoredbayes.checks import (
    check_array,
    check_both_classes,
    check_flag,
    check_generator,
    check_number,
    check_outcome,
    check_risk,
    check_same_length,
    check_sample_weight,
    check_threshold,
    check_thresholds,
)

nan, inf = math.nan, math.inf


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        (
            1.2,
            "threshold must lie strictly between 0 and 1, got 1.2; "
            "did you mean 0.012 or a percentage?",
        ),
        (20, "threshold must lie strictly between 0 and 1, got 20; did you mean 0.2"),
        (0, "got 0; there one of the two errors costs nothing, so leave 0 and 1 out"),
        (1.0, "got 1; there one of the two errors costs nothing, so leave 0 and 1 out"),
        (-0.1, "got -0.1; a harm-to-benefit ratio of 1:9 is 0.1"),
        (nan, "threshold must lie strictly between 0 and 1, got nan"),
        (inf, "threshold must lie strictly between 0 and 1, got inf"),
    ],
)
def test_a_threshold_outside_the_open_interval_is_refused(threshold, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        check_threshold(threshold)
    with pytest.raises(ValueError, match=re.escape(message)):
        check_thresholds([0.5, threshold, 0.2])


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        ("0.1", "threshold must hold numbers, got text such as '0.1'; pass a number such as 0.1"),
        (None, "threshold must hold numbers, got None; pass a number such as 0.1"),
        (0.1j, "threshold must hold numbers, got dtype complex128"),
        ([0.1, 0.2], "threshold must be one number, got an array of shape (2,); call once for"),
    ],
)
def test_one_threshold_is_one_number(threshold, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        check_threshold(threshold)


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        ([], "threshold must hold at least one value, got none"),
        ([[0.1, 0.2]], "a one-dimensional array, got shape (1, 2); pass threshold.ravel()"),
        ([[0.1], [0.2, 0.3]], "threshold must be a rectangular array, got rows of different"),
    ],
)
def test_thresholds_are_a_number_or_a_flat_array(threshold, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        check_thresholds(threshold)


@pytest.mark.parametrize("threshold", [0.25, np.float64(0.25), np.float32(0.25), np.array(0.25)])
def test_a_scalar_threshold_becomes_a_python_float(threshold):
    assert type(check_threshold(threshold)) is float
    assert type(check_thresholds(threshold)) is float


@pytest.mark.parametrize(
    ("y_true", "error", "message"),
    [
        ([0, 1, 2], ValueError, "y_true must hold only 0 and 1 (or False and True), got 2 at row"),
        ([-1, 1], ValueError, "got -1 at row 0; code the event as 1 and the rest as 0"),
        ([0, nan], ValueError, "y_true must hold only 0 and 1 (or False and True), got nan at row"),
        (["no", "yes"], TypeError, "y_true must hold numbers, got text such as 'no'; code the"),
        (np.array(["0", "1"], object), TypeError, "y_true must hold numbers, got text such as '0'"),
        ([[0], [1]], ValueError, "one-dimensional, got shape (2, 1); pass y_true.ravel()"),
        ([[0, 1], [1, 0]], ValueError, "y_true must be one-dimensional, got shape (2, 2)"),
        (1, ValueError, "y_true must be one-dimensional, got shape ()"),
        ([], ValueError, "y_true must hold at least one row, got none"),
        (np.array(["2020-01-01"], "M8[D]"), TypeError, "y_true must hold numbers, got dtype"),
    ],
)
def test_an_outcome_is_binary(y_true, error, message):
    with pytest.raises(error, match=re.escape(message)):
        check_outcome(y_true)


@pytest.mark.parametrize(
    "y_true",
    [
        [0, 1, 1],
        [False, True, True],
        (0.0, 1.0, 1.0),
        np.array([0, 1, 1], np.int8),
        pd.Series([0, 1, 1], index=[7, 3, 5]),
        pd.Series([False, True, True], dtype="boolean"),
        pd.Series([0, 1, 1], dtype="Int64"),
        np.array([0, True, 1.0], object),
    ],
)
def test_every_coding_of_0_and_1_is_the_same_outcome(y_true):
    outcome = check_outcome(y_true)
    assert outcome.dtype == bool
    assert outcome.tolist() == [False, True, True]


def test_a_missing_value_in_a_nullable_column_is_refused():
    with pytest.raises((TypeError, ValueError), match="y_true must hold"):
        check_outcome(pd.Series([0, 1, None], dtype="Int64"))


@pytest.mark.parametrize(
    ("risk", "message"),
    [
        ([0.1, 1.1], "risk must lie between 0 and 1, got 1.1 at row 1; pass probabilities"),
        ([-1e-9, 0.5], "risk must lie between 0 and 1, got -1e-09 at row 0"),
        ([0.1, 0.2, nan], "risk must lie between 0 and 1, got nan at row 2"),
        ([inf], "risk must lie between 0 and 1, got inf at row 0"),
        ([[0.2, 0.8]], "risk must be one-dimensional, got shape (1, 2)"),
        ([[0.2, 0.8], [0.1, 0.9]], "as in predict_proba(X)[:, 1]"),
    ],
)
def test_a_risk_is_a_probability(risk, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        check_risk(risk)


def test_a_check_names_the_argument_it_was_given():
    with pytest.raises(ValueError, match=r"^reference_risk must lie between 0 and 1, got 2 at row"):
        check_risk([0.5, 2.0], "reference_risk")


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, -1], "sample_weight must be 0 or more and have a finite sum, got -1 at row 1"),
        ([1, nan], "got nan at row 1"),
        ([inf, 1], "got inf at row 0"),
        ([1e308, 1e308], "have a finite sum, got 1e+308 at row 0"),
        ([0, 0], "sample_weight must hold at least one weight above 0, got only zeros; leave it"),
        ([[1, 2], [1, 2]], "sample_weight must be one-dimensional, got shape (2, 2)"),
    ],
)
def test_sample_weights_are_finite_and_not_negative(weight, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        check_sample_weight(weight)


def test_arrays_of_different_lengths_are_named_with_their_lengths():
    with pytest.raises(
        ValueError,
        match=r"^a, b and c must have the same length, got 2, 3 and 2; check that they come",
    ):
        check_same_length(a=np.ones(2), b=np.ones(3), c=np.ones(2), d=None)
    check_same_length(a=np.ones(2), b=np.zeros((2, 3)), c=None)


@pytest.mark.parametrize(
    ("outcome", "weight", "found"),
    [
        ([True, True], None, "2 rows of 1 only"),
        ([False], None, "1 rows of 0 only"),
        ([False, True, False], [1.0, 0.0, 1.0], "2 rows of 0 only"),
    ],
)
def test_a_single_class_is_refused_where_two_are_needed(outcome, weight, found):
    with pytest.raises(ValueError, match=f"y_true must hold both events .* got {found}; add rows"):
        check_both_classes(
            np.array(outcome), sample_weight=None if weight is None else np.array(weight)
        )


@pytest.mark.parametrize(
    ("value", "bounds", "error", "message"),
    [
        (0, {"above": 0}, ValueError, "x must be a finite number above 0, got 0; do this"),
        (2, {"above": 0, "at_most": 1}, ValueError, "above 0 and at most 1, got 2; do this"),
        (nan, {}, ValueError, "x must be a finite number, got nan; do this"),
        (inf, {"at_least": 0}, ValueError, "x must be a finite number at least 0, got inf"),
        ("3", {"at_least": 0}, TypeError, "at least 0, got the text '3'; do this"),
        (None, {}, TypeError, "x must be a finite number, got NoneType; do this"),
        ([1.0], {}, TypeError, "x must be a finite number, got an array of shape (1,); do this"),
    ],
)
def test_a_number_keeps_to_its_bounds(value, bounds, error, message):
    with pytest.raises(error, match=re.escape(message)):
        check_number(value, "x", **bounds, advice="do this")


@pytest.mark.parametrize("flag", [True, np.False_])
def test_true_and_false_are_flags_and_no_numbers(flag):
    assert check_flag(flag, "harm") == flag
    with pytest.raises(TypeError, match="harm must be a finite number"):
        check_number(bool(flag), "harm", advice="0 is none")
    for word in ("yes", 1, None):
        with pytest.raises(TypeError, match="harm must be True or False, got"):
            check_flag(word, "harm")


@pytest.mark.parametrize("seed", ["a", -1, 1.5])
def test_what_seeds_nothing_is_refused_by_name(seed):
    with pytest.raises((TypeError, ValueError), match="random_state must be None, a whole number"):
        check_generator(seed)


def test_numbers_of_any_library_are_numbers():
    for value in (1, 1.0, np.int64(1), np.float32(1), np.array(1)):
        assert check_number(value, "x", above=0, at_most=1, advice="") == 1.0


def test_a_float_array_passes_through_uncopied():
    risk = np.array([0.1, 0.2])
    assert check_array(risk, "risk") is risk
