"""The picture of the front page: where three rules change their decision in Simulation 1.

The true risk is x2 / (x1 + x2). At a threshold of 0.3 the best rule treats above the line through
the origin with slope 0.3 / 0.7. Standard Bayes fits all rows alike and cannot turn its boundary
there; Tailored Bayes can. ``make picture`` writes docs/images/boundaries.png.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import numpy as np

import tailoredbayes as tb
from tailoredbayes.studies.generators import Simulation1

TARGET = Path(__file__).parent.parent / "docs" / "images" / "boundaries.png"
THRESHOLD = 0.3


def main() -> None:
    """Simulate, fit both models, draw."""
    simulation = Simulation1(q=1.0)
    X, y = simulation.sample(5000, np.random.default_rng(0))
    models = {
        "SB": tb.TailoredLogisticRegression(THRESHOLD, discount=0, random_state=0).fit(X, y),
        "TB": tb.TailoredLogisticRegression(THRESHOLD, random_state=0).fit(X, y),
    }
    across = np.linspace(0, 1, 101)
    ax = tb.plots.points(X[:700], y[:700])
    for dots in ax.collections:
        dots.set_alpha(0.45)
    tb.plots.boundaries(tb.optimal_boundaries(simulation, [THRESHOLD], across), ax)
    tb.plots.boundaries(tb.decision_boundaries(models, [THRESHOLD], across), ax)
    best = 1000 * simulation.oracle_net_benefit(THRESHOLD)
    gained = [
        1000 * simulation.linear_net_benefit(model.intercept_[0], model.coef_[0], THRESHOLD)
        for model in models.values()
    ]
    ax.set_xlabel(
        "x1\n\nnet true positives per 1000 at a threshold of 0.3:\n"
        f"SB {gained[0]:.1f}, TB {gained[1]:.1f}, the most there is {best:.1f}"
    )
    TARGET.parent.mkdir(exist_ok=True)
    print(f"wrote {tb.plots.save(ax, TARGET)}")


if __name__ == "__main__":
    main()
