"""What the page is about: one fitted model, or a family and its target threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.checks import check_threshold

__all__ = ["STANDARD", "TAILORED", "Subject", "subject_of"]

TAILORED, STANDARD = "tailored model", "standard Bayes"
"""What the page calls the two models."""

_SAME = 1e-9


@dataclass(frozen=True)
class Subject:
    """A fitted model as the page sees it: a single one and a family look alike."""

    model: Any
    """What was given: a fitted model or a family."""
    models: Mapping[float, Any]
    """The fitted model of each threshold, in ascending order."""
    standard: Any | None
    """Standard Bayes beside it; None where the fit brought none."""
    threshold: float
    """The target threshold that the page is about."""
    recipe: Mapping[str, Any]
    """How the table's columns became the design; empty where the model came from arrays."""

    @property
    def is_family(self) -> bool:
        """Whether there is a model for each of several thresholds."""
        return len(self.models) > 1

    @property
    def judged(self) -> Any:
        """What evaluations take as the tailored model: the family, or the one model."""
        return self.model if self.is_family else self.target

    @property
    def name(self) -> str:
        """What the page calls the model: a single one with a discount of 0 is standard Bayes."""
        return TAILORED if self.is_family or self.is_tailored else STANDARD

    @property
    def against(self) -> Any | None:
        """The standard model to compare with, if there is one and it is not the model itself."""
        return None if self.name == STANDARD else self.standard

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """The thresholds that models were fitted for."""
        return np.array(list(self.models))

    @property
    def target(self) -> Any:
        """The model of the target threshold."""
        return self.models[self.threshold]

    @property
    def is_tailored(self) -> bool:
        """Whether the target's model was tailored at all: a discount of 0 is standard Bayes."""
        return bool(self.target.discount_ > 0)

    @property
    def labels(self) -> tuple[str, str]:
        """The outcome's labels, as the table has them: without the event, with it."""
        given = self.recipe.get("labels")
        if given:  # the model itself was fitted to 0 and 1
            return str(given[0]), str(given[1])
        classes, positive = self.target.classes_, self.target._positive
        return str(classes[1 - positive]), str(classes[positive])

    @property
    def outcome(self) -> str:
        """The outcome in a word: its column, or the event's label."""
        return str(self.recipe.get("outcome") or "the event")

    @property
    def coefficients(self) -> tuple[str, ...]:
        """Names of the coefficients, the intercept first if there is one."""
        return tuple(map(str, self.target.draws_.names))


def subject_of(model: Any, threshold: float | None = None) -> Subject:
    """Return a fitted model as the page sees it, or raise.

    Parameters
    ----------
    model
        A fitted ``TailoredLogisticRegression`` or ``TailoredFamily``.
    threshold
        The target; by default the recipe's, a single model's own, or else a family's middle one.
    """
    if not hasattr(model, "findings_") or not (hasattr(model, "models_") or hasattr(model, "fit_")):
        raise TypeError(
            "model must be a fitted TailoredLogisticRegression or TailoredFamily, got "
            f"{type(model).__name__}; fit it, or load a saved one with tailoredbayes.load"
        )
    models = getattr(model, "models_", None) or {float(model.threshold): model}
    recipe = getattr(model, "recipe_", None) or {}
    known = list(models)
    wanted = recipe.get("threshold") if threshold is None else threshold
    if wanted is None:
        wanted = known[(len(known) - 1) // 2]
    t = check_threshold(wanted)
    nearest = min(known, key=lambda one: abs(one - t))
    if abs(nearest - t) > _SAME:
        raise ValueError(
            f"threshold must be one that the model was fitted for, got {t:g}; it knows "
            f"{', '.join(f'{one:g}' for one in known)}"
        )
    return Subject(model, models, getattr(model, "standard_", None), nearest, recipe)
