"""Nine thresholds fitted together, against one tailored fit."""

from __future__ import annotations

import warnings

from harness import Result, interleave, ratio, times
from simulate import problem

import tailoredbayes as tb

BAR = 7.0
_THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)


def run(quick: bool = False) -> Result:
    """Time a family of nine thresholds, draws and the standard model included."""
    warnings.simplefilter("ignore", tb.TailoringWarning)
    data = problem(*((1000, 3) if quick else (5000, 3)))
    family = tb.TailoredFamily(_THRESHOLDS, random_state=0)
    alone = [tb.TailoredLogisticRegression(t, random_state=0) for t in _THRESHOLDS]
    runs = interleave(
        {
            "a family of nine thresholds": lambda: family.fit(data.x, data.y),
            "one tailored fit": lambda: alone[4].fit(data.x, data.y),
            "nine tailored fits": lambda: [model.fit(data.x, data.y) for model in alone],
        },
        2 if quick else 10,
    )
    together, one, nine = runs.values()
    what = f"nine thresholds and the standard model, draws included, n = {len(data.y):,}, d = 3"
    return Result(
        title="A family of thresholds",
        claims=[
            ratio(f"{what}, against one tailored fit", together, one, BAR),
            ratio("the same, against nine tailored fits", together, nine),
        ],
        rows=times(runs),
        remarks=["Estimators' defaults: 4000 draws a model."],
        raw={name: each.seconds for name, each in runs.items()},
    )
