"""Deliberate miscalibration: risks bent in a known way, to see what it costs.

The paper perturbs pi_u in four ways, each mild and severe (section S9.2 of the supplement of
[Karapanagiotis2021]): risks too high or too low throughout (over- and underestimation), too
extreme (overfitting: small ones too small, large ones too large) or not extreme enough
(underfitting). It shows the shapes but prints no formula. Ours are lines on the logit scale,

    logit(risk') = logit(pivot) + shift + stretch (logit(risk) - logit(pivot)),

so that Cox's recalibration of a calibrated risk bent this way has the slope 1 / stretch and, for
a pivot of 1/2, the intercept -shift / stretch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing as take_rows

from tailoredbayes.checks import check_generator, check_number, check_risk, check_whole_number
from tailoredbayes.evaluation.curves import decision_curve
from tailoredbayes.evaluation.grids import Grid, difference_grid
from tailoredbayes.evaluation.refits import fit_anew, seeded

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MISCALIBRATIONS",
    "Miscalibration",
    "MiscalibrationShapes",
    "miscalibrate",
    "miscalibration_cost",
    "miscalibration_shapes",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Miscalibration:
    """A shift and a stretch of the logit.

    >>> Miscalibration(shift=0.0, stretch=2.0).apply([0.5, 0.9]).round(4)
    array([0.5   , 0.9878])
    """

    shift: float = 0.0
    stretch: float = 1.0

    def apply(self, risk: ArrayLike, *, pivot: float = 0.5) -> Floats:
        """Return the bent risks; 0 and 1 stay what they are, and so do their order and ties."""
        p = check_risk(risk)
        advice = "pass the risk about which to stretch, such as the prevalence"
        centre = check_number(pivot, "pivot", above=0, below=1, advice=advice)
        # odds(risk') = c odds(risk)^b, in the form that needs no logarithm of 0.
        odds = centre / (1 - centre)
        event = np.exp(self.shift) * odds * (p / odds) ** self.stretch
        other = (1 - p) ** self.stretch
        return np.asarray(event / (event + other))


MISCALIBRATIONS: dict[tuple[str, str], Miscalibration] = {
    ("overestimation", "mild"): Miscalibration(shift=0.5),
    ("overestimation", "severe"): Miscalibration(shift=1.5),
    ("underestimation", "mild"): Miscalibration(shift=-0.5),
    ("underestimation", "severe"): Miscalibration(shift=-1.5),
    ("overfitting", "mild"): Miscalibration(stretch=1.5),
    ("overfitting", "severe"): Miscalibration(stretch=3.0),
    ("underfitting", "mild"): Miscalibration(stretch=1 / 1.5),
    ("underfitting", "severe"): Miscalibration(stretch=1 / 3.0),
}
"""(type, degree): the paper's eight scenarios. Sizes are ours: odds times 1.6 and 4.5, slopes 1.5
and 3."""


def miscalibrate(risk: ArrayLike, kind: str, degree: str = "mild", *, pivot: float = 0.5) -> Floats:
    """Return risks bent in one of the paper's eight ways.

        logit(risk') = logit(pivot) + shift + stretch (logit(risk) - logit(pivot))

    with (shift, stretch) from `MISCALIBRATIONS`. The order of the rows stays. [Karapanagiotis2021]

    Parameters
    ----------
    risk
        Risks in [0, 1]; 0 and 1 stay.
    kind
        "overestimation", "underestimation", "overfitting" or "underfitting".
    degree
        "mild" or "severe".
    pivot
        The risk that over- and underfitting leave as it is: below it risks count as small.

    Examples
    --------
    Odds of 1 : 4 and 4 : 1, cubed, are 1 : 64 and 64 : 1:

    >>> miscalibrate([0.2, 0.5, 0.8], "overfitting", "severe").round(4)
    array([0.0154, 0.5   , 0.9846])
    """
    if (kind, degree) not in MISCALIBRATIONS:
        kinds = ", ".join(dict.fromkeys(repr(known) for known, _ in MISCALIBRATIONS))
        raise ValueError(
            f"kind must be one of {kinds} and degree 'mild' or 'severe', got {kind!r} and "
            f"{degree!r}"
        )
    return MISCALIBRATIONS[kind, degree].apply(risk, pivot=pivot)


@dataclass(frozen=True)
class MiscalibrationShapes:
    """The eight shapes over a grid of risks (the paper's Figure S10b)."""

    risk: Floats
    shapes: dict[tuple[str, str], Floats]

    def to_frame(self) -> pd.DataFrame:
        """Return a row a type, degree and risk."""
        import pandas as pd

        return pd.concat(
            [
                pd.DataFrame(
                    {"kind": kind, "degree": degree, "risk": self.risk, "miscalibrated": bent}
                )
                for (kind, degree), bent in self.shapes.items()
            ],
            ignore_index=True,
        )


def miscalibration_shapes(
    risk: ArrayLike | None = None, *, pivot: float = 0.5
) -> MiscalibrationShapes:
    """Return all eight miscalibrations of some risks, by default of an even grid from 0 to 1.

    >>> frame = miscalibration_shapes([0.2, 0.8]).to_frame()
    >>> len(frame), list(frame.columns)
    (16, ['kind', 'degree', 'risk', 'miscalibrated'])
    """
    grid = np.linspace(0.0, 1.0, 201) if risk is None else check_risk(risk)
    shapes = {key: bend.apply(grid, pivot=pivot) for key, bend in MISCALIBRATIONS.items()}
    return MiscalibrationShapes(grid, shapes)


def miscalibration_cost(
    family: Any,
    X: Any,
    y: ArrayLike,
    X_test: Any,
    y_test: ArrayLike,
    *,
    pivot: float = 0.5,
    repetitions: int = 1,
    random_state: Any = None,
) -> Grid:
    """Return what a miscalibrated reference risk would cost a family of tailored models.

    Stage 1 gives pi_u; stage 2 is then run with it as it is, and with it bent in each of the
    paper's eight ways, all else, folds and seeds, being equal. At each threshold the cost is

        NB with pi_u - NB with the bent pi_u

    on the test rows: above 0 the calibrated one is better. [Karapanagiotis2021], Figure S11.

    Parameters
    ----------
    family
        An unfitted :class:`TailoredFamily` that has a stage 1. Its ``random_state`` is overruled.
    X, y
        Rows to learn from, and their outcomes. With ``design="split"`` stage 2 sees the
        development rows alone.
    X_test, y_test
        Rows to judge by, outcomes 0 and 1.
    pivot
        As in `miscalibrate`.
    repetitions
        How often all is done, with other splits, folds and seeds; the standard error is over them.
    random_state
        None, a seed or a NumPy Generator.

    Returns
    -------
    Grid
        A panel a kind, a line a degree.

    Examples
    --------
    >>> from tailoredbayes.estimators import TailoredFamily
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 2))
    >>> y = rng.uniform(size=500) < X[:, 1] / X.sum(axis=1)
    >>> family = TailoredFamily([0.3], discount=20, draws=200)
    >>> found = miscalibration_cost(family, X, y, X, y, random_state=0).to_frame()
    >>> list(found["panel"].unique()), list(found["line"].unique())
    (['overestimation', 'underestimation', 'overfitting', 'underfitting'], ['mild', 'severe'])
    """
    import pandas as pd

    if isinstance(family, type) or not hasattr(family, "thresholds"):
        raise TypeError(
            f"family must be an unfitted TailoredFamily, got a {type(family).__name__}; one of one "
            "threshold will do"
        )
    reps = check_whole_number(repetitions, "repetitions", at_least=1)
    tables = []
    for rng in check_generator(random_state).spawn(reps):
        fresh = seeded(family, rng, overrule=True)
        first = next(iter(fit_anew(fresh, X, y, rng).models_.values()))
        if first.reference_risk_ is None:
            raise ValueError(
                "family must have a reference risk to miscalibrate, but with discount=0 there is "
                "none; pass a discount above 0, or 'cv'"
            )
        went_on = np.flatnonzero(np.isfinite(first.reference_risk_))
        X_on, y_on = take_rows(X, went_on), np.asarray(y)[went_on]
        pi_u = first.reference_risk_[went_on]
        right = fit_anew(fresh, X_on, y_on, rng, reference_risk=pi_u)
        for kind, degree in MISCALIBRATIONS:
            bent = miscalibrate(pi_u, kind, degree, pivot=pivot)
            wrong = fit_anew(fresh, X_on, y_on, rng, reference_risk=bent)
            models = {"calibrated": right, "miscalibrated": wrong}
            curve = decision_curve(y_test, models, X=X_test)
            found = dict(zip(curve.models, curve.net_benefit, strict=True))
            cell = {"kind": kind, "degree": degree, "threshold": curve.thresholds}
            tables.append(pd.DataFrame({**cell, **{name: found[name] for name in models}}))
    cells = pd.concat(tables, ignore_index=True)
    return difference_grid(cells, "calibrated", "miscalibrated", panel="kind", line="degree")
