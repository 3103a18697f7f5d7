"""The share of events in the plane of two covariates, smoothed: loess in two dimensions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.checks import BoolArray

__all__ = ["smoothed_share"]

Floats = NDArray[np.float64]

# Rows are smoothed as groups of neighbours: at most so many to a side.
_GROUPS = 80
_BLOCK = 1 << 21  # numbers held at once
_REACH = 1.005


def smoothed_share(rows: Floats, event: BoolArray, at: Floats, span: float) -> Floats:
    """Return the local linear regression of the outcome on two covariates at some points.

    At a point x, with u_i the row i less x, each covariate in units of its standard deviation, and
    h 1.005 times the distance within which the share ``span`` of the rows lies, the b_0 of

        min over b of sum_i (1 - (|u_i| / h)^3)^3 (y_i - b_0 - b_1 u_i1 - b_2 u_i2)^2.

    The 1.005 leaves a weight to rows that are tied at that distance. Where the rows within lie on
    a line or a point, slopes across it are 0. Rows are taken in groups of neighbours, at most 80 to
    a side, so that the cost does not grow with their number.

    >>> rows = np.array([[x1, x2] for x1 in (0.0, 1.0) for x2 in (0.0, 1.0, 2.0, 3.0)])
    >>> event = rows[:, 0] == 1
    >>> smoothed_share(rows, event, np.array([[0.5, 1.5]]), 1.0).round(6)
    array([0.5])
    """
    scale = rows.std(axis=0)
    place, weight, share = _gathered(rows / scale, event)
    at = at / scale
    need = span * weight.sum() * (1 - 1e-12)
    found = np.empty(len(at))
    step = max(1, _BLOCK // len(place))
    for start in range(0, len(at), step):
        u = place[None] - at[start : start + step, None]  # (points, groups, 2)
        distance = np.hypot(u[..., 0], u[..., 1])
        order = np.argsort(distance, axis=1)
        enough = (np.cumsum(weight[order], axis=1) < need).sum(axis=1)
        last = np.minimum(enough, len(place) - 1)[:, None]
        h = _REACH * np.take_along_axis(distance, np.take_along_axis(order, last, 1), 1)
        h = np.where(h > 0, h, 1.0)  # all that is needed lies at the point itself
        kernel = weight * (1 - np.minimum(distance / h, 1.0) ** 3) ** 3
        kernel /= kernel.sum(axis=1, keepdims=True)
        # About the means: without rows that tell a slope the mean is what is left.
        mean, middle = kernel @ share, (kernel[:, None] @ u)[:, 0]
        apart = u - middle[:, None]
        weighted = (apart * kernel[..., None]).transpose(0, 2, 1)
        slopes = np.linalg.pinv(weighted @ apart, rcond=1e-10, hermitian=True) @ (
            weighted @ share[:, None]
        )
        found[start : start + step] = mean - (middle * slopes[..., 0]).sum(axis=1)
    return found


def _gathered(rows: Floats, event: BoolArray) -> tuple[Floats, Floats, Floats]:
    """Group neighbouring rows: where each group lies, its rows, and its share of events."""
    edges = np.quantile(rows, np.linspace(0, 1, _GROUPS + 1)[1:-1], axis=0)
    cells = [np.searchsorted(edges[:, j], rows[:, j], side="right") for j in range(2)]
    _, group = np.unique(cells[0] * _GROUPS + cells[1], return_inverse=True)
    weight = np.bincount(group).astype(np.float64)
    sums = [np.bincount(group, column) / weight for column in (*rows.T, event)]
    return np.column_stack(sums[:2]), weight, sums[2]
