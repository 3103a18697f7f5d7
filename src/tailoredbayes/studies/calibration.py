"""Miscalibrated reference risks: section S9.2 of [Karapanagiotis2021], on the breast cancer data.

The reference risk is bent in the eight ways of :mod:`tailoredbayes.evaluation.miscalibration`, and
the tailored model fitted anew with each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.checks import check_number
from tailoredbayes.datasets import TrainTest, load_breast_prognosis
from tailoredbayes.estimators import TailoredFamily
from tailoredbayes.evaluation.calibration import calibration
from tailoredbayes.evaluation.grids import difference_grid
from tailoredbayes.evaluation.miscalibration import (
    MISCALIBRATIONS,
    miscalibrate,
    miscalibration_shapes,
)
from tailoredbayes.fitting import Settings, Training, stage_1
from tailoredbayes.posterior import TailoredPosterior
from tailoredbayes.reference import check_design
from tailoredbayes.studies.breast import check_features
from tailoredbayes.studies.cohorts import (
    check_common,
    difference_rows,
    fit_quietly,
    settled,
    signed,
)
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

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["STUDY", "CalibrationSettings"]

Floats = NDArray[np.float64]

_KINDS = tuple(dict.fromkeys(kind for kind, _ in MISCALIBRATIONS))


@dataclass(frozen=True)
class CalibrationSettings:
    """Settings of the study of miscalibrated reference risks."""

    thresholds: tuple[float, ...] = setting((0.1, 0.2, 0.3, 0.4, 0.5), "target thresholds")
    splits: int = setting(5, "splits of the training women into design and development")
    years: float = setting(3.0, "horizon of recurrence or death, in years")
    features: str = setting("raw", "how heavy-tailed covariates enter: raw, log")
    design: str = setting("split", "stage 1: split (20/80, the paper's), crossfit")
    selection: str = setting("max", "rule for the discount: max (the paper's), one_se, smooth")
    pivot: float = setting(0.5, "the risk about which over- and underfitting stretch")
    sampler: str = setting("auto", "auto, importance, nuts, metropolis (the paper's), laplace")
    draws: int = setting(4000, "posterior draws")
    seed: int = setting(2021, "seed of everything")

    def __post_init__(self) -> None:
        check_common(
            self.thresholds,
            (self.design,),
            (self.selection,),
            self.sampler,
            splits=self.splits,
            draws=self.draws,
        )
        check_features((self.features,))
        check_number(self.pivot, "pivot", above=0, below=1, advice="0.5, or the prevalence")


def cells(settings: CalibrationSettings) -> Iterator[Coordinates]:
    """Give every split."""
    yield from ({"split": split} for split in range(settings.splits))


def cell(settings: CalibrationSettings, at: Coordinates) -> Tables:
    """Fit with the reference risks as they are, and with each bending of them."""
    women = load_breast_prognosis(settings.years, features=settings.features)
    risk, used = _reference(settings, women, at)
    x, y = women.X.to_numpy()[used], women.y[used]
    x_test = women.X_test.to_numpy()

    def fitted(reference_risk: Floats) -> TailoredFamily:
        return fit_quietly(_family(settings, at), x, y, reference_risk=reference_risk)

    calibrated = fitted(risk)
    rows = _chosen(calibrated, "none", "none")
    differences: list[dict[str, Any]] = []
    for kind, degree in MISCALIBRATIONS:
        family = fitted(miscalibrate(risk, kind, degree, pivot=settings.pivot))
        rows += _chosen(family, kind, degree)
        found = difference_rows(
            women.y_test,
            {"miscalibrated": family.risks(x_test), "calibrated": calibrated.risks(x_test)},
            settings.thresholds,
            "miscalibrated",
        )
        differences += [{"kind": kind, "degree": degree, **row} for row in found]
    tables: dict[str, Any] = {"difference": differences, "discount": rows}
    if at["split"] == 0:
        tables["reference"] = [
            {"risk": float(p), "event": int(e)} for p, e in zip(risk, y, strict=True)
        ]
    return tables


def _chosen(family: TailoredFamily, kind: str, degree: str) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "degree": degree, "threshold": t, "discount": discount}
        for t, discount in family.discounts_.items()
    ]


def _reference(
    settings: CalibrationSettings, women: TrainTest, at: Coordinates
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the reference risks of stage 1 and the women who go on to stage 2."""
    x, y = women.X.to_numpy(), women.y == 1
    found = stage_1(
        Training(x, y),
        Settings(design=check_design(settings.design)),
        stream(settings.seed, at),
        TailoredPosterior(x, y),
    )
    return found.risk[found.development], found.development


def _family(settings: CalibrationSettings, at: Coordinates) -> TailoredFamily:
    """Return the unfitted models: the same folds and draws whatever the reference risks."""
    return TailoredFamily(
        settings.thresholds,
        selection=settings.selection,
        sampler=settings.sampler,
        draws=settings.draws,
        random_state=stream(settings.seed, at),
    )


# --- What was found ---------------------------------------------------------------------------


def _mean_loss(results: Results) -> pd.Series:
    """Return calibrated less miscalibrated, averaged over thresholds and splits."""
    groups = results["difference"].groupby(["kind", "degree"], sort=False)
    return groups["difference"].mean()


def _error(results: Results) -> float:
    """Return the test set's standard error of one difference, its root mean square."""
    return float(np.sqrt((results["difference"]["sampling_error"] ** 2).mean()))


def claims(results: Results) -> Iterator[Claim]:
    """Give what section S9.2 says."""
    loss, error = _mean_loss(results), _error(results)
    told = {key: signed(value) for key, value in loss.items()}
    note = f"a difference at one threshold has a standard error of {1000 * error:.1f}, test set"
    mild = [told[kind, "mild"] for kind in _KINDS]
    yield Claim(
        "section S9.2, Figure S11",
        "Net benefit is robust to mild miscalibration.",
        "Calibrated less mildly miscalibrated, per 1000, mean over thresholds: "
        + ", ".join(f"{kind} {value}" for kind, value in zip(_KINDS, mild, strict=True))
        + f" ({note}).",
        bool(all(abs(loss[kind, "mild"]) < 2 * error for kind in _KINDS)),
    )
    shifted = np.mean([loss[kind, degree] for kind, degree in loss.index if "estimation" in kind])
    bent = np.mean([loss[kind, degree] for kind, degree in loss.index if "fitting" in kind])
    yield Claim(
        "section S9.2, Figure S11",
        "Over- and underfitting are more robust than over- and underestimation.",
        f"Over- and underfitting cost {signed(bent)} per 1000, over- and underestimation "
        f"{signed(shifted)} ({note}).",
        settled(float(shifted - bent), error),
    )
    more = {kind: loss[kind, "severe"] - loss[kind, "mild"] for kind in _KINDS}
    yield Claim(
        "section S9.2, Figure S11",
        "Performance drops from mild to severe, especially for over- and underestimation.",
        "From mild to severe it drops by "
        + ", ".join(f"{signed(value)} ({kind})" for kind, value in more.items())
        + f" per 1000 ({note}).",
        settled(float(np.mean([more[kind] for kind in _KINDS if "estimation" in kind])), error),
    )
    yield _calibration_claim(results)


def _calibration(results: Results) -> Any:
    table = results["reference"]
    return calibration(table["event"], {"reference risk": table["risk"].to_numpy()})


def _calibration_claim(results: Results) -> Claim:
    found = _calibration(results).models["reference risk"]
    curve = found.curve
    high = float(np.quantile(results["reference"]["risk"], 0.95))
    at = int(np.abs(curve.risk - high).argmin())
    risk, observed, low = curve.risk[at], curve.observed[at], curve.low[at]
    return Claim(
        "section S9.2, Figure S10a",
        "The reference risks are well calibrated where low, and too low where high.",
        f"Slope {found.slope.value:.2f} (standard error {found.slope.se:.2f}), mean absolute "
        f"error {found.ici:.3f}; of women given {risk:.0%}, the 95% quantile, {observed:.0%} had "
        f"the event (95% band from {low:.0%}).",
        True if low > risk else False if observed <= risk else None,
    )


def exhibits(results: Results) -> Iterator[Exhibit]:
    """Give Figures S10 and S11."""
    from tailoredbayes import plots

    calibrated = _calibration(results)
    yield Exhibit(
        "figure-s10a",
        "Calibration of the reference risk, development women of the first split. Loess with its "
        "95% band.",
        calibrated.curve_frame(),
        lambda: plots.calibration(calibrated),
        "Figure S10",
    )
    shapes = miscalibration_shapes(pivot=results.settings.pivot)
    yield Exhibit(
        "figure-s10b",
        "The eight miscalibrations. Across: the risk used; up: the original one.",
        shapes.to_frame(),
        lambda: plots.miscalibration_shapes(shapes),
        "Figure S10",
    )
    grid = difference_grid(
        results["difference"], "net_benefit", "other", panel="kind", line="degree"
    )
    yield Exhibit(
        "figure-s11",
        "Net benefit of the calibrated less the miscalibrated tailored model on the test women. "
        "Mean over the splits with one standard error. Above 0 miscalibration costs.",
        grid.to_frame(),
        lambda: plots.grid(grid),
        "Figure S11",
    )
    yield Exhibit(
        "discounts",
        "Discounts chosen: their median over splits and thresholds, and the share of zeros.",
        _discounts(results),
    )


def _discounts(results: Results) -> pd.DataFrame:
    groups = results["discount"].groupby(["kind", "degree"], sort=False)["discount"]
    return groups.agg(median="median", zero=lambda found: (found == 0).mean()).reset_index()


def about(results: Results) -> str:
    """Say what was done, and where that differs from the paper."""
    settings = results.settings
    women = load_breast_prognosis(settings.years, features=settings.features)
    return "\n\n".join(
        [
            "On the stand-in for the paper's private cohort: Rotterdam trains "
            f"({len(women.y)} women), the German trial tests ({len(women.y_test)}); see "
            "[breast](breast.md).",
            "The reference risk of the development women is bent in eight ways: risks too high or "
            "too low throughout, too extreme or not extreme enough, each mildly and severely. The "
            "paper shows the shapes and prints no formula; ours are lines on the logit scale "
            f"(about a risk of {settings.pivot:g}): odds times 1.6 or 4.5, slopes of 1.5 or 3 and "
            "their inverses. The discount is chosen anew for each, on the same folds.",
        ]
    )


STUDY = Study(
    name="calibration",
    title="Miscalibrated reference risks, on the breast cancer data",
    settings=CalibrationSettings,
    cells=cells,
    cell=cell,
    claims=claims,
    exhibits=exhibits,
    about=about,
    shows=("Figure S10", "Figure S11"),
)
