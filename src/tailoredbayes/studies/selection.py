"""Which rule should choose the discount? Rules, designs, rounds and repeats, on known ground.

Every combination searches the same data: Simulations 1 and 2 of the paper, where the net benefit
of a linear rule is known exactly, and the bundled data sets, cut again and again into training and
test rows. What counts is the gain over standard Bayes at the threshold, per 1000 patients, of the
rule at the posterior mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.decision import net_benefit
from tailoredbayes.fitting import Settings, Training, search_discounts, stage_1, tailored_weights
from tailoredbayes.inference import find_modes
from tailoredbayes.posterior import TailoredPosterior
from tailoredbayes.predictive import normal_risk
from tailoredbayes.reference import check_design
from tailoredbayes.selection import RULES, check_rule, held_out_by_posterior
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
from tailoredbayes.studies.generators import Simulation1, Simulation2
from tailoredbayes.studies.grounds import GroundSettings, ground_cells, split_real

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["STUDY", "SelectionSettings", "summarise"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SelectionSettings(GroundSettings):
    """The study's settings."""

    rules: tuple[str, ...] = setting(tuple(RULES), "rules for the discount")
    designs: tuple[str, ...] = setting(("crossfit", "split"), "designs of stage 1")
    rounds: tuple[int, ...] = setting((0, 1, 2), "rounds that refine the reference risk")
    cv_repeats: tuple[int, ...] = setting((1, 4), "repeats of the cross-validation")

    def __post_init__(self) -> None:
        super().__post_init__()
        for rule in self.rules:
            check_rule(rule)
        for design in self.designs:
            check_design(design)


@dataclass(frozen=True)
class _Ground:
    """One data set to fit on, and how to judge a fit: the net benefit of theta (p,) at t."""

    x: Floats
    y: NDArray[np.bool_]
    thresholds: tuple[float, ...]
    judge: Callable[[Floats, float], float]


_SIMULATIONS: dict[str, Any] = {
    "sim1, q = 1": Simulation1(1.0),
    "sim2, prevalence .3": Simulation2(0.3),
}


def _simulated(settings: SelectionSettings, name: str, n: int, rng: np.random.Generator) -> _Ground:
    simulation = _SIMULATIONS[name]
    x, y = simulation.sample(n, rng)

    def judge(beta: Floats, threshold: float) -> float:
        return float(simulation.linear_net_benefit(beta[0], beta[1:], threshold))

    return _Ground(x, y.astype(bool), settings.thresholds, judge)


def _split(settings: SelectionSettings, name: str, rng: np.random.Generator) -> _Ground:
    rows = split_real(name, settings.test_share, rng)

    def judge(beta: Floats, threshold: float) -> float:
        root = np.zeros((1, len(beta), len(beta)))
        risk = normal_risk(rows.test_x, beta[:, None], root)[:, 0]
        return float(net_benefit(rows.test_y, risk, threshold))

    return _Ground(rows.x, rows.y, settings.real_thresholds, judge)


def cells(settings: SelectionSettings) -> Iterator[Coordinates]:
    """Give every data set and repetition."""
    return ground_cells(settings, _SIMULATIONS)


def cell(settings: SelectionSettings, at: Coordinates) -> Tables:
    """Search one data set by every combination."""
    rng = stream(settings.seed, at)
    if at["data"] in _SIMULATIONS:
        ground = _simulated(settings, at["data"], at["n"], rng)
    else:
        ground = _split(settings, at["data"], rng)
    base = TailoredPosterior(ground.x, ground.y, threads=1)
    standard = base.coefficients(find_modes(base).theta)[:, 0]
    training = Training(ground.x, ground.y)
    rows = []
    for design, repeats, rule in product(settings.designs, settings.cv_repeats, settings.rules):
        how = Settings(
            selection=rule,
            design=check_design(design),
            rounds=max(settings.rounds),
            cv_repeats=repeats,
            threads=1,
        )
        # The same folds for every rule: only the choice differs.
        reference = stage_1(training, how, stream(settings.seed, {**at, "for": "reference"}), base)
        searches, _ = search_discounts(
            training,
            reference,
            ground.thresholds,
            how,
            stream(settings.seed, {**at, "for": "folds"}),
            held_out=lambda problems, folds: held_out_by_posterior(base, problems, folds),
            n_coefficients=base.n_coefficients,
            progress=lambda step: None,
        )
        # Fewer rounds would have seen the same first tables.
        shorter = [
            (rounds, search.limited(rounds)) for search in searches for rounds in settings.rounds
        ]
        weights = [tailored_weights(training, reference, how, s) for _, s in shorter]
        posterior = base.reweighted(np.stack(weights, axis=1))
        beta = posterior.coefficients(find_modes(posterior).theta)
        for column, (rounds, search) in enumerate(shorter):
            t = search.threshold
            gain = ground.judge(beta[:, column], t) - ground.judge(standard, t)
            rows.append(
                {
                    "n": len(ground.y),
                    "threshold": t,
                    "rule": rule,
                    "design": design,
                    "rounds": rounds,
                    "cv_repeats": repeats,
                    "discount": search.discount,
                    "round": search.round,
                    "gain": 1000 * gain,
                }
            )
    return {"gain": rows}


_COMBINATION = ["rule", "design", "rounds", "cv_repeats"]


def summarise(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row a combination, best first.

    A cell is a data set, size and threshold, averaged over the repetitions; it does *clear harm*
    when its mean gain is below zero by more than two standard errors.
    """
    import pandas as pd

    cell = [*_COMBINATION, "data", "n", "threshold"]
    by_cell = frame.groupby(cell)["gain"].agg(["mean", "sem"]).reset_index()
    by_cell["harm"] = by_cell["mean"] < -2 * by_cell["sem"]
    by_cell["simulated"] = by_cell["data"].str.startswith("sim")
    rows = []
    for combination, part in by_cell.groupby(_COMBINATION):
        worst = part.loc[part["mean"].idxmin()]
        simulated, real = part[part["simulated"]], part[~part["simulated"]]
        rows.append(
            {
                **dict(zip(_COMBINATION, combination, strict=True)),
                "gain": part["mean"].mean(),
                "gain (simulated)": simulated["mean"].mean(),
                "gain (real)": real["mean"].mean(),
                "clear harm": part["harm"].mean(),
                "clear harm (real)": real["harm"].mean(),
                "worst": worst["mean"],
                "worst cell": f"{worst['data']}, n = {worst['n']}, t = {worst['threshold']}",
            }
        )
    return pd.DataFrame(rows).sort_values("gain", ascending=False, ignore_index=True)


def about(results: Results) -> str:
    """Say what was done."""
    settings = results.settings
    frame = results["gain"]
    return (
        "Gain in net benefit over standard Bayes at the threshold, per 1000 patients, by rule, "
        "design of stage 1, refinement rounds and repeats of the 5-fold cross-validation. The "
        'paper\'s procedure is "max", "split", 0 rounds, 1 repeat. Simulations are judged by '
        "their exact net benefit, real data on the rows held out.\n\n"
        f"{settings.told(_SIMULATIONS)}\n"
        f"- {settings.repetitions} repetitions; a cell is one data set, size and threshold: "
        f"{frame.groupby(['data', 'n', 'threshold']).ngroups} cells. *Clear harm*: a cell's mean "
        "gain is more than two standard errors below zero. Simulated and real cells count alike."
    )


def claims(results: Results) -> Iterator[Claim]:
    """Give what the paper says of its procedure."""
    frame = results["gain"]
    paper = frame[
        (frame["rule"] == "max")
        & (frame["design"] == "split")
        & (frame["rounds"] == 0)
        & (frame["cv_repeats"] == 1)
    ]
    if not len(paper):
        return
    (row,) = summarise(paper).to_dict("records")
    yield Claim(
        "abstract",
        "Tailoring improves predictive performance over standard methods.",
        f"By the paper's procedure: {row['gain (simulated)']:+.2f} per 1000 on simulated data and "
        f"{row['gain (real)']:+.2f} on real data; clear harm in {row['clear harm']:.0%} of the "
        f"cells.",
        bool(row["gain (simulated)"] > 0 and row["gain (real)"] > 0),
    )


def exhibits(results: Results) -> Iterator[Exhibit]:
    """Give the table of all combinations, and gains by data set."""
    frame = results["gain"]
    table = summarise(frame)
    for column in ("gain", "gain (simulated)", "gain (real)", "worst"):
        table[column] = table[column].map("{:+.2f}".format)
    for column in ("clear harm", "clear harm (real)"):
        table[column] = table[column].map("{:.0%}".format)
    yield Exhibit("combinations", "Best first.", table)
    yield Exhibit(
        "by-data-set",
        f"Mean gain with {min(results.settings.rounds)} rounds, {results.settings.designs[0]}.",
        _by_data(results),
    )


def _by_data(results: Results) -> pd.DataFrame:
    frame, settings = results["gain"], results.settings
    rounds, design = min(settings.rounds), settings.designs[0]
    part = frame[(frame["rounds"] == rounds) & (frame["design"] == design)]
    wide = part.pivot_table(
        index=["data", "n", "threshold"], columns=["rule", "cv_repeats"], values="gain"
    )
    wide.columns = [f"{rule}, {repeats} x CV" for rule, repeats in wide.columns]
    return wide.map("{:+.2f}".format).reset_index()


STUDY = Study(
    name="selection",
    title="Which rule chooses the discount",
    settings=SelectionSettings,
    cells=cells,
    cell=cell,
    claims=claims,
    exhibits=exhibits,
    about=about,
)
