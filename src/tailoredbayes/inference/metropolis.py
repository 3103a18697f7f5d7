"""The paper's sampler: random-walk Metropolis, all coefficients jointly.

A proposal is theta + s R z, z standard normal, R R' the inverse curvature at the mode; s is tuned
during warm-up to accept near 0.24 [RobertsGelmanGilks1997] and then frozen. The paper proposes
with R = I; the shape changes how fast the chain mixes, not what it converges to. Several chains
advance together: one matrix product evaluates all their proposals.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.inference.draws import Chains, chain_count
from tailoredbayes.inference.laplace import Approximation
from tailoredbayes.posterior import TailoredPosterior

__all__ = ["draw"]

Floats = NDArray[np.float64]

_ACCEPT = 0.24
_MOST_CHAINS = 8
# Steps of warm-up; its second half is averaged to the scale that is then frozen.
_WARM_UP = 1000
# Steps between kept draws, per coefficient: the autocorrelation time of an optimal random walk in
# p dimensions is about 3p steps, so draws kept every 2p steps are worth about half each.
_THIN_PER_COEFFICIENT = 2


def draw(
    posterior: TailoredPosterior,
    column: int,
    approximation: Approximation,
    *,
    draws: int,
    rng: np.random.Generator,
) -> Chains:
    """Draw from the posterior by random-walk Metropolis, chains started around the mode."""
    p = posterior.n_coefficients
    chains = chain_count(draws, _MOST_CHAINS)
    kept, thin = draws // chains, _THIN_PER_COEFFICIENT * p
    root = approximation.root

    log_scale, scales = float(np.log(2.38 / np.sqrt(p))), np.empty(_WARM_UP)
    here = approximation.mode[:, None] + root @ rng.standard_normal((p, chains))
    value = posterior.evaluate(here, column, order=0).value
    theta, density = np.empty((kept, p, chains)), np.empty((kept, chains))
    accepted = 0
    for step in range(_WARM_UP + kept * thin):
        jump = np.exp(log_scale) * (root @ rng.standard_normal((p, chains)))
        there = here + jump
        proposed = posterior.evaluate(there, column, order=0).value
        accept = np.log(rng.random(chains)) < proposed - value
        here = np.where(accept, there, here)
        value = np.where(accept, proposed, value)
        if step < _WARM_UP:
            # Robbins-Monro on the log scale: up when more than the target share is accepted.
            log_scale += (accept.mean() - _ACCEPT) * min(1.0, 10 / (step + 1) ** 0.7)
            scales[step] = log_scale
            if step == _WARM_UP - 1:
                log_scale = float(scales[_WARM_UP // 2 :].mean())
            continue
        accepted += int(accept.sum())
        place, rest = divmod(step - _WARM_UP + 1, thin)
        if rest == 0:
            theta[place - 1], density[place - 1] = here, value
    return Chains(
        np.ascontiguousarray(theta.transpose(2, 0, 1)),
        statistics={"lp": np.ascontiguousarray(density.T)},
        facts={
            "acceptance": accepted / (kept * thin * chains),
            "proposal_scale": float(np.exp(log_scale)),
            "thin": float(thin),
        },
    )
