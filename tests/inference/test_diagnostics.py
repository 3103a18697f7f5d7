"""What the data and the approximation say about themselves: constructed cases, both ways."""

import numpy as np
import pytest

from tailoredbayes import (
    Finding,
    Laplace,
    LogDensity,
    Normal,
    StudentT,
    TailoredPosterior,
    find_modes,
    sample,
)
from tailoredbayes.inference import diagnostics
from tailoredbayes.inference.draws import Chains, Draws


def fitted(x, y, **options):
    posterior = TailoredPosterior(x, y, **options)
    return posterior, find_modes(posterior).approximation()


def overlapping(n=400, d=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    y = (rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    return x, y


def separated(x, y, **options):
    """None, "complete" or "quasi"; looked for even without symptoms, and the direction proven."""
    posterior, approximation = fitted(x, y, **options)
    found = diagnostics.separation(posterior, 0, approximation, suspected=True)
    if found is None:
        return None
    rows = posterior.rows.covariates()
    weights = np.concatenate(
        [b.weights for s in range(posterior.rows.n_shards) for b in posterior.rows.blocks(s, 1000)]
    )
    margin = (-posterior.against(rows) @ found.direction)[weights[:, 0] > 0]
    assert margin.min() >= -1e-6
    assert margin.max() > 1e-6
    assert (margin.min() > 1e-6) == found.complete
    return "complete" if found.complete else "quasi"


# --- Separation -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prior",
    [Normal(0, 100), Normal(0, 1), Normal(0, 0.1), StudentT(3), Laplace(0, 1)],
    ids=["vague", "informative", "strong", "student", "laplace"],
)
@pytest.mark.parametrize("seed", range(5))
def test_random_separated_rows_are_found_completely_separated(prior, seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 60)), int(rng.integers(1, 6))
    x = rng.standard_normal((n, d))
    eta = x @ rng.standard_normal(d)
    assert separated(x, eta > np.median(eta), prior=prior) == "complete"


def test_a_tie_on_the_boundary_is_quasi_complete():
    x = np.array([-2.0, -1, 0, 0, 1, 2])[:, None]
    assert separated(x, [0, 0, 0, 1, 1, 1]) == "quasi"
    assert separated(x, [0, 0, 1, 1, 1, 1]) == "complete"
    assert separated(x, [0, 1, 0, 1, 1, 1]) is None


def test_a_group_without_events_is_quasi_complete():
    x, y = overlapping()
    group = np.arange(400) % 10 == 0
    y[group] = 0
    assert separated(np.column_stack([x, group]), y) == "quasi"


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_a_group_without_events_is_found_among_many_rows(share):
    # The rows of least margin all lie in the other groups: they alone tell nothing.
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 50_000)
    x = np.column_stack([group == 1, group == 2]).astype(float)
    y = np.where(group == 2, 1, rng.random(50_000) < share)
    assert separated(x, y) == "quasi"
    assert separated(x[:, :1], y) is None


@pytest.mark.parametrize("seed", range(3))
def test_overlapping_rows_are_not_separated(seed):
    assert separated(*overlapping(seed=seed)) is None
    assert separated(*overlapping(n=60, d=2, seed=seed)) is None


def test_more_columns_than_rows_always_separate():
    x = np.random.default_rng(0).standard_normal((5, 20))
    assert separated(x, [0, 1, 0, 1, 1], prior=Normal(0, 1)) == "complete"


def nearly_separated(n, d=3):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    eta = x @ np.arange(1.0, d + 1) + 0.3
    return x, (eta > 0).astype(int), np.argsort(np.abs(eta))


@pytest.mark.parametrize("hardness", [0.0, 0.5, 0.9])
def test_one_contradicting_row_among_50000_is_enough(hardness):
    x, y, order = nearly_separated(50_000)
    assert separated(x, y) == "complete"
    row = order[int(hardness * len(order))]
    y[row] = 1 - y[row]
    # The row nearest the boundary may still be passed on its other side.
    if hardness > 0:
        assert separated(x, y) is None
    weights = np.ones(len(y))
    weights[row] = 0
    assert separated(x, y, weights=weights) == "complete"


def test_rows_of_weight_0_contradict_nothing():
    x, y = overlapping(n=60, d=1)
    agree = (x[:, 0] > 0) == y
    assert separated(x, y) is None
    assert separated(x, y, weights=agree.astype(float)) == "complete"
    assert separated(x, y, weights=np.where(agree, 1, 1e-6)) is None


def test_units_and_shifts_do_not_matter_for_separation():
    x, y, order = nearly_separated(300)
    for scale, shift in (([1e-8, 1, 1e8], 0), ([1, 1, 1], [1e6, 0, -1e4])):
        moved = x * scale + shift
        prior = Normal(0, np.append(100, 100 / np.array(scale)))
        assert separated(moved, y, prior=prior) == "complete"
        other = y.copy()
        other[order[150]] ^= 1
        assert separated(moved, other, prior=prior) is None


def test_slow_convergence_is_not_separation():
    # A rare, far contradiction: the mode is far out, the prior's share small but visible.
    x = np.append(np.linspace(-1, 1, 400), 0.02)[:, None]
    y = np.append(np.linspace(-1, 1, 400) > 0, 0)
    posterior, approximation = fitted(x, y)
    assert approximation.converged
    assert abs(approximation.mode[1]) > 30
    assert diagnostics.separation(posterior, 0, approximation, suspected=True) is None


def test_no_programme_is_run_without_symptoms(monkeypatch):
    import scipy.optimize

    def refuse(*_, **__):
        raise AssertionError("a linear programme was run")

    monkeypatch.setattr(scipy.optimize, "linprog", refuse)
    posterior, approximation = fitted(*overlapping())
    assert diagnostics.separation(posterior, 0, approximation) is None


def test_separation_is_told_in_a_sentence():
    x = np.array([-2.0, -1, 1, 2])[:, None]
    posterior, approximation = fitted(x, x[:, 0] > 0)
    found = diagnostics.separation(posterior, 0, approximation)
    finding = found.finding(posterior)
    assert (finding.code, finding.value) == ("separation", 1.0)
    assert "separates the weighted outcomes completely" in finding.message


@pytest.mark.parametrize(
    ("prior", "flat"),
    [
        (Normal(0, 100), False),
        (StudentT(1, 0, 100), False),
        (Laplace(0, 100), False),
        (LogDensity(lambda b: -float(np.abs(b).sum()) / 10), False),
        (LogDensity(lambda b: 0.0, np.zeros_like), True),
    ],
    ids=["normal", "cauchy", "laplace", "own with a kink", "flat"],
)
def test_only_a_flat_prior_is_called_flat(prior, flat):
    x = np.array([*range(-6, 0), *range(1, 7)], dtype=float)[:, None]
    posterior = TailoredPosterior(x, x[:, 0] > 0, prior=prior, fit_intercept=False)
    approximation = find_modes(posterior).approximation()
    found = diagnostics.separation(posterior, 0, approximation, suspected=True)
    assert found.complete
    assert found.prior_is_flat(posterior, approximation) == flat


# --- Columns that say the same ------------------------------------------------------------------


def collinear(x, y, **options):
    posterior, approximation = fitted(x, y, names=["age", "size", "years"], **options)
    return diagnostics.collinearity(posterior, approximation)


def test_independent_columns_are_not_collinear():
    assert collinear(*overlapping()) is None
    x, y = overlapping()
    x[:, 2] = 0.9 * x[:, 0] + np.sqrt(1 - 0.81) * x[:, 2]  # correlation 0.9 is no finding
    assert collinear(x, y) is None


@pytest.mark.parametrize("noise", [0, 1e-9, 1e-3])
@pytest.mark.parametrize("scale", [1, 1e-8, 1e8])
def test_duplicates_are_named(noise, scale):
    x, y = overlapping()
    x[:, 2] = scale * (x[:, 0] + noise * x[:, 2])
    finding = collinear(x, y, prior=Normal(0, [10, 10, 10, 10 / scale]))
    assert finding.code == "collinearity"
    assert finding.message.startswith("age, years are nearly linear combinations")
    assert 0 <= finding.value < 1e-4


def test_a_sum_of_columns_is_named_with_its_parts():
    x, y = overlapping()
    x[:, 2] = x[:, 0] + x[:, 1]
    finding = collinear(x, y, prior=Normal(0, 10))
    assert finding.message.startswith("age, size, years are nearly linear combinations")


@pytest.mark.parametrize("constant", [0.0, 1.0, -0.3, 1e6])
def test_a_constant_column_is_named(constant):
    x, y = overlapping()
    x[:, 1] = constant
    finding = collinear(x, y, prior=Normal(0, 10))
    assert finding.message.startswith("size is constant where the weights are")


def test_a_column_constant_where_the_weights_are_is_named():
    x, y = overlapping()
    x[:, 1] = np.where(np.arange(400) < 300, 1.0, x[:, 1])
    weights = (np.arange(400) < 300).astype(float)
    assert collinear(x, y, prior=Normal(0, 10)) is None
    finding = collinear(x, y, prior=Normal(0, 10), weights=weights)
    assert finding.message.startswith("size is constant where the weights are")


@pytest.mark.parametrize("scale", [1e-12, 1e-150])
def test_a_column_too_small_for_the_data_to_speak_of_is_not_called_constant(scale):
    x, y = overlapping()
    x[:, 1] *= scale
    posterior, approximation = fitted(x, y, names=["age", "size", "years"])
    assert diagnostics.collinearity(posterior, approximation) is None
    assert "involves size" in diagnostics.weak_data(posterior, approximation).message
    x[:, 2] = x[:, 0]  # of the others what is true is still said
    finding = collinear(x, y, prior=Normal(0, 10))
    assert finding.message.startswith("age, years are nearly linear combinations")


@pytest.mark.parametrize(
    "silent",
    [{"weights": np.full(400, 1e-300)}, {"prior": Normal(1e6, 1)}, {"prior": StudentT(1e300)}],
    ids=["weights", "mean", "df"],
)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_data_that_say_nothing_are_no_ground_for_collinearity(silent, fit_intercept):
    x, y = overlapping()
    posterior, approximation = fitted(x, y, fit_intercept=fit_intercept, **silent)
    assert diagnostics.collinearity(posterior, approximation) is None
    drawn = sample(posterior, draws=100, random_state=0, warn=False)
    assert np.isfinite(drawn.values).all()


# --- Little data ------------------------------------------------------------------------------


def test_much_data_outweigh_the_prior():
    posterior, approximation = fitted(*overlapping(n=2000))
    assert diagnostics.weak_data(posterior, approximation) is None
    share, _ = diagnostics.prior_share(approximation)
    assert share.max() < 1e-3


def test_the_priors_share_is_its_part_of_the_curvature():
    # One column, x = +-1, at eta = 0: data n/4, prior 1/sd^2.
    x = np.tile([-1.0, 1.0], 50)[:, None]
    y = np.repeat([0, 1], 50)
    for sd in (0.01, 0.15, 1):
        posterior, approximation = fitted(x, y, prior=Normal(0, sd), fit_intercept=False)
        share, direction = diagnostics.prior_share(approximation)
        assert share[0] == pytest.approx(sd**-2 / (sd**-2 + 25), rel=1e-12)
        assert abs(direction[0, 0]) == pytest.approx((sd**-2 + 25) ** -0.5, rel=1e-12)
        assert (diagnostics.weak_data(posterior, approximation) is None) == (sd > 0.2)


def test_a_direction_the_data_leave_to_the_prior_is_named():
    x, y = overlapping()
    x[:, 2] = 1e-6 * x[:, 2]  # hardly varies: its coefficient is the prior's
    posterior, approximation = fitted(x, y, prior=Normal(0, 1), names=["age", "size", "years"])
    finding = diagnostics.weak_data(posterior, approximation)
    assert finding.code == "weak-data"
    assert finding.value == pytest.approx(1, abs=1e-6)
    assert "involves years;" in finding.message


def test_few_weights_are_told():
    x, y = overlapping()

    def codes(weights):
        posterior = TailoredPosterior(x, y, weights=weights)
        return [(f.code, f.value) for f in diagnostics.few_weights(posterior, 0)]

    assert codes(np.ones(400)) == []
    events = float(y.sum())
    assert codes(np.where(y, 9.9 / events, 1.0)) == [
        ("few-weighted-events", pytest.approx(9.9, rel=1e-12))
    ]
    [(code, value)] = codes(np.where(y, 1.0, 5 / (400 - events)))
    assert (code, value) == ("few-weighted-events", pytest.approx(5))
    assert [code for code, _ in codes(np.full(400, 19 / 400))] == [
        "few-weighted-rows",
        "few-weighted-events",
    ]
    posterior = TailoredPosterior(x, y, weights=np.where(y, 1.0, 5 / (400 - events)))
    [finding] = diagnostics.few_weights(posterior, 0)
    assert "the non-events have a total weight of 5" in finding.message


# --- Shape ------------------------------------------------------------------------------------


def test_a_normal_log_density_drops_by_2_at_2_sd():
    # The data are all but silent: the posterior is the prior.
    posterior, approximation = fitted(
        np.zeros((2, 2)), [0, 1], prior=Normal([1, 2], [3, 1e-3]), fit_intercept=False
    )
    assert diagnostics.non_normality(posterior, 0, approximation) is None


def test_many_rows_are_near_normal_and_few_separated_ones_are_not():
    posterior, approximation = fitted(*overlapping(n=2000))
    assert diagnostics.non_normality(posterior, 0, approximation) is None
    x = np.array([*range(-6, 0), *range(1, 7)], dtype=float)[:, None]
    posterior, approximation = fitted(x, x[:, 0] > 0)
    drop = diagnostics.non_normality(posterior, 0, approximation)
    # What it says is what the density does, two of its own sds out along one direction.
    _, direction = diagnostics.prior_share(approximation)
    mode = approximation.mode
    drops = [
        (posterior.log_density(mode) - posterior.log_density(mode + sign * 2 * direction[:, j])) / 2
        for sign in (1, -1)
        for j in range(2)
    ]
    assert min(np.abs(np.array(drops) - drop)) < 1e-9
    assert drop < 0.4 or drop > 2.5


def test_heavy_tails_are_not_normal():
    posterior, approximation = fitted(
        [[0.0], [0.0]], [0, 1], prior=StudentT(1), fit_intercept=False
    )
    # log(1 + z^2) with curvature 2: sd 1/sqrt(2), so z^2 = 2 and the drop log 3, not 2.
    assert diagnostics.non_normality(posterior, 0, approximation) is None
    posterior, approximation = fitted([[0.0], [0.0]], [0, 1], prior=SHARP, fit_intercept=False)
    drop = diagnostics.non_normality(posterior, 0, approximation)
    assert drop == pytest.approx(np.log(1 + 4 / 0.02) * 0.01 / 2, rel=1e-6)


# -0.01 log(1 + z^2/0.02): curvature 1 at 0, yet all but flat beyond.
SHARP = LogDensity(
    lambda b: -0.01 * float(np.log1p(b * b / 0.02).sum()), lambda b: -0.02 * b / (0.02 + b * b)
)


# --- Chains -----------------------------------------------------------------------------------


def test_k_hat_is_told_beyond_its_limit():
    def found(k_hat):
        facts = {} if k_hat is None else {"k_hat": k_hat}
        return diagnostics.k_hat_finding(Chains(np.zeros((1, 1, 1)), facts=facts))

    assert found(None) is None
    assert found(0.7) is None
    assert found(0.71).value == 0.71
    assert found(np.inf).code == "k-hat"


def chains(values, sampler="nuts", **facts):
    return list(
        diagnostics.chain_findings(Draws(values, ("a", "b"), sampler, sampler, facts=facts))
    )


def test_chains_that_disagree_are_told():
    values = np.random.default_rng(0).standard_normal((4, 500, 2))
    assert chains(values) == []
    values[0, :, 1] += 3
    findings = {f.code: f for f in chains(values)}
    assert findings.keys() == {"r-hat", "low-ess"}
    assert findings["r-hat"].value > 1.1
    assert findings["r-hat"].message.startswith("R-hat of b is")
    assert findings["low-ess"].message.startswith("b has")


def test_slow_chains_are_told():
    rng = np.random.default_rng(0)
    values = np.zeros((4, 500, 2))
    for i in range(1, 500):
        values[:, i] = 0.95 * values[:, i - 1] + rng.standard_normal((4, 2))
    assert "low-ess" in [f.code for f in chains(values)]


@pytest.mark.parametrize("stuck", [[0], [0, 1]])
def test_chains_that_never_moved_are_told(stuck):
    values = np.random.default_rng(0).standard_normal((4, 500, 2))
    values[:, :, stuck] = 3.0
    [finding] = chains(values)
    assert (finding.code, finding.value) == ("r-hat", np.inf)
    assert finding.message.startswith(f"all draws of {', '.join('ab'[i] for i in stuck)} are alike")


def test_importance_weights_worth_few_draws_are_told_unless_few_were_asked_for():
    values = np.random.default_rng(0).standard_normal((4, 125, 2))
    [finding] = chains(values, sampler="importance", importance_ess=390.0)
    assert (finding.code, finding.value) == ("low-ess", 390.0)
    assert "ask for more draws" in finding.message
    assert chains(values, sampler="importance", importance_ess=400.0) == []
    assert chains(values[:, :100], sampler="importance", importance_ess=390.0) == []


def test_divergences_are_told():
    values = np.random.default_rng(0).standard_normal((4, 500, 2))
    [finding] = chains(values, divergences=3.0)
    assert (finding.code, finding.value) == ("divergences", 3.0)
    assert chains(values, divergences=0.0) == []


def test_an_unknown_code_is_refused():
    with pytest.raises(ValueError, match="unknown finding code 'cold'"):
        Finding("cold", "it is cold.", 1.0)
