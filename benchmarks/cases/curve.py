"""A decision curve: net benefit at 99 thresholds over a million rows, against one sort."""

from __future__ import annotations

import numpy as np
from harness import Result, interleave, ratio, times
from simulate import problem

import tailoredbayes as tb


def run(quick: bool = False) -> Result:
    """Time a whole curve, one threshold, and NumPy's argsort of the same risks."""
    n, repeats = (10_000, 2) if quick else (1_000_000, 7)
    data = problem(n, 2)
    thresholds = np.arange(1, 100) / 100
    runs = interleave(
        {
            "net benefit, 99 thresholds": lambda: tb.net_benefit(data.y, data.risk, thresholds),
            "net benefit, one threshold": lambda: tb.net_benefit(data.y, data.risk, 0.2),
            "numpy.argsort of the risks": lambda: np.argsort(data.risk),
        },
        repeats,
    )
    curve, one, sort = runs.values()
    return Result(
        title="A decision curve",
        claims=[
            ratio(f"net benefit at 99 thresholds, {n:,} rows, against one argsort", curve, sort),
            ratio("the same, against net benefit at one threshold", curve, one),
        ],
        rows=times(runs),
        raw={name: each.seconds for name, each in runs.items()},
    )
