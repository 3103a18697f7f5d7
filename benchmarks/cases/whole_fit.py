"""The whole algorithm behind one ``fit``: cross-fitted stage 1, the search, the final posterior."""

from __future__ import annotations

import warnings

from harness import Result, interleave, ratio, times
from simulate import THRESHOLD, problem
from sklearn.linear_model import LogisticRegression

import tailoredbayes as tb

BAR, LARGE_BAR = 30.0, 15.0


def run(quick: bool = False) -> Result:
    """Time whole fits against one fit of scikit-learn, on few rows and on many."""
    warnings.simplefilter("ignore", tb.TailoringWarning)
    small = problem(*((1000, 3) if quick else (5000, 3)))
    large = problem(*((20_000, 20) if quick else (1_000_000, 20)))
    whole = tb.TailoredLogisticRegression(THRESHOLD, random_state=0)
    # One Laplace draw: the final posterior's mode and curvature, without its draws.
    search = tb.TailoredLogisticRegression(THRESHOLD, random_state=0, sampler="laplace", draws=1)
    theirs = LogisticRegression(solver="newton-cholesky")
    names = (f"n = {len(small.y):,}, d = 3", f"n = {len(large.y):,}, d = 20")
    few = interleave(
        {
            f"tailoredbayes, a whole fit, {names[0]}": lambda: whole.fit(small.x, small.y),
            f"scikit-learn, {names[0]}": lambda: theirs.fit(small.x, small.y),
        },
        2 if quick else 20,
    )
    many = interleave(
        {
            f"tailoredbayes, without the final draws, {names[1]}": lambda: search.fit(
                large.x, large.y
            ),
            f"scikit-learn, {names[1]}": lambda: theirs.fit(large.x, large.y),
        },
        1 if quick else 3,
    )
    ours_few, theirs_few = few.values()
    ours_many, theirs_many = many.values()
    grid = len(whole.fit(small.x, small.y).fit_.search.tallies[0].discounts)
    return Result(
        title="A whole tailored fit",
        claims=[
            ratio(
                f"a whole fit (10-fold stage 1, {grid} discounts x 5 folds, 4000 draws), "
                f"{names[0]}, against one scikit-learn newton-cholesky fit",
                ours_few,
                theirs_few,
                BAR,
            ),
            ratio(
                f"the same without the final draws, {names[1]}, against one such fit",
                ours_many,
                theirs_many,
                LARGE_BAR,
            ),
        ],
        rows=times({**few, **many}),
        remarks=["Estimators' defaults; scikit-learn with its default settings."],
        raw={name: one.seconds for name, one in {**few, **many}.items()},
    )
