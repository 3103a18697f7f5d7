"""The authors' R package, TailoredBayes 0.1.0, on its own simulated rows (see README.md).

Draws agree to 4 Monte Carlo errors, which one right comparison in 16,000 exceeds: the 9 means and
27 spreads and tails here together fail right samplers once in some 440 runs. Seeds are fixed.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tailoredbayes import (
    TailoredPosterior,
    effective_sample_fraction,
    sample,
    tailoring_weights,
)

HERE = Path(__file__).parent
# The 80 rows were written with 15 digits.
WRITTEN = 1e-13


@pytest.fixture(scope="module")
def rows():
    return pd.read_csv(HERE / "r_out_data.csv")


@pytest.fixture(scope="module")
def every_row():
    return pd.read_csv(HERE / "all_rows.csv")


@pytest.fixture(scope="module")
def published():
    return pd.read_csv(HERE / "r_out_posterior.csv").set_index("coef")


@pytest.fixture(scope="module")
def posterior(rows, published):
    setting = published.iloc[0]
    weights = tailoring_weights(rows["pi_u"], setting["t"], setting["lambda"], "squared")
    return TailoredPosterior(rows[["x1", "x2"]], rows["y"], weights=weights, names=["x1", "x2"])


def test_the_development_rows_are_among_all_rows(rows, every_row):
    assert len(rows) == 80
    assert len(every_row) == 100
    names = ["y", "x1", "x2"]
    apart = np.abs(rows[names].to_numpy()[:, None] - every_row[names].to_numpy()).max(axis=2)
    assert (apart.min(axis=1) < WRITTEN).all()
    assert len(set(apart.argmin(axis=1))) == 80


@pytest.mark.parametrize(
    ("which", "expected"), [("every_row", -64.1559244232), ("rows", -44.6951312821)]
)
def test_log_likelihood_of_standard_bayes(which, expected, request):
    data = request.getfixturevalue(which)
    by_loop = 0.0
    for y, x1, x2 in data[["y", "x1", "x2"]].itertuples(index=False):
        risk = 1 / (1 + math.exp(-(1 + x1 + x2)))
        by_loop += math.log(risk) if y == 1 else math.log(1 - risk)
    found = TailoredPosterior(data[["x1", "x2"]], data["y"]).log_likelihood([1, 1, 1])
    assert by_loop == pytest.approx(expected, abs=1e-9)
    assert found == pytest.approx(expected, abs=1e-9)


def test_effective_sample_fraction(rows, published):
    weights = tailoring_weights(rows["pi_u"], 0.3, 20)
    assert effective_sample_fraction(weights) == pytest.approx(
        published["ess_t"].iloc[0], rel=1e-12
    )


@pytest.fixture(scope="module", params=["importance", "nuts", "metropolis"])
def drawn(request, posterior):
    return sample(posterior, request.param, draws=10_000, random_state=2021)


def test_posterior_means_within_4_monte_carlo_errors(drawn, published):
    theirs = published.loc[list(drawn.names)]
    error = np.hypot(drawn.mcse(), theirs["mcse"])
    assert (np.abs(drawn.mean - theirs["mean"]) < 4 * error).all()


def test_posterior_sds_and_tails_within_4_monte_carlo_errors(drawn, published):
    theirs = published.loc[list(drawn.names)]
    # Two independent estimates from S and S' effective draws: the variance of their difference
    # has the factor 1/S + 1/S'. An sd of S draws of a near normal has the error sd / sqrt(2 S) ...
    both = np.sqrt(1 / theirs["ess"] + 1 / drawn.ess("bulk"))
    assert (np.abs(drawn.sd - theirs["sd"]) < 4 * theirs["sd"] / math.sqrt(2) * both).all()
    # ... and a 5% quantile sqrt(0.05 * 0.95 / S) / density, where the density is 0.103 / sd.
    both = np.sqrt(1 / theirs["ess"] + 1 / drawn.ess("tail"))
    error = math.sqrt(0.05 * 0.95) / 0.103 * theirs["sd"] * both
    low, high = np.quantile(drawn.flat, [0.05, 0.95], axis=0)
    assert (np.abs(low - theirs["q05"]) < 4 * error).all()
    assert (np.abs(high - theirs["q95"]) < 4 * error).all()
