"""What statistical tests share: one failure rate, and quadrature.

A test that a correct program would fail once in ten thousand runs, whatever it checks: its critical
values come from FAILURE_RATE, shared out (Bonferroni) among the comparisons the test makes. Seeds
are fixed, so a test that has passed stays passed until the draws change.
"""

from statistics import NormalDist

import numpy as np

FAILURE_RATE = 1e-4


def critical_z(comparisons):
    """The |z| that any of so many two-sided comparisons exceeds at the failure rate.

    >>> round(critical_z(1), 3)
    3.891
    """
    return NormalDist().inv_cdf(1 - FAILURE_RATE / comparisons / 2)


def quadrature(posterior, nodes=401, reach=9.0, column=0):
    """Posterior means, sds and fourth central moments over a grid, for one or two coefficients.

    The grid is centred and scaled by its own moments, twice over, starting from a wide one: it
    owes nothing to the engine's mode or curvature. Trapezoidal sums of a smooth density that has
    vanished at the edges converge faster than any power of the step.
    """
    p = posterior.n_coefficients
    centre, spread = np.zeros(p), np.full(p, 3.0)
    for _ in range(6):
        axes = [
            c + s * np.linspace(-reach, reach, nodes) for c, s in zip(centre, spread, strict=True)
        ]
        grid = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")])
        beta = [grid[:, i : i + 50_000] for i in range(0, grid.shape[1], 50_000)]
        log_density = np.concatenate([posterior.evaluate(b, column, order=0).value for b in beta])
        weight = np.exp(log_density - log_density.max())
        weight /= weight.sum()
        mean = grid @ weight
        sd = np.sqrt((grid - mean[:, None]) ** 2 @ weight)
        done = np.abs(mean - centre).max() < 1e-6 and np.abs(sd / spread - 1).max() < 1e-6
        if done:
            break
        centre, spread = mean, np.maximum(sd, spread / 20)
    fourth = (grid - mean[:, None]) ** 4 @ weight
    return mean, sd, fourth


def mean_errors(draws, mean):
    """Errors of the means of draws, in their Monte Carlo standard errors."""
    return (draws.mean - mean) / draws.mcse()


def sd_errors(draws, mean, sd):
    """Errors of the variances about a known mean, in their Monte Carlo standard errors."""
    from arviz_stats.base import array_stats

    squares = (draws.values - mean) ** 2
    error = array_stats.mcse(squares, chain_axis=0, draw_axis=1)
    return (squares.mean(axis=(0, 1)) - sd**2) / error
