"""Labels made wrong on purpose: how many, which, and that nothing else changes."""

import numpy as np
import pytest

from tailoredbayes import mislabel

Y = np.repeat([1, 0], [30, 70])


@pytest.mark.parametrize(("missed", "false"), [(0, 0), (0.1, 0), (0, 0.2), (0.5, 0.1), (1, 1)])
def test_the_shares_are_of_the_events_and_of_the_others(missed, false):
    recorded = mislabel(Y, missed, false, random_state=0)
    assert recorded.dtype == np.int64
    assert (recorded[:30] == 0).sum() == round(30 * missed)
    assert (recorded[30:] == 1).sum() == round(70 * false)


def test_what_was_given_is_left_alone_and_the_seed_decides():
    y = Y.copy()
    one, same, other = (mislabel(y, 0.3, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_every_event_is_as_likely_to_be_missed():
    """Each of 30 is missed with probability 0.3: |z| < 4.5 for all but one run in 5000."""
    rng = np.random.default_rng(0)
    missed = sum(1 - mislabel(Y, 0.3, random_state=rng)[:30] for _ in range(2000))
    z = (missed / 2000 - 0.3) / np.sqrt(0.3 * 0.7 / 2000)
    assert np.abs(z).max() < 4.5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0, 2], 0.1), "y must hold only 0 and 1"),
        ((Y, 10), "missed must be a finite number at least 0 and at most 1, got 10"),
        ((Y, 0.1, -1), "false must be a finite number"),
        ((Y, "half"), "missed must be a finite number"),
    ],
)
def test_bad_input_is_named(arguments, words):
    with pytest.raises((ValueError, TypeError), match=words):
        mislabel(*arguments)
