"""Rows with their outcomes, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailoredbayes.checks import check_outcome

__all__ = ["Sample"]


@dataclass(frozen=True)
class Sample:
    """Rows to judge a model on.

    Parameters
    ----------
    X
        Covariates, as the model was fitted to.
    y
        Outcome per row: the model's labels, or True for the event.
    sample_weight
        Weight per row.
    name
        What the rows are, such as the file's name.
    sha256
        Digest of the file.
    ids
        What to call each patient in the list of uncertain decisions; None counts rows from 1.
    left_out
        Rows left out as they miss a value.
    imputed
        Values that were missing and were filled in.
    missing
        Missing values by column.

    Examples
    --------
    >>> Sample([[0.1], [0.9]], [False, True], name="two patients").rows
    2
    """

    X: Any
    y: ArrayLike
    sample_weight: ArrayLike | None = None
    name: str = ""
    sha256: str = ""
    ids: Sequence[Any] | None = None
    left_out: int = 0
    imputed: int = 0
    missing: Mapping[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many."""
        return len(np.asarray(self.y))

    def event(self, labels: NDArray[Any], positive: int) -> NDArray[np.bool_]:
        """Return who has the event, ``labels[positive]`` being its label."""
        y = np.asarray(self.y)
        if y.dtype == np.bool_:
            return y
        if set(np.unique(y).tolist()) <= set(labels.tolist()):
            return np.asarray(y == labels[positive])
        if labels.dtype.kind in "OUS":
            raise ValueError(
                f"y must hold the model's labels {labels.tolist()} or True and False, got "
                f"{np.unique(y)[:4].tolist()}"
            )
        return check_outcome(y, "y")
