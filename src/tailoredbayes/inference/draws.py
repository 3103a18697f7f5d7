"""Draws from a posterior: one record for every method, and what can be read off it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.checks import check_number
from tailoredbayes.findings import Finding

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["Chains", "Draws", "chain_count"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Chains:
    """What a method returns: draws (chain, draw, p) in the engine's coordinates.

    ``statistics`` holds (chain, draw) arrays kept with the draws; ``facts`` single numbers.
    """

    theta: Floats
    statistics: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    facts: Mapping[str, float] = field(default_factory=dict)


def chain_count(draws: int, most: int = 4) -> int:
    """Return the number of chains, at most ``most``, that share out ``draws`` evenly.

    >>> chain_count(4000), chain_count(4001), chain_count(10)
    (4, 1, 2)
    """
    return max(c for c in range(1, most + 1) if draws % c == 0)


@dataclass(frozen=True)
class Draws:
    """Posterior draws of the coefficients, each of equal weight.

    Parameters
    ----------
    values
        (chain, draw, coefficient), in the user's units; the intercept first.
    names
        Names of the coefficients.
    sampler
        The method that made the draws: "laplace", "importance", "nuts" or "metropolis".
    requested
        The method asked for ("auto", say).
    findings
        What the data, the approximation and the chains say about themselves.
    facts
        Single numbers of the method: k-hat, acceptance, divergences ...
    statistics
        (chain, draw) arrays of the method.

    Examples
    --------
    >>> draws = Draws(np.array([[[0.1, 1.0], [0.3, 2.0]]]), ("intercept", "x"), "laplace", "auto")
    >>> draws.flat.shape, draws.mean.tolist()
    ((2, 2), [0.2, 1.5])
    """

    values: Floats
    names: tuple[str, ...]
    sampler: str
    requested: str
    findings: tuple[Finding, ...] = ()
    facts: Mapping[str, float] = field(default_factory=dict)
    statistics: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @cached_property
    def flat(self) -> Floats:
        """All draws, chains one after another: (draws, coefficients)."""
        return self.values.reshape(-1, self.values.shape[2])

    @property
    def mean(self) -> Floats:
        """Posterior mean of each coefficient."""
        return np.asarray(self.flat.mean(axis=0))

    @property
    def sd(self) -> Floats:
        """Posterior standard deviation of each coefficient."""
        return np.asarray(self.flat.std(axis=0, ddof=1))

    def r_hat(self) -> Floats:
        """Rank-normalised split R-hat [Vehtari2021]; near 1 when the chains agree."""
        return self._statistic("rhat")

    def ess(self, method: str = "bulk") -> Floats:
        """Effective sample size, "bulk" or "tail" [Vehtari2021]."""
        # Tail: the lesser of the 5% and 95% quantiles' effective sizes.
        options = {"prob": (0.05, 0.95)} if method == "tail" else {}
        return self._statistic("ess", method=method, **options)

    def mcse(self) -> Floats:
        """Monte Carlo standard error of the posterior mean."""
        return self._statistic("mcse")

    def hdi(self, prob: float = 0.9) -> Floats:
        """Highest density interval of each coefficient, (coefficient, 2)."""
        from arviz_stats.base import array_stats

        prob = check_number(prob, "prob", above=0, below=1, advice="0.9 asks for 90% intervals")
        return np.asarray(array_stats.hdi(self.flat, prob=prob, axis=0))

    def _statistic(self, name: str, **options: Any) -> Floats:
        from arviz_stats.base import array_stats

        found = getattr(array_stats, name)(self.values, chain_axis=0, draw_axis=1, **options)
        return np.asarray(found, dtype=np.float64)

    def summary(self, prob: float = 0.9) -> pd.DataFrame:
        """Table of the coefficients: mean, sd, interval and how well the draws know them."""
        import pandas as pd

        interval = self.hdi(prob)
        return pd.DataFrame(
            {
                "mean": self.mean,
                "sd": self.sd,
                "hdi_low": interval[:, 0],
                "hdi_high": interval[:, 1],
                "r_hat": self.r_hat(),
                "ess_bulk": self.ess("bulk"),
                "ess_tail": self.ess("tail"),
                "mcse": self.mcse(),
            },
            index=pd.Index(self.names, name="coefficient"),
        )

    def to_datatree(self) -> xr.DataTree:
        """Convert to an xarray DataTree that ArviZ reads: groups posterior and sample_stats."""
        import arviz_base

        groups: dict[str, dict[str, Any]] = {"posterior": {"coefficients": self.values}}
        if self.statistics:
            groups["sample_stats"] = dict(self.statistics)
        tree = arviz_base.from_dict(
            groups,
            coords={"coefficient": list(self.names)},
            dims={"coefficients": ["coefficient"]},
        )
        tree["posterior"].attrs.update(
            {"sampler": self.sampler, "requested_sampler": self.requested, **self.facts}
        )
        return tree
