"""The whole algorithm: rounds, folds, families, and what a fit finds to say about itself."""

import warnings

import numpy as np
import pytest
from plain import choose_discount, ones_first
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold

from tailoredbayes.fitting import Settings, Training, fit_tailored, make_folds
from tailoredbayes.inference import sample
from tailoredbayes.posterior import TailoredPosterior
from tailoredbayes.priors import Normal
from tailoredbayes.reference import stratified_folds
from tailoredbayes.weighting import NEVER

GRID = np.array([0.0, 4.0, 16.0])
# The normal approximation draws in no time; the search does not depend on the sampler.
QUICK = {"sampler": "laplace", "draws": 400, "discounts": GRID, "selection": "max"}


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 2))
    return x, rng.random(n) < x[:, 1] / (x[:, 0] + x[:, 1])


def fit(x, y, threshold=0.3, seed=0, training=None, standard=False, **settings):
    """One fit, or a family where ``threshold`` is a list."""
    several = isinstance(threshold, list)
    fits, plain = fit_tailored(
        Training(x, y, X=x, **(training or {})),
        threshold if several else [threshold],
        Settings(**{**QUICK, **settings}),
        np.random.default_rng(seed),
        standard=standard,
    )
    if standard:
        return fits, plain
    return fits if several else fits[0]


def codes(findings):
    return {finding.code for finding in findings}


def finding(fit, code):
    (found,) = (finding for finding in fit.findings if finding.code == code)
    return found


# --- The algorithm ----------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_one_fit_is_the_papers_steps_one_after_another(weighted):
    x, y = rows()
    weight = np.random.default_rng(1).integers(1, 3, len(y)).astype(float) if weighted else None
    found = fit(x, y, training={"sample_weight": weight})
    search, plain = found.search, np.ones(len(y)) if weight is None else weight
    # The table is that of a plain search with the same pi_u and folds.
    risk = found.reference.risk
    assert search.reference_risk is risk
    (table,) = search.tallies
    _, for_folds, _ = np.random.default_rng(0).spawn(3)
    folds = stratified_folds(y, 5, for_folds)
    expected, _ = choose_discount(ones_first(x), y, risk, 0.3, GRID, folds, weight)
    np.testing.assert_allclose(table.net_benefit[:, 0], expected, rtol=0, atol=1e-12)
    # lambda, the weights, and the posterior under them.
    assert search.discount == GRID[expected.mean(axis=1).round(12).argmax()]
    weights = plain * np.exp(-search.discount * (risk - 0.3) ** 2)
    assert found.weights == pytest.approx(weights, rel=1e-12)
    posterior = TailoredPosterior(x, y, weights=weights)
    alone = sample(posterior, "laplace", draws=400, random_state=3)
    assert found.draws.mean == pytest.approx(alone.mean, abs=6 * alone.sd.max() / np.sqrt(400))
    assert found.draws.sd == pytest.approx(alone.sd, rel=0.2)


def test_discount_0_needs_neither_stage_1_nor_a_search():
    x, y = rows()
    found = fit(x, y, discount=0.0)
    assert found.reference is None
    assert found.search.reference_risk is None
    assert found.search.tallies == ()
    assert (found.weights == 1).all()
    assert codes(found.findings) == set()


def test_a_given_discount_needs_no_search():
    x, y = rows()
    found = fit(x, y, discount=7.0)
    assert found.search.choice is None
    assert found.weights == pytest.approx(np.exp(-7 * (found.reference.risk - 0.3) ** 2))


def test_the_prior_of_the_search_is_that_of_the_fit():
    x, y = rows()
    loose, tight = fit(x, y), fit(x, y, prior=Normal(0, 0.1))
    assert (loose.reference.risk != tight.reference.risk).all()
    tables = [found.search.tallies[0].net_benefit for found in (loose, tight)]
    assert (tables[0] != tables[1]).any()
    assert np.abs(tight.draws.mean).max() < np.abs(loose.draws.mean).max()


def test_a_split_leaves_the_design_rows_out_of_everything_else():
    x, y = rows()
    found = fit(x, y, design=0.2, discount=8.0)
    used = found.reference.development
    assert (~used).sum() == 80
    assert (found.weights[~used] == 0).all()
    assert (found.weights[used] > 0).all()
    posterior = TailoredPosterior(x[used], y[used], weights=found.weights[used])
    alone = sample(posterior, "laplace", draws=400, random_state=3)
    assert found.draws.mean == pytest.approx(alone.mean, abs=6 * alone.sd.max() / np.sqrt(400))
    searched = fit(x, y, design=0.2)
    (table,) = searched.search.tallies
    assert (table.treated[~searched.reference.development] == 0).all()
    assert table.weight == 320


def test_risks_from_outside_skip_stage_1():
    x, y = rows()
    risk = np.clip(x[:, 1], 0.01, 0.99)
    found = fit(x, y, training={"reference_risk": risk})
    assert found.reference.source == "given"
    assert found.search.reference_risk.tolist() == risk.tolist()
    again = fit(x, y, training={"reference_risk": risk, "recalibrate": True})
    assert again.reference.recalibrated
    cox = again.reference.recalibration
    assert again.search.reference_risk == pytest.approx(cox.apply(risk))


def test_a_reference_of_another_kind_gives_pi_u():
    x, y = rows()
    found = fit(x, y, reference=LogisticRegression(C=0.01))
    standard = fit(x, y)
    assert np.ptp(found.reference.risk) < 0.5 * np.ptp(standard.reference.risk)
    assert "LogisticRegression" in found.reference.source


# --- Rounds -----------------------------------------------------------------------------------


def test_in_a_refinement_round_held_out_tailored_risks_take_the_place_of_pi_u():
    x, y = rows()
    found = fit(x, y, rounds=2, cv_repeats=2)
    first, second, third = found.search.tallies
    _, for_folds, _ = np.random.default_rng(0).spawn(3)
    folds = [stratified_folds(y, 5, for_folds) for _ in range(2)]
    risk = found.reference.risk
    for table in (first, second, third):
        searches = [choose_discount(ones_first(x), y, risk, 0.3, GRID, f) for f in folds]
        expected = np.stack([nb for nb, _ in searches], axis=1)
        np.testing.assert_allclose(table.net_benefit, expected, rtol=0, atol=1e-12)
        best = expected.mean(axis=(1, 2)).round(12).argmax()  # ties: the smaller
        risk = np.mean([held_out[:, best] for _, held_out in searches], axis=0)


def test_round_0_is_always_a_candidate():
    x, y = rows()
    without, with_ = fit(x, y), fit(x, y, rounds=1)
    assert np.array_equal(
        without.search.tallies[0].net_benefit, with_.search.tallies[0].net_benefit
    )
    choice = with_.search.choice
    assert choice.candidates.rounds.tolist() == [0, 0, 0, 1, 1, 1]
    assert choice.candidates.mean.max() >= without.search.choice.candidates.mean.max()


def test_the_weights_come_from_the_round_that_was_chosen():
    chosen = set()
    for seed in range(6):
        x, y = rows(seed=seed)
        found = fit(x, y, rounds=1, seed=seed)
        search = found.search
        chosen.add(search.round)
        assert search.round == search.choice.round
        same = search.reference_risk is found.reference.risk
        assert same == (search.round == 0)
        expected = np.exp(-search.discount * (search.reference_risk - 0.3) ** 2)
        assert found.weights == pytest.approx(expected)
    assert chosen == {0, 1}


def test_refinement_passes_over_design_rows():
    x, y = rows()
    found = fit(x, y, rounds=1, design=0.3)
    used = found.reference.development
    assert (found.weights[~used] == 0).all()
    assert np.isfinite(found.search.tallies[1].net_benefit).all()


# --- Families ---------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"rounds": 1}, {"design": 0.2}, {"discounts": None}])
def test_a_family_is_its_members_fitted_alone(settings):
    x, y = rows(n=600)
    thresholds = [0.2, 0.35, 0.6]
    family = fit(x, y, thresholds, **settings)
    for threshold, one in zip(thresholds, family, strict=True):
        alone = fit(x, y, threshold, **settings)
        assert one.search.threshold == threshold
        assert one.search.discount == alone.search.discount
        assert one.search.round == alone.search.round
        np.testing.assert_allclose(one.weights, alone.weights, rtol=1e-6)
        np.testing.assert_allclose(one.draws.values, alone.draws.values, rtol=1e-6, atol=1e-8)
        for table, table_alone in zip(one.search.tallies, alone.search.tallies, strict=True):
            np.testing.assert_allclose(table.net_benefit, table_alone.net_benefit, atol=1e-12)
        assert codes(one.findings) == codes(alone.findings)


def test_the_standard_model_beside_a_family_is_the_fit_without_discount():
    x, y = rows()
    _, standard = fit(x, y, [0.2, 0.5], standard=True)
    alone = fit(x, y, 0.5, discount=0.0)
    np.testing.assert_allclose(standard.values, alone.draws.values, rtol=1e-6, atol=1e-8)


# --- Same seed, same answer -------------------------------------------------------------------


@pytest.mark.parametrize("other", [{"threads": 1}, {"threads": 2}])
@pytest.mark.parametrize("sampler", ["laplace", "importance"])
def test_results_do_not_depend_on_threads(other, sampler):
    x, y = rows(n=5000)
    one, two = fit(x, y, sampler=sampler, rounds=1), fit(x, y, sampler=sampler, rounds=1, **other)
    assert np.array_equal(one.reference.risk, two.reference.risk)
    assert np.array_equal(one.search.tallies[1].net_benefit, two.search.tallies[1].net_benefit)
    assert np.array_equal(one.draws.values, two.draws.values)


def test_results_do_not_depend_on_n_jobs():
    x, y = rows()
    one, two = (fit(x, y, reference=LogisticRegression(), n_jobs=jobs) for jobs in (None, 2))
    assert np.array_equal(one.reference.risk, two.reference.risk)
    assert np.array_equal(one.draws.values, two.draws.values)


def test_another_seed_cuts_other_folds_and_draws_other_draws():
    x, y = rows()
    one, two, again = fit(x, y, seed=0), fit(x, y, seed=1), fit(x, y, seed=0)
    assert np.array_equal(one.draws.values, again.draws.values)
    assert (one.reference.risk != two.reference.risk).any()
    assert (one.draws.values != two.draws.values).all()


def test_progress_is_told_step_by_step():
    x, y = rows()
    steps = []
    fit_tailored(
        Training(x, y),
        [0.3],
        Settings(**QUICK, rounds=1),
        np.random.default_rng(0),
        progress=steps.append,
    )
    assert steps == [
        "reference risk",
        "discounts, round 0",
        "discounts, round 1",
        "final fit",
        "draws for threshold 0.3",
    ]


# --- Folds ------------------------------------------------------------------------------------


def folds_for(y, development=None, counted=None, **settings):
    every = np.ones(len(y), dtype=bool)
    return make_folds(
        y,
        every if development is None else development,
        Settings(**settings),
        np.random.default_rng(0),
        every if counted is None else counted,
    )


def test_folds_share_out_the_events_and_every_repeat_is_cut_anew():
    y = np.arange(200) < 63
    folds, said = folds_for(y, cv=4, cv_repeats=3)
    assert folds.shape == (200, 3)
    assert said == []
    for repeat in folds.T:
        events = np.bincount(repeat, weights=y, minlength=4)
        assert events.max() - events.min() <= 1
    assert (folds[:, 0] != folds[:, 1]).any()
    assert (folds[:, 1] != folds[:, 2]).any()


@pytest.mark.parametrize("swap", [False, True])
def test_fewer_events_than_folds_make_fewer_folds(swap):
    y = (np.arange(100) < 3) ^ swap
    folds, said = folds_for(y, cv=5)
    assert sorted(set(folds[:, 0])) == [0, 1, 2]
    assert np.bincount(folds[:, 0], weights=y ^ swap).tolist() == [1, 1, 1]
    assert {f.code: f.value for f in said} == {"fewer-folds": 3, "rare-events": 3}


def test_one_event_is_too_few_to_choose_by():
    with pytest.raises(ValueError, match="cv needs at least 2 events and 2 non-events"):
        folds_for(np.arange(100) < 1)


def test_rows_of_no_weight_are_no_events_to_choose_by():
    y = np.arange(200) < 100
    counted = ~y | (np.arange(200) < 3)
    folds, said = folds_for(y, counted=counted, cv=5)
    assert {f.code: f.value for f in said} == {"fewer-folds": 3, "rare-events": 3}
    assert "there are 3 rows of positive weight of the rarer outcome" in said[0].message
    # Each fold has an event that counts, and its share of the rows that do not.
    assert sorted(folds[:3, 0]) == [0, 1, 2]
    assert np.ptp(np.bincount(folds[~counted, 0])) <= 1
    with pytest.raises(ValueError, match=r"2 non-events of positive weight .* got 1 of one"):
        folds_for(y, counted=~y | (np.arange(200) < 1))


@pytest.mark.parametrize("design", ["crossfit", 0.3])
def test_rows_of_no_weight_might_as_well_not_be_there(design):
    # Forty non-events far away: did they count anywhere, the search would show it.
    x, y = rows(n=240)
    weight = np.where(np.arange(280) < 240, 1.0, 0.0)
    settings = {"design": design, "rounds": 1, "draws": 100, "discount": None}
    with_them = fit(
        np.vstack([x, np.full((40, 2), 50.0)]),
        np.append(y, np.zeros(40, bool)),
        training={"sample_weight": weight},
        **settings,
    )
    alone = fit(x, y, **settings)
    for a, b in zip(with_them.search.tallies, alone.search.tallies, strict=True):
        np.testing.assert_allclose(a.net_benefit, b.net_benefit, atol=1e-12)
        np.testing.assert_allclose(a.smooth, b.smooth, atol=1e-9)
    for a, b in zip(with_them.search.round_risks, alone.search.round_risks, strict=True):
        np.testing.assert_allclose(a[:240], b, atol=1e-9)
    np.testing.assert_allclose(with_them.weights[:240], alone.weights, atol=1e-9)
    assert not with_them.weights[240:].any()
    np.testing.assert_allclose(with_them.draws.mean, alone.draws.mean, rtol=1e-6)


def test_a_fold_of_design_rows_alone_is_none():
    y = np.arange(100) % 3 == 0
    development = np.arange(100) >= 25
    folds, _ = folds_for(y, development, cv=KFold(4))
    assert folds[:, 0].tolist() == np.repeat([NEVER, 0, 1, 2], 25).tolist()


def test_design_rows_are_in_no_fold():
    y = np.arange(100) % 3 == 0
    development = np.arange(100) >= 20
    folds, _ = folds_for(y, development, cv_repeats=2)
    assert (folds[:20] == NEVER).all()
    assert (folds[20:] >= 0).all()


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("design_rows", [0, 20])
def test_the_users_splits_are_taken_as_given(as_list, design_rows):
    y = np.arange(100) % 3 == 0
    splitter = KFold(4)
    cv = list(splitter.split(y)) if as_list else splitter
    development = np.arange(100) >= design_rows
    folds, _ = folds_for(y, development, cv=cv)
    expected = np.repeat(np.arange(4), 25)
    expected[:design_rows] = NEVER
    assert folds[:, 0].tolist() == expected.tolist()


def test_the_users_folds_may_hold_no_events():
    # Its net benefit is known, if of little use; what is learnt from has both classes.
    x, y = rows(n=300)
    quiet = np.flatnonzero(~y)[:10]
    rest = np.setdiff1d(np.arange(300), quiet)
    cv = [
        (rest, quiet),
        (np.r_[rest[::2], quiet], rest[1::2]),
        (np.r_[rest[1::2], quiet], rest[::2]),
    ]
    found = fit(x, y, cv=cv)
    assert np.isfinite(found.search.tallies[0].net_benefit).all()
    assert (found.search.tallies[0].net_benefit[:, 0, 0] <= 0).all()


def test_users_splits_must_hold_every_row_out_once_and_learn_from_the_others():
    y = np.arange(90) % 3 == 0
    thirds = np.array_split(np.arange(90), 3)
    twice = [(thirds[0], np.r_[thirds[1], thirds[2]]), (thirds[1], np.r_[thirds[0], thirds[2]])]
    with pytest.raises(ValueError, match="cv must hold every row out exactly once"):
        folds_for(y, cv=twice)
    gaps = [(thirds[(i + 1) % 3], thirds[i]) for i in range(3)]
    with pytest.raises(ValueError, match="cv must learn from every row that it does not hold out"):
        folds_for(y, cv=gaps)


def test_one_class_outside_a_fold_is_refused():
    y = np.arange(90) < 30
    with pytest.raises(ValueError, match="cv must leave events and non-events to learn from"):
        folds_for(y, cv=[(np.arange(30, 90), np.arange(30)), (np.arange(30), np.arange(30, 90))])


# --- Findings ---------------------------------------------------------------------------------


def test_a_healthy_fit_has_nothing_to_say():
    x, y = rows(n=2000)
    assert fit(x, y, discount=5.0).findings == ()


def test_discount_at_edge():
    # The larger discount of two is chosen for some cut into folds.
    x, y = rows(n=2000, seed=3)
    for seed in range(20):
        found = fit(x, y, seed=seed, discounts=np.array([0.0, 2.0]))
        at_edge = found.search.discount == 2
        assert ("discount-at-edge" in codes(found.findings)) == at_edge
        if at_edge:
            assert finding(found, "discount-at-edge").value == 2
            return
    pytest.fail("the last discount was never chosen")


def test_tailoring_did_not_help():
    x, y = rows()
    found = fit(x, y, discounts=np.array([0.0]))
    assert finding(found, "tailoring-did-not-help").value == 0
    assert "discount-at-edge" not in codes(found.findings)
    # The best discount gained less than its error: the number says how much.
    for seed in range(20):
        some = fit(x, y, seed=seed, discounts=np.array([0.0, 2.0]), selection="one_se")
        table = some.search.tallies[0].net_benefit.mean(axis=(1, 2))
        if some.search.discount == 0 and table[1] > table[0]:
            said = finding(some, "tailoring-did-not-help")
            assert said.value == pytest.approx(table[1] - table[0])
            assert f"{1000 * said.value:.1f} per 1000 at most" in said.message
            break
    else:
        pytest.fail("one_se never held back")
    # Not said of a discount of 0 that was asked for.
    assert codes(fit(x, y, discount=0.0).findings) == set()


def test_fewer_folds_and_rare_events():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 1))
    y = np.zeros(500, dtype=bool)
    y[rng.choice(500, 4, replace=False)] = True
    found = fit(x, y, threshold=0.01, sampler="laplace", prior=Normal(0, 1))
    assert finding(found, "fewer-folds").value == 4
    assert finding(found, "rare-events").value == 4
    assert finding(found, "rare-events").message.startswith("there are 4 rows")


def test_rare_events_count_the_rarer_outcome():
    y = np.arange(500) >= 49
    _, said = folds_for(y)
    assert [(f.code, f.value) for f in said] == [("rare-events", 49)]
    assert folds_for(np.arange(500) >= 50)[1] == []


def test_no_mass_near_threshold():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 1))
    y = rng.random(2000) < expit(0.3 * x[:, 0])  # risks between 0.25 and 0.75
    found = fit(x, y, threshold=0.02, discount=1.0)
    assert finding(found, "no-mass-near-threshold").value == 0
    near = fit(x, y, threshold=0.5, discount=1.0)
    assert "no-mass-near-threshold" not in codes(near.findings)
    risk = found.reference.risk
    t = float(np.quantile(risk, 0.995)) + 0.05  # half a percent within 0.05
    assert finding(fit(x, y, threshold=t, discount=1.0), "no-mass-near-threshold").value < 0.01


def test_small_effective_sample():
    x, y = rows(n=2000)
    found = fit(x, y, discount=2000.0)
    w = found.weights
    share = finding(found, "small-effective-sample").value
    assert share == pytest.approx(w.sum() ** 2 / (w @ w) / 2000)
    assert share < 0.1
    assert "small-effective-sample" not in codes(fit(x, y, discount=10.0).findings)


def test_orientation_reversal():
    # Near the threshold the risk falls with x; over all rows it rises.
    rng = np.random.default_rng(0)
    n = 6000
    x = rng.uniform(-3, 3, size=(n, 1))
    middle = np.abs(x[:, 0]) < 0.7
    p = np.where(middle, 0.5 - 0.6 * x[:, 0], np.where(x[:, 0] > 0, 0.95, 0.05))
    y = rng.random(n) < p
    risk = expit(2 * x[:, 0])
    found = fit(x, y, threshold=0.5, discount=200.0, training={"reference_risk": risk})
    assert finding(found, "orientation-reversal").value == pytest.approx(-1)
    assert found.draws.mean[1] < 0
    agreeing = fit(x, y, threshold=0.5, discount=1.0, training={"reference_risk": risk})
    assert "orientation-reversal" not in codes(agreeing.findings)
    assert agreeing.draws.mean[1] > 0


def test_reference_miscalibrated():
    x, y = rows(n=1000)
    off = {"reference_risk": 0.2 * x[:, 1] + 0.01}
    assert finding(fit(x, y, training=off, discount=5.0), "reference-miscalibrated").value > 1
    mended = fit(x, y, training={**off, "recalibrate": True}, discount=5.0)
    assert "reference-miscalibrated" not in codes(mended.findings)


def test_saturated_reference():
    x, y = rows(n=1000)
    risk = np.where(x[:, 1] > x[:, 0], 1.0, 0.3)
    found = fit(x, y, training={"reference_risk": risk}, discount=5.0)
    assert finding(found, "saturated-reference").value == pytest.approx((risk == 1).mean())


def test_what_the_sampler_finds_is_passed_on():
    # 40 rows a linear rule separates: NUTS, and words about it.
    x = np.linspace(-1, 1, 40)[:, None]
    found = fit(x, x[:, 0] > 0, threshold=0.5, discount=0.0, sampler="auto")
    assert {"separation", "laplace-refused"} <= codes(found.findings)
    assert found.draws.sampler == "nuts"


def test_nothing_is_warned_of_here():
    # Estimators tell; the workflow keeps records.
    x, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "small-effective-sample" in codes(fit(x, y, discount=2000.0).findings)


def test_splits_serve_both_stages():
    x, y = rows()
    splitter = StratifiedKFold(3, shuffle=True, random_state=1)
    one, two = fit(x, y, cv=splitter), fit(x, y, cv=list(splitter.split(x, y)))
    assert np.array_equal(one.reference.risk, two.reference.risk)
    assert np.array_equal(one.draws.values, two.draws.values)
