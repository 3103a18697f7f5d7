"""Known ground: simulations of several sizes beside the bundled data, cut again and again.

What the studies of selection rules and of verdicts share: their data sets, and the settings that
say how many of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from tailoredbayes import datasets
from tailoredbayes.checks import check_number, check_thresholds
from tailoredbayes.studies.contract import Coordinates, setting

__all__ = ["REAL", "GroundSettings", "Split", "ground_cells", "real_data", "split_real"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

REAL = ("wisconsin", "rotterdam", "gbsg")
"""The bundled data sets."""


@dataclass(frozen=True)
class GroundSettings:
    """How many data sets, of what sizes, at which thresholds."""

    n: tuple[int, ...] = setting((500, 1000, 5000), "training rows of the simulations")
    thresholds: tuple[float, ...] = setting((0.1, 0.3, 0.5, 0.7, 0.9), "of the simulations")
    real_thresholds: tuple[float, ...] = setting((0.1, 0.2, 0.3, 0.4, 0.5), "of the real data")
    repetitions: int = setting(20, "samples, or splits, of each data set")
    test_share: float = setting(1 / 3, "of the real data")
    seed: int = setting(2021, "seed of everything")

    def __post_init__(self) -> None:
        check_thresholds(np.array([*self.thresholds, *self.real_thresholds]))
        advice = "20 splits give a standard error to go by"
        check_number(self.repetitions, "repetitions", at_least=1, advice=advice)

    def told(self, simulations: Iterable[str]) -> str:
        """List the data sets, in Markdown."""
        return (
            f"- Simulated: {'; '.join(simulations)}; n = {', '.join(map(str, self.n))}; "
            f"t = {', '.join(map(str, self.thresholds))}.\n"
            f"- Real: {', '.join(REAL)}; t = {', '.join(map(str, self.real_thresholds))}; "
            f"{self.test_share:.0%} held out."
        )


@dataclass(frozen=True)
class Split:
    """One cut of a real data set: rows to fit on, and rows to judge by."""

    x: Floats
    y: Bools
    test_x: Floats
    test_y: Bools


def ground_cells(settings: GroundSettings, simulations: Iterable[str]) -> Iterator[Coordinates]:
    """Give every data set and repetition; real data have the size they have."""
    names = list(simulations)
    for repetition in range(settings.repetitions):
        for name, n in product(names, settings.n):
            yield {"data": name, "n": n, "repetition": repetition}
        for name in REAL:
            yield {"data": name, "repetition": repetition}


def real_data(name: str) -> tuple[Floats, Bools]:
    """Return a bundled data set as numbers: covariates (n, d) and who has the event."""
    if name == "wisconsin":
        data = datasets.load_wisconsin(dropna=True)
        return data.data.to_numpy(dtype=np.float64), data.target.to_numpy() == 1
    data = {"rotterdam": datasets.load_rotterdam, "gbsg": datasets.load_gbsg}[name]()
    table = data.data
    logs = [np.log1p(table[column]) for column in ("nodes", "pgr", "er")]
    plain = [table["age"] / 10, table["meno"], table["grade"] == 3, table["hormon"]]
    x = np.stack([np.asarray(column, dtype=np.float64) for column in (*plain, *logs)], axis=1)
    return x, data.target.to_numpy() == 1


def split_real(name: str, test_share: float, rng: np.random.Generator) -> Split:
    """Cut a bundled data set into rows to fit on and rows to judge by, outcomes in proportion."""
    x, y = real_data(name)
    train, test = train_test_split(
        np.arange(len(y)), test_size=test_share, stratify=y, random_state=int(rng.integers(2**31))
    )
    return Split(x[train], y[train], x[test], y[test])
