"""Real records, made once: a small family on Simulation 1, and what evaluations say of it."""

import warnings
from types import SimpleNamespace

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import tailoredbayes as tb
from tailoredbayes.studies.generators import Simulation1

THRESHOLDS = np.array([0.2, 0.3, 0.4])


def study_cells():
    """A study's rows, as a runner writes them: exact net benefits of a linear rule."""
    rng = np.random.default_rng(3)
    rows = []
    for q in (0.5, 1.0):
        simulation = Simulation1(q)
        for n in (500, 1000):
            for repetition in range(3):
                for t in (0.3, 0.1):
                    lines = rng.normal([[0, -2, 2], [0, -1, 3]], 0.2)
                    tb_, sb = simulation.linear_net_benefit(lines[:, 0], lines[:, 1:], t)
                    best = simulation.oracle_net_benefit(t)
                    rows.append((t, q, n, repetition, tb_, sb, best))
    names = ["threshold", "q", "n", "repetition"]
    return pd.DataFrame(rows, columns=[*names, "tailored", "standard", "oracle"])


@pytest.fixture(scope="session")
def records():
    simulation = Simulation1(1.0)
    X, y = simulation.sample(400, np.random.default_rng(4))  # every search finds a discount
    X_test, y_test = simulation.sample(500, np.random.default_rng(1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tb.TailoringWarning)
        family = tb.TailoredFamily(
            THRESHOLDS, discount_grid=[0, 5, 20], selection="smooth", draws=400, random_state=0
        ).fit(X, y)
        split = tb.TailoredLogisticRegression(
            0.3, design="split", selection="smooth", discount_grid=[0, 5], draws=100, random_state=0
        ).fit(X, y)
    standard, tailored = family.standard_, family.models_[0.3]
    assert min(family.discounts_.values()) > 0  # or TB and SB would be drawn alike
    models = {"TB": family, "SB": standard, "score": X_test[:, 1]}
    x1 = np.linspace(0, 1, 11)
    differences = [
        tb.net_benefit_difference(
            y_test, models, against="SB", X=X_test, replicates=50, random_state=seed
        )
        for seed in range(2)
    ]
    bayesian = tb.bayesian_decision_curve(y_test, models, X=X_test, draws=200, random_state=0)
    fine = np.linspace(0.05, 0.6, 56)
    cells = study_cells()
    return SimpleNamespace(
        X=X,
        y=y,
        X_test=X_test,
        y_test=y_test,
        family=family,
        simulation=simulation,
        optimal=tb.optimal_boundaries(simulation, [0.1, 0.3], x1),
        fitted=tb.decision_boundaries({"SB": standard, "TB": family}, 0.3, x1),
        curve=tb.decision_curve(y_test, models, THRESHOLDS[::-1], X=X_test),
        fine=tb.decision_curve(y_test, {"SB": standard, "score": X_test[:, 1]}, fine, X=X_test),
        difference=differences[0],
        resplit=tb.resplit_difference(differences),
        bayesian=bayesian,
        better=bayesian.difference("TB", "SB"),
        calibration=tb.calibration(
            y_test, {"SB": standard, "TB": tailored}, X=X_test, threshold=0.3
        ),
        shapes=tb.miscalibration_shapes(),
        intervals=tb.posterior_intervals({"SB": standard, "TB": tailored}),
        overlap=tb.posterior_overlap(standard, tailored),
        patients=tb.patients(tailored, X_test, predictive=[4, 2]),
        prospects=tb.prospects(family),
        splitting=tb.data_splitting(split, n_test=len(y_test)),
        cells=cells,
        differences=tb.difference_grid(cells, panel="q", line="n"),
        net_benefits=tb.net_benefit_grid(
            cells,
            {"TB": "tailored", "SB": "standard", "optimal": "oracle"},
            panel="q",
        ),
    )


@pytest.fixture(autouse=True)
def _close_figures():
    plt.close("all")  # those of an example elsewhere that ran in this process just before
    yield
    plt.close("all")
