"""The modes of a whole search for the discount: 9 discounts x 5 folds, all columns together."""

from __future__ import annotations

from harness import Result, interleave, ratio, times
from simulate import fold_weights, problem
from sklearn.linear_model import LogisticRegression

import tailoredbayes as tb

BAR = 12.0
_DISCOUNTS, _FOLDS = 9, 5


def run(quick: bool = False) -> Result:
    """Time 45 modes against one fit of scikit-learn."""
    n, d, repeats = (1000, 3, 2) if quick else (5000, 3, 20)
    data = problem(n, d)
    weights = fold_weights(data.risk, _DISCOUNTS, _FOLDS)

    def construct():
        return tb.TailoredPosterior(data.x, data.y, weights=weights)

    ready = construct()
    ours, theirs = f"tailoredbayes, {weights.shape[1]} modes", "scikit-learn, one fit"
    runs = interleave(
        {
            ours: lambda: tb.find_modes(construct()),
            "  of which the modes": lambda: tb.find_modes(ready),
            theirs: lambda: LogisticRegression(solver="newton-cholesky").fit(data.x, data.y),
        },
        repeats,
    )
    if not tb.find_modes(ready).converged.all():
        raise AssertionError("some column did not converge: not the same work")
    what = f"modes of {weights.shape[1]} weight columns, n = {n:,}, d = {d}"
    return Result(
        title="A search for the discount",
        claims=[
            ratio(
                f"{what}, against one scikit-learn newton-cholesky fit",
                runs[ours],
                runs[theirs],
                BAR,
            ),
            ratio(
                "the same, the posterior's construction not counted",
                runs["  of which the modes"],
                runs[theirs],
            ),
        ],
        rows=times(runs),
        remarks=[
            f"Columns: {_DISCOUNTS} discounts (0, and 1 to 100 log-spaced) x {_FOLDS} folds, the "
            "rows of a fold left out by weights of 0. scikit-learn with its default settings."
        ],
        raw={name: one.seconds for name, one in runs.items()},
    )
