"""Deliberately wrong labels: outcomes recorded wrongly in a known way, to see what it costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailoredbayes.checks import BoolArray, check_generator, check_number, check_outcome

__all__ = ["mislabel", "mislabelled_rows"]


def mislabel(
    y: ArrayLike, missed: float, false: float = 0.0, *, random_state: Any = None
) -> NDArray[np.int64]:
    """Return outcomes as they might have been recorded: some events missed, some made up.

    Of E events round(missed E), drawn at random, are recorded as 0, and of N others round(false N)
    as 1. The paper's third case study calls 49 of some 170 malignant biopsies benign.
    [Karapanagiotis2021]

    Parameters
    ----------
    y
        Outcomes, 0 and 1.
    missed
        Share of the events that are recorded as non-events, from 0 to 1.
    false
        Share of the non-events that are recorded as events.
    random_state
        None, a seed or a NumPy Generator.

    Returns
    -------
    ndarray of int
        ``mislabel(...) != y`` tells which rows are wrong.

    Examples
    --------
    >>> y = np.array([1, 1, 1, 1, 0, 0, 0, 0])
    >>> recorded = mislabel(y, 0.5, random_state=0)
    >>> int(recorded[:4].sum()), int(recorded[4:].sum())
    (2, 0)
    """
    event = check_outcome(y, "y")
    advice = "pass a share, such as 0.1 for one in ten"
    shares = [
        check_number(share, name, at_least=0, at_most=1, advice=advice)
        for name, share in (("missed", missed), ("false", false))
    ]
    rng = check_generator(random_state)
    return (event ^ mislabelled_rows(event, shares[0], shares[1], rng)).astype(np.int64)


def mislabelled_rows(
    event: BoolArray, missed: float, false: float, rng: np.random.Generator
) -> BoolArray:
    """Return which rows are recorded wrongly."""
    wrong = np.zeros(len(event), dtype=bool)
    for rows, share in ((np.flatnonzero(event), missed), (np.flatnonzero(~event), false)):
        wrong[rng.permutation(rows)[: round(share * len(rows))]] = True
    return wrong
