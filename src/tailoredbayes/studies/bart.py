"""Simulation 2 against BART: section S7 of [Karapanagiotis2021].

BART, a sum of trees [Chipman2010], can follow the curved boundaries that no logistic model can.
It is stochtree's, in the extra ``bart``; the paper used lbart of R's package BART.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.checks import check_number
from tailoredbayes.decision import net_benefit
from tailoredbayes.evaluation.grids import difference_grid
from tailoredbayes.studies.compared import draw_grid, only
from tailoredbayes.studies.contract import (
    Claim,
    Coordinates,
    Exhibit,
    Results,
    Study,
    Tables,
    setting,
    stream,
)
from tailoredbayes.studies.generators import Simulation2
from tailoredbayes.studies.simulated import SimulationSettings, judge, procedures

__all__ = ["STUDY", "BartSettings", "bart_risk"]

Floats = NDArray[np.float64]
# A mean difference within this of zero, per 1000, is no difference.
_MATTERS = 0.5


@dataclass(frozen=True)
class BartSettings(SimulationSettings):
    """Settings of the comparison with BART; the trees' are lbart's defaults."""

    prevalence: tuple[float, ...] = setting((0.1, 0.3, 0.5), "P(y = 1)")
    trees: int = setting(200, "BART's trees")
    bart_draws: int = setting(1000, "BART's draws")
    burn_in: int = setting(100, "BART's draws thrown away before them")

    def __post_init__(self) -> None:
        super().__post_init__()
        for prevalence in self.prevalence:
            check_number(prevalence, "prevalence", above=0, below=1, advice="the paper takes 0.3")
        for name in ("trees", "bart_draws"):
            check_number(getattr(self, name), name, at_least=1, advice="200 and 1000 are lbart's")
        check_number(self.burn_in, "burn_in", at_least=0, advice="100 is lbart's")


def bart_risk(
    X: Floats, y: NDArray[np.int64], X_test: Floats, settings: BartSettings, seed: int
) -> Floats:
    """Return the posterior mean risk of the test rows under probit BART [Chipman2010]."""
    try:
        from stochtree import BARTModel, OutcomeModel
    except ImportError:
        raise ImportError(
            "this study needs the package stochtree: pip install 'tailoredbayes[bart]'"
        ) from None
    model = BARTModel()
    model.sample(
        X_train=X,
        y_train=y.astype(np.float64),
        num_gfr=0,  # from roots, as lbart: no warm start
        num_burnin=settings.burn_in,
        num_mcmc=settings.bart_draws,
        general_params={
            "outcome_model": OutcomeModel("binary", "probit"),
            "sample_sigma2_global": False,  # a probit's is 1
            "random_seed": seed,
            "num_threads": 1,
        },
        mean_forest_params={"num_trees": settings.trees},
    )
    risk = model.predict(X=X_test, type="mean", terms="y_hat", scale="probability")
    return np.asarray(risk, dtype=np.float64)


def cells(settings: BartSettings) -> Iterator[Coordinates]:
    """Give every prevalence, n and repetition: the samples of sim2."""
    every = product(range(settings.repetitions), settings.prevalence, settings.n)
    for repetition, prevalence, n in every:
        yield {"prevalence": prevalence, "n": n, "repetition": repetition}


def cell(settings: BartSettings, at: Coordinates) -> Tables:
    """Fit one sample by standard Bayes, tailoring and BART."""
    simulation = Simulation2(at["prevalence"])
    judged = judge(simulation, settings, at["n"], at)
    _, test_rng = stream(settings.seed, at).spawn(2)  # the test rows of judge
    X_test, y_test = simulation.sample_test(settings.test_rows, test_rng)
    seed = int(stream(settings.seed, {**at, "for": "bart"}).integers(2**31))
    risk = bart_risk(judged.X, judged.y, X_test, settings, seed)
    truth = simulation.risk(X_test)
    rows = [
        {
            **row,
            "bart": row["oracle"] - _shortfall(risk, truth, row["threshold"]),
            "bart_test": float(net_benefit(y_test, risk, row["threshold"])),
        }
        for row in judged.rows
    ]
    return {"net_benefit": rows}


def _shortfall(risk: Floats, truth: Floats, t: float) -> float:
    """Return what a rule loses to the oracle on rows of known risk.

    Treating a row adds (theta - t) / (1 - t) to the net benefit; rows on which the two agree
    cancel, and with them most of the sampling error.

    >>> round(_shortfall(np.array([0.1, 0.9]), np.array([0.6, 0.9]), 0.5), 6)  # 0.1 / 0.5 / 2
    0.1
    """
    worse = (truth >= t) != (risk >= t)
    return float(np.mean(worse * np.abs(truth - t)) / (1 - t))


# --- What was found ---------------------------------------------------------------------------


def _gains(results: Results, procedure: str) -> Any:
    """Return TB less BART per 1000, a row a prevalence, n and threshold: mean and error."""
    table = only(results["net_benefit"], procedure=procedure)
    table = table.assign(
        gain=1000 * (table["tailored"] - table["bart"]),
        gain_test=1000 * (table["tailored_test"] - table["bart_test"]),
    )
    groups = table.groupby(["prevalence", "n", "threshold"], sort=False)
    return groups.agg(
        gain=("gain", "mean"),
        se=("gain", "sem"),
        gain_test=("gain_test", "mean"),
        se_test=("gain_test", "sem"),
    ).reset_index()


def _count(table: Any) -> tuple[int, int]:
    """Count settings where TB is ahead and behind by two standard errors and half a positive."""
    clear = table["gain"].abs() > np.maximum(2 * table["se"], _MATTERS)
    return int((clear & (table["gain"] > 0)).sum()), int((clear & (table["gain"] < 0)).sum())


def claims(results: Results) -> Iterator[Claim]:
    """Give what section S7 says of Figure S3."""
    for procedure in procedures(results.settings):
        found = _gains(results, procedure)
        for prevalence in results.settings.prevalence:
            part = only(found, prevalence=prevalence)
            if prevalence < 0.4:
                ahead, behind = _count(part)
                yield Claim(
                    "section S7, Figure S3",
                    f"At prevalence {prevalence:g} TB performs better or no worse than BART.",
                    _told(procedure, part),
                    None if part["se"].isna().any() else behind == 0,
                )
                continue
            late = part["threshold"] >= 0.9
            _, behind = _count(part[~late])
            ahead, _ = _count(part[late])
            yield Claim(
                "section S7, Figure S3",
                f"At prevalence {prevalence:g} BART is better, except at t = 0.9.",
                _told(procedure, part),
                None if part["se"].isna().any() else behind > (~late).sum() / 2 and ahead > 0,
            )


def _told(procedure: str, part: Any) -> str:
    ahead, behind = _count(part)
    by_n = part.groupby("n", sort=False)["gain"].mean()
    means = ", ".join(f"{gain:+.1f} at n = {n}" for n, gain in by_n.items())
    return (
        f"*{procedure}*: TB is ahead in {ahead} of {len(part)} settings and behind in {behind}; "
        f"mean over thresholds {means} per 1000."
    )


def exhibits(results: Results) -> Iterator[Exhibit]:
    """Give Figure S3, exact and as the paper counts it."""
    settings = results.settings
    m = f"means over {settings.repetitions} repetitions with one standard error"
    ways = (
        ("", "exact (BART's to within the test rows)", ("tailored", "bart")),
        ("-test", "on the test sets, as in the paper", ("tailored_test", "bart_test")),
    )
    for procedure in procedures(settings):
        cells_ = only(results["net_benefit"], procedure=procedure)
        for ending, how, columns in ways:
            record = difference_grid(cells_, *columns, panel="prevalence", line="n")
            yield Exhibit(
                f"figure-s3-{procedure.replace(', ', '-')}{ending}",
                f"Net benefit of TB less BART, *{procedure}*, {how}: {m}. Above 0 TB is better.",
                record.to_frame(),
                partial(draw_grid, record),
                "Figure S3",
            )
    yield _gaps(results)


def _gaps(results: Results) -> Exhibit:
    """Give what each model leaves of the oracle's net benefit."""
    name = procedures(results.settings)[0]
    table = only(results["net_benefit"], procedure=name)
    less = table[["prevalence", "n"]].assign(
        SB=1000 * (table["oracle"] - table["standard"]),
        TB=1000 * (table["oracle"] - table["tailored"]),
        BART=1000 * (table["oracle"] - table["bart"]),
    )
    return Exhibit(
        "below-the-oracle",
        "How far each model lies below the oracle, the best of all rules, in net true positives "
        f"per 1000; mean over thresholds and repetitions (TB: *{name}*).",
        less.groupby(["prevalence", "n"], sort=False).mean().reset_index(),
    )


def about(results: Results) -> str:
    """Say what was done, and where that differs from the paper."""
    settings = results.settings
    return "\n\n".join(
        [
            "The samples of [sim2](sim2.md), two Gaussians whose optimal boundaries are curved, "
            "fitted by BART [Chipman2010] as well: a model that can bend, against one that is "
            "told where to look.",
            "The paper's BART is lbart of R's package BART, logistic. Ours is stochtree's, with a "
            f"probit link and its default priors; {settings.trees} trees, {settings.bart_draws} "
            f"draws after {settings.burn_in}, in one chain. What BART loses to the oracle is "
            f"taken from the true risks of the {settings.test_rows} test rows; net benefits of TB "
            "and SB are integrated over the population.",
            f"This page: {settings.repetitions} repetitions, as BART takes nearly all of the time; "
            f"the paper has {_PAPERS}, which `tailoredbayes study run bart` does by default.",
        ]
    )


_PAPERS = BartSettings().repetitions

STUDY = Study(
    name="bart",
    title="Simulation 2 against BART",
    settings=BartSettings,
    cells=cells,
    cell=cell,
    claims=claims,
    exhibits=exhibits,
    about=about,
    shows=("Figure S3",),
    for_page={"repetitions": 4},
)
