"""A saved model with its recipe, as `predict` and `evaluate` take it up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tailoredbayes.tables.chunks import TableError

if TYPE_CHECKING:
    from tailoredbayes.estimators import TailoredFamily, TailoredLogisticRegression
    from tailoredbayes.tables.recipe import Recipe

__all__ = ["SavedModel", "load_model"]


@dataclass(frozen=True)
class SavedModel:
    """A family of tailored models, and how their columns come out of a table."""

    path: Path
    family: TailoredFamily
    recipe: Recipe

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the design's columns."""
        return tuple(self.family.feature_names_in_.tolist())

    @property
    def thresholds(self) -> list[float]:
        """The thresholds there are models for."""
        return list(self.family.models_)

    def threshold(self, asked: float | None) -> float:
        """Return the threshold to decide at: the one asked for, else the fit's."""
        wanted = self.recipe.threshold if asked is None else asked
        known = ", ".join(f"{t:g}" for t in self.thresholds)
        if wanted is None:
            raise TableError(
                f"{self.path} holds models for the thresholds {known}; say --threshold"
            )
        nearest = min(self.thresholds, key=lambda t: abs(t - wanted))
        if abs(nearest - wanted) > 1e-9:
            raise TableError(
                f"{self.path} has no model for the threshold {wanted:g}, only for {known}; fit one "
                "for it"
            )
        return nearest

    def missing(self, asked: str | None) -> str:
        """Return what to do about missing values: as asked, else as the fit did or refuse."""
        if asked not in (None, "refuse", "drop", "impute"):
            raise TableError(f"--missing is refuse, drop or impute, got {asked!r}")
        return asked or ("impute" if self.recipe.missing == "impute" else "refuse")

    def at(self, threshold: float) -> TailoredLogisticRegression:
        """Return the model of a threshold."""
        return self.family.models_[threshold]


def load_model(path: Path) -> SavedModel:
    """Load what `fit` has saved, or say why this file will not do."""
    from tailoredbayes.estimators import TailoredFamily, load
    from tailoredbayes.tables.recipe import Recipe

    model = load(path)
    packed = getattr(model, "recipe_", None)
    if packed is None or not isinstance(model, TailoredFamily):
        raise TableError(
            f"{path} was saved from Python and does not say how a table's columns become the "
            "model's; fit with `tailoredbayes fit`, or predict in Python"
        )
    try:
        recipe = Recipe.from_json(packed)
    except (KeyError, TypeError) as error:
        raise TableError(
            f"{path} holds a recipe that this version cannot read ({error}); fit the model again"
        ) from error
    return SavedModel(path, model, recipe)
