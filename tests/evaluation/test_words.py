"""Plain words: the number a clinician would say."""

import pytest

from tailoredbayes.evaluation.words import difference_in_words, more_or_fewer


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0036, "3.6 more"),
        (-0.0036, "3.6 fewer"),
        (0.012, "12 more"),
        (0.00004, "no more"),
        (-0.00004, "no more"),
        (1.0, "1000 more"),
    ],
)
def test_a_share_is_said_per_thousand(value, words):
    assert more_or_fewer(value) == words


def test_the_standard_strategies_have_a_name_in_words():
    words = difference_in_words(
        -0.0036,
        (-0.01, 0.0),
        model="TB",
        against="all",
        threshold=0.125,
        interval_name="90% interval",
    )
    assert words == (
        "At a threshold of 12.5%, TB instead of treating everyone is worth 3.6 fewer true "
        "positives per 1000 patients for the same number of unnecessary treatments "
        "(90% interval: 10 fewer to no more)."
    )


def test_models_that_decide_alike_are_worth_the_same():
    words = difference_in_words(
        0.0, (0.0, 0.00002), model="TB", against="SB", threshold=0.1, interval_name="95% interval"
    )
    assert words == (
        "At a threshold of 10%, TB and SB are worth the same, to within 0.1 true positives per "
        "1000 patients."
    )
