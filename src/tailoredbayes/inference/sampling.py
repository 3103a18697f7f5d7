"""One door to all methods: check, approximate, choose a method, draw, and say what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from tailoredbayes.checks import check_generator, check_whole_number
from tailoredbayes.findings import Finding, tell
from tailoredbayes.inference import diagnostics, importance, laplace, metropolis, nuts
from tailoredbayes.inference.draws import Chains, Draws
from tailoredbayes.inference.laplace import Approximation, Modes, find_modes
from tailoredbayes.posterior import TailoredPosterior
from tailoredbayes.rows import one_blas_thread

__all__ = ["SAMPLERS", "LaplaceRefusedError", "check_sampler", "sample"]

Method: TypeAlias = Callable[..., Chains]
# To add a method: a module with ``draw(posterior, column, approximation, *, draws, rng)`` that
# returns Chains, and a line here.
SAMPLERS: dict[str, Method] = {
    "laplace": laplace.draw,
    "importance": importance.draw,
    "nuts": nuts.draw,
    "metropolis": metropolis.draw,
}
_NORMAL_BASED = ("laplace", "importance")


class LaplaceRefusedError(ValueError):
    """The posterior is too far from normal for a method built on the normal approximation."""


def check_sampler(sampler: str) -> str:
    """Return the name of a sampler, or raise."""
    if sampler != "auto" and sampler not in SAMPLERS:
        raise ValueError(
            f"sampler must be 'auto' or one of {', '.join(map(repr, SAMPLERS))}, got {sampler!r}"
        )
    return sampler


def sample(
    posterior: TailoredPosterior,
    sampler: str = "auto",
    *,
    column: int = 0,
    draws: int = 4000,
    random_state: int | np.random.Generator | None = None,
    modes: Modes | None = None,
    warn: bool = True,
) -> Draws:
    """Draw coefficients from a tailored posterior.

    Parameters
    ----------
    posterior
        The posterior.
    sampler
        - "laplace": the normal approximation at the mode;
        - "importance": its draws reweighted to the exact posterior and resampled;
        - "nuts": the No-U-Turn sampler, for any shape of posterior;
        - "metropolis": the paper's random walk;
        - "auto": importance, or NUTS where the posterior is too far from normal for it (a
          separated sample, a k-hat above 0.7). ``Draws.sampler`` tells which.
    column
        Which weight column.
    draws
        How many draws in all, shared out evenly to the chains.
    random_state
        A seed or a NumPy generator. The same seed gives the same draws, for any number of threads.
    modes
        What :func:`find_modes` found for all weight columns, if it has run.
    warn
        Whether findings are told as warnings, too; they are kept in ``Draws.findings`` anyway.

    Raises
    ------
    LaplaceRefusedError
        When "laplace" or "importance" is asked for and the posterior is far from normal.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-2, 2, 200)[:, None]
    >>> posterior = TailoredPosterior(x, np.tile([0, 0, 1, 0, 1, 1, 1, 0], 25))
    >>> sample(posterior, draws=1000, random_state=0).summary().index.tolist()
    ['intercept', 'x0']
    """
    check_sampler(sampler)
    advice = "4000 is plenty for most summaries"
    wanted = check_whole_number(draws, "draws", at_least=1, advice=advice)
    rng = check_generator(random_state)
    posterior.check_column(column)
    if modes is None:
        approximation = find_modes(posterior, np.array([column])).approximation()
    else:
        approximation = modes.approximation(column)

    findings, refusal = _look(posterior, column, approximation)
    approximation = replace(approximation, far_from_normal=refusal is not None)
    method = sampler
    if sampler == "auto":
        method = "nuts" if refusal else "importance"
    elif refusal and sampler in _NORMAL_BASED:
        raise LaplaceRefusedError(f"{refusal}; use sampler='nuts' or 'auto'")
    if refusal and sampler == "auto":
        findings.append(Finding("laplace-refused", f"{refusal}; NUTS was used instead", 1.0))

    # Each attempt has a stream of its own, so that one does not depend on what another used up.
    chains = _run(method, posterior, column, approximation, wanted, rng.spawn(1)[0])
    unreliable = diagnostics.k_hat_finding(chains)
    if unreliable and sampler == "auto":
        k_hat = unreliable.value
        findings.append(
            Finding("laplace-refused", f"k-hat is {k_hat:.2f}; NUTS was used instead", k_hat)
        )
        method, approximation = "nuts", replace(approximation, far_from_normal=True)
        chains = _run(method, posterior, column, approximation, wanted, rng.spawn(1)[0])
    elif unreliable:
        findings.append(unreliable)

    theta = chains.theta
    beta = posterior.coefficients(theta.reshape(-1, theta.shape[2]).T).T.reshape(theta.shape)
    drawn = Draws(
        values=np.ascontiguousarray(beta),
        names=posterior.names,
        sampler=method,
        requested=sampler,
        facts=chains.facts,
        statistics=chains.statistics,
    )
    findings.extend(diagnostics.chain_findings(drawn))
    if warn:
        tell(findings)
    return replace(drawn, findings=tuple(findings))


def _run(
    method: str,
    posterior: TailoredPosterior,
    column: int,
    approximation: Approximation,
    draws: int,
    rng: np.random.Generator,
) -> Chains:
    with one_blas_thread:  # once for all the passes of a run
        return SAMPLERS[method](posterior, column, approximation, draws=draws, rng=rng)


def _look(
    posterior: TailoredPosterior, column: int, approximation: Approximation
) -> tuple[list[Finding], str | None]:
    """Return findings about the data and, where it applies, why Laplace must be refused."""
    findings = list(diagnostics.few_weights(posterior, column))
    drop = diagnostics.non_normality(posterior, column, approximation)
    refusal = None
    if not approximation.converged:
        refusal = "Newton's method did not reach the mode"
        findings.append(
            Finding(
                "not-converged",
                "Newton's method did not reach the mode; check the prior's log-density and the "
                "scale of the covariates",
                0.0,
            )
        )
    separated = diagnostics.separation(
        posterior,
        column,
        approximation,
        suspected=drop is not None or not approximation.converged,
    )
    if separated is not None:
        findings.append(separated.finding(posterior))
        if separated.prior_is_flat(posterior, approximation):
            raise LaplaceRefusedError(
                "a linear rule separates the weighted outcomes and the prior is flat: there is no "
                "proper posterior; give a prior such as Normal(0, 100)"
            )
    else:
        looks = (diagnostics.collinearity, diagnostics.weak_data)
        found = (look(posterior, approximation) for look in looks)
        findings.extend(finding for finding in found if finding is not None)
    if drop is not None:
        why = "the outcomes are separated and " if separated else ""
        refusal = (
            f"{why}the posterior is far from normal: two standard deviations from the mode its "
            f"logarithm drops by {2 * drop:.2g} where a normal's drops by 2"
        )
    return findings, refusal
