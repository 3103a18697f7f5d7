"""The Bayesian decision curve: exact limits, brute force and closed forms."""

import re

import numpy as np
import pytest
from scipy import integrate, stats

import tailoredbayes as tb

GRID = np.array([0.2, 0.5, 0.35])


def sample(n=500, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.beta(1, 2, size=n)
    y = rng.random(n) < truth
    logit = np.log(truth / (1 - truth))
    noisy = 1 / (1 + np.exp(-logit - rng.normal(size=n)))
    return y, {"TB": truth, "SB": noisy}, rng.exponential(size=n)


def cells_by_loop(y, risks, t, weight):
    """Joint cells, row by row: [outcome, decisions as bits]."""
    counts = np.zeros((2, 2 ** len(risks)))
    for i, outcome in enumerate(y):
        who = sum(2**k for k, risk in enumerate(risks) if risk[i] >= t)
        counts[int(outcome), who] += weight[i]
    return counts


def brute_force(y, risks, t, prior, prevalence, size, rng, weight=None):
    """Net benefit of each model, all and none under Dirichlet draws made by NumPy."""
    weight = np.ones(len(y)) if weight is None else weight
    shape = cells_by_loop(y, risks, t, weight)
    shape += prior / shape.size
    if prevalence is None:
        theta = rng.dirichlet(shape.ravel(), size=size).reshape(size, *shape.shape)
    else:
        classes = [
            share * rng.dirichlet(alpha, size=size)
            for share, alpha in zip((1 - prevalence, prevalence), shape, strict=True)
        ]
        theta = np.stack(classes, axis=1)
    odds = t / (1 - t)
    treated = [[who for who in range(shape.shape[1]) if who >> k & 1] for k in range(len(risks))]
    treated += [list(range(shape.shape[1])), []]
    return np.stack(
        [theta[:, 1, who].sum(axis=1) - odds * theta[:, 0, who].sum(axis=1) for who in treated]
    )


def standard_error(values):
    return values.std(axis=-1) / np.sqrt(values.shape[-1])


@pytest.mark.parametrize("prevalence", [None, 0.15])
@pytest.mark.parametrize("models", [1, 2])
def test_every_summary_agrees_with_brute_force(models, prevalence):
    # Each |difference| of two Monte Carlo means within 5 standard errors: for some 50 comparisons
    # a failure rate below 1e-4.
    y, named, _ = sample()
    named = dict(list(named.items())[:models])
    found = tb.bayesian_decision_curve(
        y, named, GRID, prevalence=prevalence, prior=3.0, draws=20_000, random_state=1
    )
    rng = np.random.default_rng(2)
    for j, t in enumerate(GRID):
        theirs = brute_force(y, list(named.values()), t, 3.0, prevalence, 20_000, rng)
        best = theirs.max(axis=0)
        useful = theirs[:-2] > theirs[-2:].max(axis=0)
        ours = found.draws[:, j]
        for mine, expected in (
            (ours, theirs),
            (ours**2, theirs**2),
            (ours.max(axis=0) - ours, best - theirs),
            (ours[:-2] > ours[-2:].max(axis=0), useful),
            (ours == ours.max(axis=0), theirs == best),
        ):
            slack = 5 * np.hypot(standard_error(mine), standard_error(expected)) + 1e-12
            assert (np.abs(mine.mean(axis=-1) - expected.mean(axis=-1)) <= slack).all()
        np.testing.assert_allclose(found.net_benefit[:, j], ours.mean(axis=1))
        np.testing.assert_allclose(found.expected_loss[:, j], (ours.max(axis=0) - ours).mean(1))
        evpi = ours.max(axis=0).mean() - ours.mean(axis=1).max()
        assert found.evpi[j] == pytest.approx(evpi, abs=1e-12)
        assert found.p_useful[:-2, j] == pytest.approx(
            (ours[:-2] > np.maximum(ours[-2], ours[-1])).mean(axis=1)
        )


@pytest.mark.parametrize("t", [0.28, 0.3, 0.35])
def test_evpi_of_treating_all_or_none_is_an_integral_over_the_prevalence(t):
    # A test so harmful that the model is never best leaves the prevalence, a Beta.
    rng = np.random.default_rng(0)
    y = np.arange(60) < 18
    found = tb.bayesian_decision_curve(
        y, rng.random(60), t, harm=10.0, draws=100_000, random_state=rng
    )
    prevalence, odds = stats.beta(18 + 1, 42 + 1), t / (1 - t)

    def value(pi):
        return pi - (1 - pi) * odds

    gain, _ = integrate.quad(lambda pi: value(pi) * prevalence.pdf(pi), t, 1)
    evpi = gain - max(0.0, value(prevalence.mean()))
    assert evpi > 1e-4
    best = np.maximum(found.draws[-2, 0], 0)
    # 4 standard errors: failure rate 1e-4.
    assert found.evpi[0] == pytest.approx(evpi, abs=4 * standard_error(best))
    assert found.p_best[-2, 0] == pytest.approx(prevalence.sf(t), abs=4 * 0.5 / 100_000**0.5)
    assert (found.p_useful[0] == 0).all()


def test_the_marginal_priors_are_uniform_prevalence_and_jeffreys_rates():
    # Prevalence posterior Beta(events + 1, ...), sensitivity Beta(TP + 1/2, FN + 1/2), whichever
    # models are compared. Kolmogorov-Smirnov, 5 comparisons at 1e-4 in all.
    y, named, _ = sample(n=40)
    t, odds = 0.3, 0.3 / 0.7
    treated = named["TB"] >= t
    for models in ({"TB": named["TB"]}, named):
        found = tb.bayesian_decision_curve(y, models, t, random_state=3)
        everyone = found.draws[found.models.index("all"), 0]
        prevalence = (everyone + odds) / (1 + odds)
        law = stats.beta(y.sum() + 1, (~y).sum() + 1)
        assert stats.kstest(prevalence, law.cdf).pvalue > 1e-4 / 5
        # With the prevalence known and near 1 only sensitivity is left.
        known = tb.bayesian_decision_curve(y, models, t, prevalence=1 - 1e-9, random_state=4)
        law = stats.beta((treated & y).sum() + 0.5, (~treated & y).sum() + 0.5)
        assert stats.kstest(known.draws[0, 0], law.cdf).pvalue > 1e-4 / 5


def test_with_many_rows_it_is_the_curve_and_its_sampling_error():
    y, models, weight = sample(n=20_000)
    for options in ({}, {"prevalence": 0.1}, {"harm": {"TB": 0.01}}):
        curve = tb.decision_curve(y, models, GRID, **options)
        found = tb.bayesian_decision_curve(y, models, GRID, random_state=0, **options)
        np.testing.assert_allclose(found.net_benefit, curve.net_benefit, atol=4e-4)
        np.testing.assert_allclose(
            found.standard_deviation, curve.standard_error, rtol=0.06, atol=1e-12
        )
        paired = tb.net_benefit_difference(y, models, GRID, against="SB", replicates=2, **options)
        ours = found.difference("TB", "SB")
        np.testing.assert_allclose(ours.difference, paired.difference[0], atol=4e-4)
        np.testing.assert_allclose(ours.standard_deviation, paired.standard_error[0], rtol=0.06)
    assert weight.std() > 0.9
    for prevalence in (None, 0.1):
        curve = tb.decision_curve(y, models, GRID, sample_weight=weight, prevalence=prevalence)
        found = tb.bayesian_decision_curve(
            y, models, GRID, sample_weight=weight, prevalence=prevalence, random_state=0
        )
        np.testing.assert_allclose(found.net_benefit, curve.net_benefit, atol=6e-4)
        np.testing.assert_allclose(
            found.standard_deviation[:3], curve.standard_error[:3], rtol=0.08, atol=1e-12
        )


def test_weights_that_are_all_alike_change_nothing():
    y, models, _ = sample()
    found = [
        tb.bayesian_decision_curve(y, models, GRID, sample_weight=w, random_state=0).draws
        for w in (None, np.full(len(y), 3.0))
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-12)


def test_rows_of_weight_zero_are_left_out():
    y, models, _ = sample()
    kept = np.arange(len(y)) % 3 > 0
    draws = np.random.default_rng(1).random((len(y), 7))
    options = {"risk_draws": {"drawn": draws}, "draws": 50, "random_state": 0}
    found = tb.bayesian_decision_curve(y, models, GRID, sample_weight=kept * 1.0, **options)
    options["risk_draws"] = {"drawn": draws[kept]}
    alone = tb.bayesian_decision_curve(
        y[kept], {k: v[kept] for k, v in models.items()}, GRID, **options
    )
    assert found.n == alone.n == kept.sum()
    np.testing.assert_allclose(found.draws, alone.draws, rtol=1e-9, atol=1e-12)


# --- Posterior draws of the risks -------------------------------------------------------------


def test_draws_that_are_all_alike_are_a_model_without_uncertainty():
    y, models, _ = sample()
    drawn = {"SB": np.repeat(models["SB"][:, None], 3, axis=1)}
    found = tb.bayesian_decision_curve(
        y, {"TB": models["TB"]}, GRID, risk_draws=drawn, random_state=0
    )
    plain = tb.bayesian_decision_curve(y, models, GRID, random_state=0)
    assert found.models == plain.models
    np.testing.assert_array_equal(found.draws, plain.draws)


def test_the_uncertainty_of_the_parameters_joins_in():
    # The mean over draws of the rules' net benefits, and between-rule variance on top of the
    # rows' own. Two rules in turn; many rows, so that the tolerance is far below what is tested.
    y, models, _ = sample(n=5000)
    rules = np.stack([models["TB"], models["SB"]], axis=1)
    t = np.array([0.3])
    found = tb.bayesian_decision_curve(
        y, {}, t, risk_draws={"drawn": rules}, draws=8000, random_state=0
    )
    apart = tb.bayesian_decision_curve(y, models, t, draws=8000, random_state=1)
    a, b = apart.draws[0, 0], apart.draws[1, 0]
    variance = (a.var() + b.var()) / 2 + ((a.mean() - b.mean()) / 2) ** 2
    assert found.net_benefit[0, 0] == pytest.approx((a.mean() + b.mean()) / 2, abs=4e-4)
    assert found.standard_deviation[0, 0] == pytest.approx(variance**0.5, rel=0.05)
    assert found.standard_deviation[0, 0] > 1.2 * max(a.std(), b.std())


def test_a_fitted_models_draws_are_taken_as_they_come():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = rng.random(200) < 1 / (1 + np.exp(-X[:, 0]))
    model = tb.TailoredLogisticRegression(0.3, discount=0, draws=200, random_state=0).fit(X, y)
    found = tb.bayesian_decision_curve(
        y, {"mean": model}, [0.3], X=X, risk_draws={"TB": model.risk_draws(X)}, random_state=0
    )
    assert found.models == ("mean", "TB", "all", "none")
    assert found.draws.shape == (4, 1, 4000)
    # Draws treat all but as well as their mean does here, and are less sure.
    assert found.net_benefit[1, 0] == pytest.approx(found.net_benefit[0, 0], abs=0.02)
    assert found.standard_deviation[1, 0] > found.standard_deviation[0, 0]


# --- Records ----------------------------------------------------------------------------------


def test_a_difference_and_its_mirror():
    y, models, _ = sample()
    found = tb.bayesian_decision_curve(y, models, GRID, random_state=0)
    one, other = found.difference("TB", "SB"), found.difference("SB", "TB")
    np.testing.assert_allclose(one.difference, -other.difference)
    np.testing.assert_allclose(one.p_better + other.p_better, 1)
    np.testing.assert_allclose(one.expected_loss, other.expected_loss_against)
    np.testing.assert_allclose(one.expected_loss_against - one.expected_loss, one.difference)
    np.testing.assert_allclose(one.difference, found.net_benefit[0] - found.net_benefit[1])
    np.testing.assert_allclose(found.difference("all", "none").difference, found.net_benefit[2])
    with pytest.raises(ValueError, match="model and against must name models that there are, got"):
        found.difference("TB", "LR")
    frame = one.to_frame()
    for name in ("difference", "p_better", "expected_loss", "low", "high"):
        assert frame[name].tolist() == getattr(one, name).tolist()


def test_a_difference_in_words():
    y, models, _ = sample()
    found = tb.bayesian_decision_curve(y, models, GRID, random_state=0)
    one = found.difference("TB", "SB")
    words = one.in_words(0.2)
    assert words.startswith("At a threshold of 20%, TB instead of SB is worth ")
    assert "95% posterior interval" in words
    assert one.p_better[0] > 0.99
    assert "It is better with probability above 0.99; choosing it loses 0 true" in words
    other = found.difference("SB", "TB").in_words(0.2)
    assert "It is better with probability below 0.01;" in other
    lost = round(1000 * one.expected_loss_against[0], 1)
    assert f"choosing it loses {lost:g} true positives per 1000 patients on average" in other


def test_the_table_holds_the_arrays():
    y, models, _ = sample()
    found = tb.bayesian_decision_curve(y, models, random_state=0, draws=100)
    frame = found.to_frame()
    count = len(found.thresholds)
    assert frame["model"].tolist()[::count] == ["TB", "SB", "all", "none"]
    for name in ("net_benefit", "low", "high", "p_best", "expected_loss"):
        assert frame[name].tolist() == getattr(found, name).ravel().tolist()
    assert frame["p_useful"].isna().sum() == 2 * count
    assert frame["evpi"].tolist() == found.evpi.tolist() * 4
    assert found.note in repr(found)
    assert frame.attrs["note"] == found.note != ""


def test_the_same_seed_gives_the_same_draws():
    y, models, _ = sample()
    first, second = (tb.bayesian_decision_curve(y, models, GRID, random_state=7) for _ in "ab")
    np.testing.assert_array_equal(first.draws, second.draws)


GOOD = {"y_true": [0, 1, 1], "models": {"TB": [0.1, 0.6, 0.2]}, "thresholds": [0.3]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prior": 0}, "prior must be a finite number above 0, got 0; pass its weight in patients"),
        ({"draws": 1}, "draws must be a whole number, at least 2, got 1"),
        ({"prob": 0}, "prob must be a finite number above 0 and below 1, got 0"),
        ({"thresholds": 1.0}, "threshold must lie strictly between 0 and 1, got 1"),
        ({"models": {"TB": [0.1, np.nan, 0.2]}}, "models['TB'] must lie between 0 and 1, got nan"),
        ({"y_true": []}, "y_true must hold at least one row, got none"),
        ({"models": {}}, "models must name at least one model, got none"),
        ({"prevalence": 0.1, "y_true": [0, 0, 0]}, "y_true must hold both events (1) and non-ev"),
        ({"sample_weight": [0, 0, 0]}, "sample_weight must hold at least one weight above 0"),
        ({"risk_draws": {"TB": [[0.1], [0.2], [0.3]]}}, "a model must be in models or in risk_dra"),
        ({"risk_draws": {"D": [[0.1], [0.2], [3.0]]}}, "risk_draws['D'] must lie between 0 and 1"),
        ({"risk_draws": {"D": [0.1, 0.2, 0.3]}}, "risk_draws['D'] must be two-dimensional"),
        ({"risk_draws": {"D": [[0.1], [0.2]]}}, "y_true and models['D'] must have the same leng"),
        ({"models": {str(k): [0.1, 0.6, 0.2] for k in range(9)}}, "models must be at most 8"),
    ],
)
def test_bad_input_meets_a_clear_sentence(change, message):
    tb.bayesian_decision_curve(**GOOD)
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        tb.bayesian_decision_curve(**{**GOOD, **change})


def test_one_class_alone_leaves_the_prior_to_speak_of_the_other():
    found = tb.bayesian_decision_curve([1, 1, 1], [0.9, 0.8, 0.1], 0.3, random_state=0)
    assert np.isfinite(found.draws).all()
    assert found.draws[-2].max() < 1  # the prevalence is not known to be 1
