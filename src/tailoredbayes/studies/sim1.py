"""Simulation 1 of [Karapanagiotis2021]: optimal boundaries that are straight but not parallel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from tailoredbayes.studies.contract import (
    Claim,
    Coordinates,
    Exhibit,
    Results,
    Study,
    Tables,
    setting,
)
from tailoredbayes.studies.generators import Simulation1
from tailoredbayes.studies.simulated import SimulationSettings, gains, judge

__all__ = ["STUDY", "Sim1Settings"]


@dataclass(frozen=True)
class Sim1Settings(SimulationSettings):
    """Settings of Simulation 1."""

    q: tuple[float, ...] = setting((0.1, 0.5, 1.0), "odds of an event on the diagonal")


def cells(settings: Sim1Settings) -> Iterator[Coordinates]:
    """Give every q, n and repetition."""
    for repetition, q, n in product(range(settings.repetitions), settings.q, settings.n):
        yield {"q": q, "n": n, "repetition": repetition}


def cell(settings: Sim1Settings, at: Coordinates) -> Tables:
    """Fit one sample."""
    judged = judge(Simulation1(at["q"]), settings, at["n"], at)
    return {"net_benefit": judged.rows}


def claims(results: Results) -> Iterator[Claim]:
    """Give what section 3.1 says."""
    found = gains(results, ["procedure", "q", "n", "threshold"])
    won = float((found["gain"] > 0).mean())
    yield Claim(
        "section 3.1",
        "Under most scenarios tailoring outperforms standard Bayes.",
        f"The mean gain is above zero in {won:.0%} of the settings.",
        won > 0.5,
    )


def exhibits(results: Results) -> Iterator[Exhibit]:
    """Give the figures."""
    yield Exhibit(
        "figure-2", "Gain.", gains(results, ["procedure", "q", "n", "threshold"]), shows="Figure 2"
    )


def about(results: Results) -> str:
    """Say what was done."""
    return "Straight boundaries through the origin: a logistic model can follow any one of them."


STUDY = Study(
    name="sim1",
    title="Simulation 1: linear boundaries that are not parallel",
    settings=Sim1Settings,
    cells=cells,
    cell=cell,
    claims=claims,
    exhibits=exhibits,
    about=about,
    shows=("Figure 2",),
)
