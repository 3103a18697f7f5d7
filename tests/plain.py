"""The paper's procedure in plain loops: what the library's batches and shortcuts are held to.

Nothing here imports the library. x has its column of ones; the prior is Normal(0, 100); y is 0, 1.
"""

import numpy as np
from scipy.special import expit, log_expit
from sklearn.model_selection import StratifiedKFold, train_test_split

SD = 100.0


def ones_first(x):
    return np.column_stack([np.ones(len(x)), x])


def log_posterior(beta, x, y, w):
    """Equation 6 of the paper and the prior: sum w log p(y | x, beta) - beta'beta / (2 sd^2)."""
    eta = x @ beta
    return (w * np.where(y == 1, log_expit(eta), log_expit(-eta))).sum() - beta @ beta / (2 * SD**2)


def laplace(x, y, w):
    """Mode, by Newton's method with halved steps, and the inverse curvature there."""
    beta = np.zeros(x.shape[1])
    for _ in range(200):
        p = expit(x @ beta)
        gradient = x.T @ (w * (y - p)) - beta / SD**2
        curvature = (x.T * (w * p * (1 - p))) @ x + np.eye(len(beta)) / SD**2
        step = np.linalg.solve(curvature, gradient)
        if np.abs(step).max() < 1e-13 * (1 + np.abs(beta).max()):
            break
        now = log_posterior(beta, x, y, w)
        while log_posterior(beta + step, x, y, w) < now - 1e-9 * abs(now):
            step = step / 2
        beta = beta + step
    return beta, np.linalg.inv(curvature)


def predictive_mean(x, mode, covariance):
    """E[expit(x'beta)], x'beta normal: a trapezoidal sum, row by row."""
    z = np.linspace(-9, 9, 1201)
    density = np.exp(-0.5 * z**2)
    density = density / density.sum()
    risk = np.empty(len(x))
    for i, row in enumerate(x):
        risk[i] = density @ expit(row @ mode + np.sqrt(row @ covariance @ row) * z)
    return risk


def metropolis(x, y, w, steps, rng):
    """Draws by a Gaussian random walk of all coefficients jointly, from the mode."""
    beta, covariance = laplace(x, y, w)
    root = 2.38 / np.sqrt(len(beta)) * np.linalg.cholesky(covariance)
    here = log_posterior(beta, x, y, w)
    draws = []
    for _ in range(steps):
        proposal = beta + root @ rng.standard_normal(len(beta))
        there = log_posterior(proposal, x, y, w)
        if np.log(rng.random()) < there - here:
            beta, here = proposal, there
        draws.append(beta)
    return np.array(draws)


def net_benefit(y, risk, t):
    treat = risk >= t
    return ((treat & (y == 1)).sum() - (treat & (y == 0)).sum() * t / (1 - t)) / len(y)


def tailored_weights(risk, t, discount):
    return np.exp(-discount * (risk - t) ** 2)


def choose_discount(x, y, risk, t, discounts, folds, sample_weight=None):
    """Net benefit of each discount in each held-out fold, and the held-out risks."""
    s = np.ones(len(y)) if sample_weight is None else sample_weight
    table = np.empty((len(discounts), folds.max() + 1))
    held_out = np.empty((len(y), len(discounts)))
    for i, discount in enumerate(discounts):
        for fold in range(folds.max() + 1):
            train, test = folds != fold, folds == fold
            w = s[train] * tailored_weights(risk[train], t, discount)
            predicted = predictive_mean(x[test], *laplace(x[train], y[train], w))
            gain = s[test] * np.where(y[test] == 1, 1.0, -t / (1 - t))
            table[i, fold] = gain[predicted >= t].sum() / s[test].sum()
            held_out[test, i] = predicted
    return table, held_out


def paper(x, y, t, discounts, seed):
    """The paper's pseudo-code: 20% design, 80% development, 5 folds, Metropolis."""
    rng = np.random.default_rng(seed)
    development, design = train_test_split(
        np.arange(len(y)), test_size=0.2, stratify=y, random_state=int(rng.integers(2**31))
    )
    standard = laplace(x[design], y[design], np.ones(len(design)))
    x, y = x[development], y[development]
    risk = predictive_mean(x, *standard)
    splitter = StratifiedKFold(5, shuffle=True, random_state=int(rng.integers(2**31)))
    folds = np.empty(len(y), dtype=int)
    for fold, (_, test) in enumerate(splitter.split(x, y)):
        folds[test] = fold
    table, _ = choose_discount(x, y, risk, t, discounts, folds)
    best = discounts[int(table.mean(axis=1).round(12).argmax())]  # ties: the smaller
    return best, metropolis(x, y, tailored_weights(risk, t, best), 3000, rng)
