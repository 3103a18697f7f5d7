"""The stated uncertainty of net benefit against simulation: one failure rate, fixed seeds."""

import numpy as np
import pytest
from scipy import stats
from yardsticks import FAILURE_RATE, critical_z

import tailoredbayes as tb
from tailoredbayes.evaluation.cells import contrast, enter

T = np.array([0.25])
ODDS = 1 / 3
LEVELS = np.array([0.1, 0.9])  # a risk that is not treated, and one that is


def rows_of(counts):
    """Rows of two models and an outcome with so many in each joint cell [y, B, A]."""
    y, b, a = (np.repeat(index, counts.ravel()) for index in np.indices((2, 2, 2)).reshape(3, 8))
    return y, {"A": LEVELS[a], "B": LEVELS[b]}


def truth(theta):
    """Net benefit of A, B, all and none for cell probabilities [y, B, A]."""
    events, others = theta[..., 1, :, :], theta[..., 0, :, :]
    return np.stack(
        [
            (events - ODDS * others)[..., 1].sum(axis=-1),
            (events - ODDS * others)[..., 1, :].sum(axis=-1),
            (events - ODDS * others).sum(axis=(-2, -1)),
            np.zeros(theta.shape[:-3]),
        ],
        axis=-1,
    )


def accepted(trials, probability, comparisons):
    """The numbers of successes that are not a failure."""
    law = stats.binom(trials, probability)
    tail = FAILURE_RATE / comparisons / 2
    return law.ppf(tail), law.isf(tail)


@pytest.mark.parametrize("n", [20, 200])
def test_bayesian_intervals_and_probabilities_hold_over_the_prior(n):
    # Truths drawn from the prior, rows from the truth: the intervals' coverage is then exactly
    # what they say, whatever n, and probabilities are frequencies.
    rng = np.random.default_rng(n)
    trials, covered, shortfall, variance, regret = 1000, np.zeros(3), 0.0, 0.0, []
    for _ in range(trials):
        theta = rng.dirichlet(np.full(8, 2 / 8)).reshape(2, 2, 2)
        value = truth(theta)
        y, models = rows_of(rng.multinomial(n, theta.ravel()))
        found = tb.bayesian_decision_curve(y, models, T, prob=0.8, draws=400, random_state=rng)
        paired = found.difference("A", "B")
        low = np.append(found.low[:2, 0], paired.low)
        high = np.append(found.high[:2, 0], paired.high)
        true = np.append(value[:2], value[0] - value[1])
        covered += (low <= true) & (true <= high)
        p = np.array([found.p_useful[0, 0], found.p_useful[1, 0], paired.p_better[0]])
        happened = [
            value[0] > value[2:].max(),
            value[1] > value[2:].max(),
            value[0] > value[1],
        ]
        shortfall += happened - p
        variance += p * (1 - p) + p * (1 - p) / 400
        chosen = found.net_benefit[:, 0].argmax()
        regret.append(value.max() - value[chosen] - found.evpi[0])
    # The truth's rank among D draws is uniform, and the interval's ends lie 0.8 (D - 1) of the
    # D + 1 gaps apart.
    low, high = accepted(trials, 0.8 * 399 / 401, 7)
    assert ((low <= covered) & (covered <= high)).all()
    assert (np.abs(shortfall) / np.sqrt(variance) < critical_z(7)).all()
    # The expected value of perfect information is the mean loss of acting on the posterior mean.
    assert abs(np.mean(regret)) < critical_z(7) * np.std(regret) / np.sqrt(trials)


THETA = np.array([[[0.35, 0.05], [0.1, 0.15]], [[0.05, 0.06], [0.04, 0.2]]])


@pytest.mark.slow
@pytest.mark.parametrize("prevalence", [None, 0.1])
def test_standard_errors_and_intervals_hold_over_samples(prevalence):
    # One truth, many test sets. Coverage of 90% by approximate intervals: within 1.5 points of it,
    # beyond what chance allows at the failure rate.
    n, trials = 600, 3000
    rng = np.random.default_rng(5)
    theta = THETA.copy()
    if prevalence is not None:  # half cases, half controls
        theta /= 2 * theta.sum(axis=(1, 2), keepdims=True)
        shares = np.array([1 - prevalence, prevalence])[:, None, None]
        value = truth(2 * theta * shares)
    else:
        value = truth(theta)
    true = np.append(value[:2], value[0] - value[1])
    estimates, errors, covered = [], [], np.zeros(7)
    for _ in range(trials):
        if prevalence is None:
            counts = rng.multinomial(n, theta.ravel())
        else:
            counts = np.stack([rng.multinomial(n // 2, 2 * part.ravel()) for part in theta])
        y, models = rows_of(counts)
        options = {"prevalence": prevalence, "prob": 0.9}
        curve = tb.decision_curve(y, models, T, **options)
        paired = tb.net_benefit_difference(
            y, models, T, against="B", replicates=400, random_state=rng, **options
        )
        bayes = tb.bayesian_decision_curve(y, models, T, draws=400, random_state=rng, **options)
        pair = bayes.difference("A", "B")
        estimates.append(np.append(curve.net_benefit[:2, 0], paired.difference))
        errors.append(np.append(curve.standard_error[:2, 0], paired.standard_error))
        low = [*curve.low[:2, 0], paired.low[0, 0], *bayes.low[:2, 0], pair.low[0]]
        high = [*curve.high[:2, 0], paired.high[0, 0], *bayes.high[:2, 0], pair.high[0]]
        inside = (np.array(low) <= np.tile(true, 2)) & (np.tile(true, 2) <= np.array(high))
        covered[:6] += inside
        half = stats.norm.isf(0.05) * errors[-1][2]
        covered[6] += abs(estimates[-1][2] - true[2]) <= half
    estimates, errors = np.array(estimates), np.array(errors)
    z = critical_z(13)
    spread = estimates.std(axis=0, ddof=1)
    assert (np.abs(estimates.mean(axis=0) - true) < z * spread / np.sqrt(trials)).all()
    # A standard deviation of `trials` normal values has a relative error of (2 trials)^-1/2.
    mean_error = np.sqrt((errors**2).mean(axis=0))
    assert (np.abs(spread / mean_error - 1) < z / np.sqrt(2 * trials)).all()
    slack = 0.015 * trials
    low, high = accepted(trials, 0.9, 13)
    assert (covered >= low - slack).all()
    assert (covered <= high + slack).all()


def resampled_by_loop(rng, y, first, second, t, weight, prevalence, size):
    """The bootstrap as it is told: draw rows, count again."""
    groups = [np.arange(len(y))] if prevalence is None else [np.flatnonzero(y), np.flatnonzero(~y)]
    found = []
    for _ in range(size):
        rows = np.concatenate([rng.choice(group, size=len(group)) for group in groups])
        value = [
            tb.net_benefit(
                y[rows], risk[rows], t, sample_weight=weight[rows], prevalence=prevalence
            )
            for risk in (first, second)
        ]
        found.append(value[0] - value[1])
    return np.array(found)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prevalence", [None, 0.1])
def test_the_bootstrap_is_a_loop_over_resampled_rows(weighted, prevalence):
    rng = np.random.default_rng(9)
    n, size, grid = 150, 2000, np.array([0.2, 0.4])
    truth_ = rng.beta(1, 2, size=n)
    y = rng.random(n) < truth_
    noisy = np.clip(truth_ + 0.2 * rng.normal(size=n), 0, 1)
    weight = rng.exponential(size=n) if weighted else np.ones(n)
    entered = enter(
        y,
        {"a": truth_, "b": noisy},
        grid,
        sample_weight=weight if weighted else None,
        prevalence=prevalence,
    )
    strata = contrast(entered, entered.strategies["a"], entered.strategies["b"])
    ours = sum(part.bootstrap(rng, size) for part in strata)
    closed = np.sqrt(sum(part.variance() for part in strata))
    theirs = resampled_by_loop(rng, y, truth_, noisy, grid, weight, prevalence, size)
    for j in range(len(grid)):
        # Rounded, since sums in another order may part what is tied.
        test = stats.ks_2samp(ours[:, j].round(10), theirs[:, j].round(10))
        assert test.pvalue > FAILURE_RATE / 4
    # Without weights the closed form is the bootstrap's own variance; with them its linear part,
    # which leaves out terms of relative order 1 / n.
    slack = critical_z(4) / np.sqrt(2 * size) + (10 / n if weighted else 0.02)
    assert (np.abs(ours.std(axis=0) / closed - 1) < slack).all()
