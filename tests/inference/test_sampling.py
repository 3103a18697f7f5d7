"""One door to all methods: what is chosen is recorded, what is refused says why."""

import numpy as np
import pytest

from tailoredbayes import (
    Laplace,
    LogDensity,
    Normal,
    StudentT,
    TailoredPosterior,
    TailoringWarning,
    find_modes,
    sample,
)
from tailoredbayes.inference import SAMPLERS, LaplaceRefusedError, sampling
from tailoredbayes.inference.draws import Chains

SEPARATED = np.array([*range(-6, 0), *range(1, 7)], dtype=float)[:, None]


def data(n=300, d=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    y = (rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    return x, y, 0.2 + 0.8 * rng.random(n)


@pytest.fixture(scope="module")
def posterior():
    x, y, weights = data()
    return TailoredPosterior(x, y, weights=weights, names=["age", "size"])


@pytest.fixture(scope="module")
def separated():
    return TailoredPosterior(SEPARATED, SEPARATED[:, 0] > 0, prior=Normal(0, 10))


def codes(draws):
    return [finding.code for finding in draws.findings]


def told_and_drawn(*args, **options):
    with pytest.warns(TailoringWarning) as told:
        drawn = sample(*args, **options)
    return "\n".join(str(warning.message) for warning in told), drawn


# --- What comes back --------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_sampler_returns_the_same_record(sampler, posterior):
    drawn = sample(posterior, sampler, draws=4000, random_state=0)
    assert (drawn.sampler, drawn.requested) == (sampler, sampler)
    assert drawn.values.shape[0] * drawn.values.shape[1] == 4000
    assert drawn.values.shape[2] == 3
    assert drawn.values.dtype == np.float64
    assert drawn.names == ("intercept", "age", "size")
    assert np.isfinite(drawn.values).all()
    assert drawn.findings == ()
    assert list(drawn.summary().index) == list(drawn.names)
    assert drawn.to_datatree()["posterior"]["coefficients"].shape == drawn.values.shape


@pytest.mark.parametrize("sampler", [*SAMPLERS, "auto"])
def test_the_same_seed_gives_the_same_draws_for_any_number_of_threads(sampler):
    x, y, weights = data(n=12_000)
    one, two, other = (
        sample(
            TailoredPosterior(x, y, weights=weights, threads=threads),
            sampler,
            draws=200,
            random_state=seed,
            warn=False,
        ).values
        for threads, seed in ((1, 5), (2, 5), (1, 6))
    )
    assert (one == two).all()
    assert (one != other).any()


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_generator_serves_as_a_seed(sampler, posterior):
    a, b = (
        sample(posterior, sampler, draws=40, random_state=seed, warn=False).values
        for seed in (7, np.random.default_rng(7))
    )
    assert (a == b).all()


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("draws", [1, 7, 30])
def test_any_number_of_draws_may_be_asked_for(sampler, draws, posterior):
    drawn = sample(posterior, sampler, draws=draws, random_state=0, warn=False)
    assert drawn.flat.shape == (draws, 3)


def test_a_column_is_the_posterior_of_its_weights():
    x, y, weights = data()
    both = TailoredPosterior(x, y, weights=np.column_stack([np.ones(300), weights]))
    alone = TailoredPosterior(x, y, weights=weights)
    a = sample(both, "laplace", column=1, draws=100, random_state=0)
    b = sample(alone, "laplace", draws=100, random_state=0)
    c = sample(both, "laplace", column=1, draws=100, random_state=0, modes=find_modes(both))
    np.testing.assert_allclose(a.values, b.values, atol=1e-9)
    np.testing.assert_allclose(c.values, b.values, atol=1e-6)


def test_draws_come_in_the_users_coefficients():
    x, y, _ = data()
    prior = Normal(0, [1e9, 5, 5])
    near = sample(TailoredPosterior(x, y, prior=prior), "importance", draws=4000, random_state=0)
    far = sample(
        TailoredPosterior(x + np.array([1e6, 0]), y, prior=prior),
        "importance",
        draws=4000,
        random_state=0,
    )
    error = 5 * np.hypot(near.mcse(), far.mcse())
    moved = far.flat[:, 0] + 1e6 * far.flat[:, 1]
    assert abs(moved.mean() - near.mean[0]) < error[0]
    assert (np.abs(far.mean - near.mean)[1:] < error[1:]).all()
    assert far.sd[1:] == pytest.approx(near.sd[1:], rel=0.1)


# --- What "auto" chooses ----------------------------------------------------------------------


def test_auto_takes_importance_where_it_can(posterior):
    drawn = sample(posterior, draws=4000, random_state=0)
    assert (drawn.sampler, drawn.requested) == ("importance", "auto")
    assert drawn.facts["k_hat"] < 0.7
    tree = drawn.to_datatree()
    assert tree["posterior"].attrs["sampler"] == "importance"
    assert tree["posterior"].attrs["requested_sampler"] == "auto"
    direct = sample(posterior, "importance", draws=4000, random_state=0)
    assert (drawn.values == direct.values).all()


def test_auto_takes_nuts_where_laplace_must_be_refused(separated):
    told, drawn = told_and_drawn(separated, draws=400, random_state=0)
    assert "laplace-refused: the outcomes are separated and the posterior is far from" in told
    assert "NUTS was used instead" in told
    assert (drawn.sampler, drawn.requested) == ("nuts", "auto")
    assert {"separation", "laplace-refused", "few-weighted-events"} <= set(codes(drawn))
    direct = sample(separated, "nuts", draws=400, random_state=0, warn=False)
    assert (drawn.values == direct.values).all()


@pytest.mark.parametrize("sampler", ["laplace", "importance"])
def test_methods_built_on_the_normal_are_refused_where_it_does_not_fit(sampler, separated):
    with pytest.raises(LaplaceRefusedError) as refusal:
        sample(separated, sampler, draws=100)
    message = str(refusal.value)
    assert message.startswith("the outcomes are separated and the posterior is far from normal")
    assert message.endswith("use sampler='nuts' or 'auto'")


def test_separation_alone_is_no_ground_for_refusal():
    x, y, _ = data(n=200)
    y = (x[:, 0] > 0).astype(int)
    posterior = TailoredPosterior(x, y, prior=Normal(0, 1))
    drawn = sample(posterior, "importance", draws=1000, random_state=0, warn=False)
    assert "separation" in codes(drawn)
    assert drawn.sampler == "importance"
    assert drawn.facts["k_hat"] < 0.7


def fake_importance(k_hat):
    def draw(posterior, column, approximation, *, draws, rng):
        return Chains(np.zeros((1, draws, posterior.n_coefficients)), facts={"k_hat": k_hat})

    return draw


def test_auto_takes_nuts_where_k_hat_is_high(posterior, monkeypatch):
    monkeypatch.setitem(sampling.SAMPLERS, "importance", fake_importance(0.9))
    told, drawn = told_and_drawn(posterior, draws=400, random_state=0)
    assert "k-hat is 0.90; NUTS was used instead" in told
    assert (drawn.sampler, drawn.requested) == ("nuts", "auto")
    [finding] = [f for f in drawn.findings if f.code == "laplace-refused"]
    assert finding.value == 0.9


def test_importance_asked_for_is_kept_and_its_k_hat_told(posterior, monkeypatch):
    monkeypatch.setitem(sampling.SAMPLERS, "importance", fake_importance(0.9))
    told, drawn = told_and_drawn(posterior, "importance", draws=100, random_state=0)
    assert "importance weights have k-hat 0.90" in told
    assert drawn.sampler == "importance"
    assert "k-hat" in codes(drawn)


# --- What is told -----------------------------------------------------------------------------


def test_findings_are_kept_when_they_are_not_told(separated, recwarn):
    drawn = sample(separated, "nuts", draws=200, random_state=0, warn=False)
    assert "separation" in codes(drawn)
    # The first import of nutpie on a day may warn of the arviz package it brings along.
    assert not [told for told in recwarn if issubclass(told.category, TailoringWarning)]


def test_each_finding_is_told_once_and_points_at_the_caller(separated):
    with pytest.warns(TailoringWarning) as told:
        drawn = sample(separated, "nuts", draws=200, random_state=0)
    assert [str(w.message) for w in told] == [str(f) for f in drawn.findings]
    assert {w.filename for w in told} == {__file__}


def test_nearly_collinear_columns_are_told():
    x, y, _ = data()
    x[:, 1] = x[:, 0] + 1e-4 * x[:, 1]
    drawn = sample(TailoredPosterior(x, y), "laplace", draws=100, random_state=0, warn=False)
    assert "collinearity" in codes(drawn)


def test_a_flat_prior_on_separated_outcomes_is_refused():
    flat = LogDensity(lambda b: 0.0, np.zeros_like)
    for fit_intercept in (True, False):
        posterior = TailoredPosterior(
            SEPARATED, SEPARATED[:, 0] > 0, prior=flat, fit_intercept=fit_intercept
        )
        with pytest.raises(ValueError, match=r"the prior is flat|collinear"):
            sample(posterior, draws=100)


def test_a_proper_prior_with_a_kink_is_not_called_flat():
    prior = LogDensity(lambda b: -float(np.abs(b).sum()))
    posterior = TailoredPosterior(SEPARATED, SEPARATED[:, 0] > 0, prior=prior, fit_intercept=False)
    drawn = sample(posterior, "metropolis", draws=400, random_state=0, warn=False)
    assert (drawn.flat > -1).all()
    assert "separation" in codes(drawn)


@pytest.mark.parametrize(
    "prior",
    [
        Normal(0, 1),
        StudentT(3),
        pytest.param(Laplace(0, 1), marks=pytest.mark.slow),  # 20 s of NUTS over 21 kinks
    ],
    ids=["normal", "student", "laplace"],
)
def test_five_rows_with_twenty_columns_give_a_finite_answer_with_findings(prior):
    x = np.random.default_rng(0).standard_normal((5, 20))
    posterior = TailoredPosterior(x, [0, 1, 0, 1, 1], prior=prior)
    drawn = sample(posterior, draws=100, random_state=0, warn=False)
    assert np.isfinite(drawn.values).all()
    assert {"separation", "few-weighted-rows", "few-weighted-events"} <= set(codes(drawn))


def test_two_rows_give_a_finite_answer():
    posterior = TailoredPosterior([[0.0], [1.0]], [0, 1], prior=Normal(0, 1))
    drawn = sample(posterior, draws=400, random_state=0, warn=False)
    assert np.isfinite(drawn.values).all()


# --- Bad input --------------------------------------------------------------------------------


def test_bad_arguments_are_refused(posterior):
    with pytest.raises(ValueError, match=r"sampler must be 'auto' or one of 'laplace', .*'gibbs'"):
        sample(posterior, "gibbs")
    for draws in (0, -5, 2.5, np.nan, np.inf):
        with pytest.raises(ValueError, match="draws must be"):
            sample(posterior, draws=draws)
    with pytest.raises(TypeError, match="draws must be"):
        sample(posterior, draws="many")
    for column in (-1, 1, "a"):
        with pytest.raises(ValueError, match=f"column must be from 0 to 0, got {column!r}"):
            sample(posterior, column=column)
    assert sample(posterior, "laplace", draws=10.0, warn=False).flat.shape == (10, 3)
