"""What Simulations 1 to 3 have in common: one sample, standard and tailored fits, judged exactly.

A fit treats where its posterior mean risk reaches t. Its net benefit is known in two ways: counted
on a test set, as in the paper, and integrated over the population ("exact"), which leaves out the
test set's noise. For the integral the posterior is the normal with the draws' mean and covariance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.checks import check_number, check_thresholds
from tailoredbayes.decision import net_benefit
from tailoredbayes.evaluation.boundaries import decision_boundaries
from tailoredbayes.fitting import Settings, TailoredFit, Training, fit_tailored
from tailoredbayes.inference import Draws
from tailoredbayes.inference.sampling import check_sampler
from tailoredbayes.predictive import logistic_normal_mean, mean_risk
from tailoredbayes.reference import check_design
from tailoredbayes.rows import one_blas_thread
from tailoredbayes.selection import DEFAULT_RULE, check_rule
from tailoredbayes.studies.contract import Coordinates, setting, stream
from tailoredbayes.studies.generators import RiskFunction, Simulation

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "BAND",
    "Judged",
    "SimulationSettings",
    "boundary_rows",
    "is_pictured",
    "judge",
    "procedures",
]

Floats = NDArray[np.float64]

# The paper's pictures are of this many rows, its bands and intervals hold this share.
_PICTURED, BAND = 5000, 0.9
# Cells a side of the grid that finds the treated region: its error is below 1e-7 for these risks.
_CELLS = 24


@dataclass(frozen=True)
class SimulationSettings:
    """Settings that the simulations share; ``design`` and ``selection`` go in pairs."""

    n: tuple[int, ...] = setting((500, 1000, 5000, 10000), "training rows")
    thresholds: tuple[float, ...] = setting((0.1, 0.3, 0.5, 0.7, 0.9), "target thresholds")
    repetitions: int = setting(20, "samples of each setting")
    test_rows: int = setting(2000, "rows of the test set")
    design: tuple[str, ...] = setting(
        ("crossfit", "split"), "stage 1 of each procedure: crossfit, split (20/80)"
    )
    selection: tuple[str, ...] = setting(
        (DEFAULT_RULE, "max"),
        "rule for the discount of each procedure: one_se, max, smooth, guarded",
    )
    sampler: str = setting("laplace", "laplace, importance, nuts, metropolis (the paper's), auto")
    draws: int = setting(4000, "posterior draws")
    seed: int = setting(2021, "seed of everything")

    def __post_init__(self) -> None:
        check_thresholds(np.array(self.thresholds))
        check_sampler(self.sampler)
        for name in ("repetitions", "test_rows", "draws"):
            check_number(getattr(self, name), name, at_least=1, advice="20, 2000, 4000 are usual")
        for n in self.n:
            check_number(n, "n", at_least=50, advice="the paper takes 500 to 10000")
        if len(self.design) != len(self.selection) or not self.design:
            raise ValueError(
                "design and selection must be given in pairs, one of each a procedure, got "
                f"{','.join(self.design)} and {','.join(self.selection)}; the paper's procedure is "
                "--design split --selection max"
            )
        for design, selection in zip(self.design, self.selection, strict=True):
            check_design(design)
            check_rule(selection)


def procedures(settings: SimulationSettings) -> list[str]:
    """Return the names of the procedures, the main one first.

    >>> procedures(SimulationSettings())
    ['crossfit, one_se', 'split, max']
    """
    return [f"{d}, {s}" for d, s in zip(settings.design, settings.selection, strict=True)]


@dataclass(frozen=True)
class Judged:
    """One sample's fits, and the rows that say how good they are."""

    X: Floats
    y: NDArray[np.int64]
    standard: Draws
    fits: dict[str, list[TailoredFit]]
    rows: list[dict[str, Any]]


def judge(
    simulation: Simulation,
    settings: SimulationSettings,
    n: int,
    at: Coordinates,
    sampled: Coordinates | None = None,
) -> Judged:
    """Fit on n rows by each procedure, and judge every fit.

    Parameters
    ----------
    simulation
        Where the rows come from.
    settings
        Of the study.
    n
        Training rows.
    at
        The cell's coordinates, which seed the fits.
    sampled
        The coordinates that seed the rows; ``at`` if None.

    Returns
    -------
    Judged
        Its rows, one a procedure and threshold: net benefits ``standard``, ``tailored`` and
        ``oracle``, exact and on the test set (``_test``); ``discount``; ``share``, of the
        training rows, ESS_T / n.
    """
    rows_rng, test_rng = stream(settings.seed, at if sampled is None else sampled).spawn(2)
    X, y = simulation.sample(n, rows_rng)
    X_test, y_test = simulation.sample_test(settings.test_rows, test_rng)
    training = Training(X, y == 1, names=("x1", "x2"))
    fits, standard = {}, None
    pairs = zip(settings.design, settings.selection, strict=True)
    for procedure, (design, selection) in zip(procedures(settings), pairs, strict=True):
        how = Settings(
            design=check_design(design),
            selection=selection,
            sampler=settings.sampler,
            draws=settings.draws,
            threads=1,
        )
        # The same stream for every procedure (standard Bayes is the same, too), not the rows'.
        rng = stream(settings.seed, {**at, "for": "fits"})
        fits[procedure], standard = fit_tailored(
            training, settings.thresholds, how, rng, standard=True
        )
    assert standard is not None

    def judged(draws: Draws, threshold: float) -> tuple[float, float]:
        with one_blas_thread:  # once for the many small calls of an integral
            exact = simulation.surface_net_benefit(_normal(draws), threshold, cells=_CELLS)
        counted = float(net_benefit(y_test, _risk(draws, X_test), threshold))
        return exact.net_benefit, counted

    truth = simulation.risk(X_test)
    plain = [judged(standard, t) for t in settings.thresholds]
    rows = []
    for procedure, found in fits.items():
        for fit, (exact, counted) in zip(found, plain, strict=True):
            t = fit.search.threshold
            tailored, tailored_test = judged(fit.draws, t)
            rows.append(
                {
                    "threshold": t,
                    "procedure": procedure,
                    "discount": fit.search.discount,
                    "share": float(fit.weights.sum()) / n,
                    "standard": exact,
                    "tailored": tailored,
                    "oracle": simulation.oracle_net_benefit(t),
                    "standard_test": counted,
                    "tailored_test": tailored_test,
                    "oracle_test": float(net_benefit(y_test, truth, t)),
                }
            )
    return Judged(X, y, standard, fits, rows)


def _normal(draws: Draws) -> RiskFunction:
    """Return the mean risk under the normal with the draws' mean and covariance."""
    intercept, slopes = draws.mean[0], draws.mean[1:]
    root = np.linalg.cholesky(np.cov(draws.flat.T))

    def risk(points: Floats) -> Floats:
        scaled = root[0] + points @ root[1:]
        return logistic_normal_mean(intercept + points @ slopes, np.sqrt((scaled**2).sum(axis=1)))

    return risk


def _risk(draws: Draws, X: Floats) -> Floats:
    # Laplace's draws are of a normal: its integral is what their average would come to.
    if draws.sampler == "laplace":
        return np.asarray(_normal(draws)(X))
    return mean_risk(X, draws.flat, threads=1)


def is_pictured(settings: SimulationSettings, at: Coordinates) -> bool:
    """Whether a cell's boundaries are kept: the first sample of the size nearest the paper's."""
    nearest = min(settings.n, key=lambda n: (abs(n - _PICTURED), n))
    return bool(at["repetition"] == 0 and at["n"] == nearest)


def boundary_rows(judged: Judged, settings: SimulationSettings, x1: Floats) -> pd.DataFrame:
    """Return where SB and TB (the main procedure) change their decision, with 90% bands."""
    import pandas as pd

    fits = judged.fits[procedures(settings)[0]]
    return pd.concat(
        [
            decision_boundaries(
                {"SB": judged.standard, "TB": fit.draws}, fit.search.threshold, x1, prob=BAND
            ).to_frame()
            for fit in fits
        ],
        ignore_index=True,
    )
