"""Decision curves of three models with their standard errors, against one ROC curve."""

from __future__ import annotations

import numpy as np
from harness import Result, interleave, ratio, times
from simulate import perturbed, problem
from sklearn.metrics import roc_curve

import tailoredbayes as tb

BAR = 6.0


def run(quick: bool = False) -> Result:
    """Time 99 thresholds x 3 models, and scikit-learn's ROC curve of one of them."""
    n, repeats = (10_000, 2) if quick else (1_000_000, 5)
    data = problem(n, 2)
    models = {
        "A": data.risk,
        "B": perturbed(data.risk, 0.3),
        "C": perturbed(data.risk, 1.0),
    }
    thresholds = np.arange(1, 100) / 100
    weight = np.random.default_rng(3).exponential(size=n)
    curve = tb.decision_curve(data.y, models, thresholds)
    alone = [tb.net_benefit(data.y, risk, thresholds) for risk in models.values()]
    np.testing.assert_allclose(curve.net_benefit[:3], alone, atol=1e-12)
    runs = interleave(
        {
            "decision curve": lambda: tb.decision_curve(data.y, models, thresholds),
            "decision curve, rows weighted": lambda: tb.decision_curve(
                data.y, models, thresholds, sample_weight=weight
            ),
            "scikit-learn's roc_curve of one model": lambda: roc_curve(data.y, data.risk),
        },
        repeats,
    )
    ours, weighted, theirs = runs.values()
    what = f"decision curve, 99 thresholds x 3 models, {n:,} rows, against one roc_curve"
    return Result(
        title="Decision curves of three models",
        claims=[
            ratio(what, ours, theirs, BAR),
            ratio("the same, rows weighted", weighted, theirs),
        ],
        rows=times(runs),
        remarks=["Net benefit equals tb.net_benefit of each model to 1e-12."],
        raw={name: each.seconds for name, each in runs.items()},
    )
