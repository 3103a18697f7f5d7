"""The paired bootstrap of a difference in net benefit, against one ROC curve."""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import Claim, Result, interleave, ratio, times
from simulate import perturbed, problem
from sklearn.metrics import roc_curve

import tailoredbayes as tb
from tailoredbayes.evaluation.differences import NetBenefitDifference

BAR = 150.0
REPLICATES = 2000


def run(quick: bool = False) -> Result:
    """Time 2000 replicates at 50 thresholds, and scikit-learn's ROC curve of the same rows."""
    n, repeats = (1000, 2) if quick else (10_000, 7)
    data = problem(n, 2)
    models = {"A": data.risk, "B": perturbed(data.risk, 0.3)}
    thresholds = np.linspace(0.01, 0.75, 50)
    weight = np.random.default_rng(3).exponential(size=n)

    def bootstrap(**more: Any) -> NetBenefitDifference:
        return tb.net_benefit_difference(
            data.y,
            models,
            thresholds,
            against="B",
            replicates=REPLICATES,
            random_state=0,
            **more,
        )

    runs = interleave(
        {
            "paired bootstrap": bootstrap,
            "paired bootstrap, rows weighted": lambda: bootstrap(sample_weight=weight),
            "scikit-learn's roc_curve of one model": lambda: roc_curve(data.y, data.risk),
        },
        repeats,
    )
    found = bootstrap()
    error = np.abs(found.bootstrap_standard_error / found.standard_error - 1).max()
    ours, weighted, theirs = runs.values()
    what = (
        f"{REPLICATES} paired replicates of the difference at 50 thresholds, {n:,} rows, against "
        "one roc_curve"
    )
    return Result(
        title="The paired bootstrap",
        claims=[
            ratio(what, ours, theirs, BAR),
            ratio("the same, rows weighted (drawn one by one)", weighted, theirs),
            Claim(
                "largest deviation of the bootstrap's standard error from the closed form",
                100 * float(error),
                "%",
            ),
        ],
        rows=times(runs),
        raw={name: each.seconds for name, each in runs.items()},
    )
