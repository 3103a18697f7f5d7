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
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailoredbayes.checks import check_number, check_risk

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MISCALIBRATIONS",
    "Miscalibration",
    "MiscalibrationShapes",
    "miscalibrate",
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
