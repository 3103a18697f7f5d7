"""NUTS: nutpie over our own log-density and gradient [HoffmanGelman2014].

The sampler works in z of theta = mode + R z, where R R' is the inverse curvature at the mode: a
posterior that is near normal is then a standard normal, and what adaptation is left to do is
what the approximation missed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.inference.draws import Chains, chain_count
from tailoredbayes.inference.laplace import Approximation
from tailoredbayes.posterior import TailoredPosterior

__all__ = ["draw"]

Floats = NDArray[np.float64]

# Whitened, a posterior leaves little to adapt to; one far from normal wants more, and small steps.
_WARM_UP, _TARGET_ACCEPT = 300, 0.8
_CAREFUL_WARM_UP, _CAREFUL_TARGET_ACCEPT = 500, 0.9


def draw(
    posterior: TailoredPosterior,
    column: int,
    approximation: Approximation,
    *,
    draws: int,
    rng: np.random.Generator,
) -> Chains:
    """Draw from the posterior by NUTS, chains started around the mode."""
    import nutpie
    from nutpie.compiled_pyfunc import from_pyfunc

    p = posterior.n_coefficients
    mode, root = approximation.mode[:, None], approximation.root

    def make_log_density() -> Callable[[Floats], tuple[float, Floats]]:
        def log_density(z: Floats) -> tuple[float, Floats]:
            found = posterior.evaluate(mode + root @ z[:, None], column, order=1)
            return float(found.value[0] - approximation.value), (root.T @ found.gradient)[:, 0]

        return log_density

    def make_expand(*_: Any) -> Callable[[Floats], dict[str, Floats]]:
        return lambda z: {"z": z}

    model = from_pyfunc(
        p,
        make_log_density,
        make_expand,
        [np.dtype(np.float64)],
        [(p,)],
        ["z"],
        # Not the mode itself: a gradient of zero tells nutpie nothing about the scale.
        make_initial_point_fn=lambda seed: np.random.default_rng(seed).standard_normal(p),
    )
    chains = chain_count(draws)
    careful = approximation.far_from_normal
    trace = nutpie.sample(
        model,
        draws=draws // chains,
        tune=_CAREFUL_WARM_UP if careful else _WARM_UP,
        chains=chains,
        # One chain at a time: chains in parallel would fight for Python's lock and take twice as
        # long when measured. Over many rows each evaluation is shared out to threads instead.
        cores=1,
        seed=int(rng.integers(2**31)),
        progress_bar=False,
        save_warmup=False,
        target_accept=_CAREFUL_TARGET_ACCEPT if careful else _TARGET_ACCEPT,
    )
    z = np.asarray(trace.posterior["z"].values, dtype=np.float64)
    diverging = np.asarray(trace.sample_stats["diverging"].values)
    return Chains(
        approximation.mode + z @ root.T,
        statistics={
            "diverging": diverging,
            "n_steps": np.asarray(trace.sample_stats["n_steps"].values),
        },
        facts={"divergences": float(diverging.sum())},
    )
