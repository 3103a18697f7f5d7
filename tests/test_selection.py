"""The search for the discount: every cell equals a fit alone, every rule a table by hand."""

import numpy as np
import pytest
from plain import choose_discount, ones_first, predictive_mean
from scipy.special import expit, logit
from scipy.stats import norm

from tailoredbayes.inference import find_modes
from tailoredbayes.posterior import TailoredPosterior
from tailoredbayes.reference import stratified_folds
from tailoredbayes.selection import (
    RULES,
    Candidates,
    HeldOut,
    Problem,
    Tally,
    check_discount,
    check_discounts,
    check_rule,
    choose,
    default_discounts,
    held_out_by_posterior,
    tally,
)
from tailoredbayes.weighting import NEVER

DISCOUNTS = np.array([0.0, 3.0, 20.0])
THRESHOLDS = (0.3, 0.6)


def rows(n=160, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    theta = expit(x[:, 0] - 0.5 * x[:, 1] - 0.4)
    return x, rng.random(n) < theta, theta


def folds_of(y, repeats=2, folds=4, seed=1):
    rng = np.random.default_rng(seed)
    return np.stack([stratified_folds(y, folds, rng) for _ in range(repeats)], axis=1)


def problems_of(risk, thresholds=THRESHOLDS, discounts=DISCOUNTS):
    return [Problem(t, (risk - t) ** 2, discounts) for t in thresholds]


# --- The tables -------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_fold_tables_are_those_of_refitting_each_cell_alone(weighted):
    x, y, risk = rows()
    folds = folds_of(y)
    weight = np.random.default_rng(2).integers(1, 4, len(y)).astype(float) if weighted else None
    problems = problems_of(risk)
    held_out = held_out_by_posterior(TailoredPosterior(x, y), problems, folds, weight)
    tables = tally(problems, y, folds, held_out, weight, keep_risk=True)
    z = ones_first(x)
    for problem, table in zip(problems, tables, strict=True):
        plain = [
            choose_discount(z, y, risk, problem.threshold, DISCOUNTS, folds[:, r], weight)
            for r in range(2)
        ]
        benefit = np.stack([nb for nb, _ in plain], axis=1)
        mean_risk = np.mean([held_out for _, held_out in plain], axis=0)
        treated = np.sum([held_out >= problem.threshold for _, held_out in plain], axis=0)
        np.testing.assert_allclose(table.risk, mean_risk, rtol=0, atol=1e-8)
        np.testing.assert_allclose(table.net_benefit, benefit, rtol=0, atol=1e-12)
        assert table.treated.tolist() == treated.tolist()
        assert table.weight == (len(y) if weight is None else weight.sum())
        assert table.repeats == 2


def test_each_problem_may_have_its_own_discounts():
    x, y, risk = rows()
    folds = folds_of(y, repeats=1)
    problems = [
        Problem(0.3, (risk - 0.3) ** 2, np.array([0.0, 7.0])),
        Problem(0.6, (risk - 0.6) ** 2, np.array([0.0])),
        Problem(0.7, (risk - 0.7) ** 2, np.array([0.0, 2.0, 7.0, 30.0])),
    ]
    base = TailoredPosterior(x, y)
    together = tally(problems, y, folds, held_out_by_posterior(base, problems, folds))
    for problem, table in zip(problems, together, strict=True):
        expected, _ = choose_discount(
            ones_first(x), y, risk, problem.threshold, problem.discounts, folds[:, 0]
        )
        np.testing.assert_allclose(table.net_benefit[:, 0], expected, rtol=0, atol=1e-12)


def test_rows_that_never_take_part_might_as_well_not_be_there():
    x, y, risk = rows()
    rng = np.random.default_rng(3)
    never = rng.random(len(y)) < 0.25
    folds = folds_of(y)
    folds[never] = NEVER
    distance = (np.where(never, np.nan, risk) - 0.3) ** 2  # design rows have no risk
    problem = Problem(0.3, distance, DISCOUNTS)
    (table,) = tally(
        [problem],
        y,
        folds,
        held_out_by_posterior(TailoredPosterior(x, y), [problem], folds),
        keep_risk=True,
    )
    kept = ~never
    fewer = Problem(0.3, distance[kept], DISCOUNTS)
    (alone,) = tally(
        [fewer],
        y[kept],
        folds[kept],
        held_out_by_posterior(TailoredPosterior(x[kept], y[kept]), [fewer], folds[kept]),
        keep_risk=True,
    )
    np.testing.assert_allclose(table.risk[kept], alone.risk, rtol=0, atol=1e-8)
    np.testing.assert_allclose(table.net_benefit, alone.net_benefit, rtol=0, atol=1e-12)
    assert table.weight == alone.weight == kept.sum()
    assert (table.gain[never] == 0).all()
    assert (table.treated[never] == 0).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_held_out_risks_do_not_depend_on_threads(threads):
    x, y, risk = rows(n=3000)
    folds, problems = folds_of(y, repeats=1), problems_of(risk)

    def risks(threads):
        base = TailoredPosterior(x, y, threads=threads)
        return [found.risks for found in held_out_by_posterior(base, problems, folds)]

    for one, other in zip(risks(threads), risks(None), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_covariates_far_from_zero_are_predicted_as_near_ones(fit_intercept):
    # The engine shifts far columns; what it predicts must not know.
    x, y, risk = rows()
    x = x + np.array([0.0, 1e5]) if fit_intercept else x
    folds = folds_of(y, repeats=1)
    problem = Problem(0.3, (risk - 0.3) ** 2, DISCOUNTS)
    base = TailoredPosterior(x, y, fit_intercept=fit_intercept)
    for found in held_out_by_posterior(base, [problem], folds):
        train = folds[:, 0] != found.fold
        for i, discount in enumerate(DISCOUNTS):
            w = np.exp(-discount * problem.distance[train])
            alone = TailoredPosterior(x[train], y[train], weights=w, fit_intercept=fit_intercept)
            modes = find_modes(alone)
            root = alone.coefficient_map() @ modes.approximation(0).root
            mode = alone.coefficients(modes.theta)[:, 0]
            z = ones_first(x) if fit_intercept else x
            centred = z[found.rows] @ mode
            sd = np.linalg.norm(z[found.rows] @ root, axis=1)
            expected = predictive_mean(
                np.column_stack([centred, sd]), np.array([1.0, 0.0]), np.diag([0.0, 1.0])
            )
            np.testing.assert_allclose(found.risks[0][:, i], expected, rtol=0, atol=1e-6)


def by_hand(risks, y, threshold=0.5, weight=None, discounts=(0.0, 1.0)):
    """Tally of one held-out fold per element of ``risks``: (rows, discounts) each."""
    sizes = [len(risk) for risk in risks]
    folds = np.repeat(np.arange(len(risks)), sizes).astype(np.int16)[:, None]
    problem = Problem(threshold, np.zeros(len(y)), np.array(discounts))
    held_out = (
        HeldOut(0, fold, np.flatnonzero(folds[:, 0] == fold), [np.array(risk)])
        for fold, risk in enumerate(risks)
    )
    (table,) = tally([problem], np.array(y, dtype=bool), folds, held_out, weight)
    return table


def test_net_benefit_by_hand_and_ties_treat():
    # t = 0.2: a false alarm costs 1/4. Risk 0.2 is treated.
    table = by_hand(
        [[[0.2, 0.1], [0.9, 0.9], [0.1, 0.9]], [[0.3, 0.0], [0.19999, 0.2]]],
        [1, 0, 0, 0, 1],
        threshold=0.2,
    )
    assert table.net_benefit[:, 0] == pytest.approx(
        np.array([[(1 - 0.25) / 3, -0.25 / 2], [-0.5 / 3, 1 / 2]])
    )
    assert table.gain == pytest.approx([1, -0.25, -0.25, -0.25, 1])
    assert table.treated.tolist() == [[1, 0], [1, 1], [0, 1], [1, 0], [0, 1]]
    assert table.risk is None


def test_weights_count_in_the_net_benefit_as_repeated_rows_do():
    risk = np.array([[0.2, 0.7], [0.9, 0.4], [0.6, 0.6], [0.1, 0.8]])
    times = np.array([2, 1, 3, 1])
    weighted = by_hand([risk], [1, 0, 1, 0], weight=times.astype(float))
    repeated = by_hand([risk.repeat(times, axis=0)], np.repeat([1, 0, 1, 0], times))
    assert weighted.net_benefit == pytest.approx(repeated.net_benefit)
    assert weighted.weight == repeated.weight


def test_a_fold_without_weight_is_passed_over():
    risk = [[[0.9, 0.1], [0.2, 0.7]], [[0.9, 0.9], [0.9, 0.9]]]
    table = by_hand(risk, [1, 0, 0, 1], weight=np.array([1.0, 1.0, 0.0, 0.0]))
    assert np.isnan(table.net_benefit[:, 0, 1]).all()
    choice = choose([table], "max")
    assert choice.candidates.mean == pytest.approx([0.5, -0.5])
    assert choice.discount == 0


def test_the_smoothed_rule_is_a_normal_cdf_in_the_logit():
    rng = np.random.default_rng(0)
    risk, y, times = rng.random((50, 2)), rng.random(50) < 0.4, rng.integers(0, 4, 50)
    table = by_hand([risk], y, threshold=0.3, weight=times.astype(float))
    for j in range(2):
        # A row of weight w is w rows.
        eta, event = logit(risk[:, j]).repeat(times), y.repeat(times)
        n = len(eta)
        soft = norm.cdf((eta - logit(0.3)) / (0.53 * eta.std() * n**-0.2))
        gain = np.where(event, 1, -0.3 / 0.7)
        assert table.smooth[j, 0, 0] == pytest.approx((gain * soft).sum() / n)


def test_where_all_risks_agree_the_smoothed_rule_is_the_rule():
    table = by_hand([[[0.5, 0.4]] * 4], [1, 0, 0, 0], threshold=0.5)
    assert table.smooth[:, 0, 0].tolist() == table.net_benefit[:, 0, 0].tolist() == [-0.5, 0]


def test_risks_of_0_and_1_are_smoothed_without_a_word():
    table = by_hand([[[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]], [1, 0, 1])
    assert np.isfinite(table.smooth).all()


def test_the_frame_holds_every_cell_once():
    x, y, risk = rows()
    folds, problems = folds_of(y), problems_of(risk)
    held_out = held_out_by_posterior(TailoredPosterior(x, y), problems, folds)
    table = tally(problems, y, folds, held_out)[1]
    frame = table.to_frame(round_=2)
    assert len(frame) == 3 * 2 * 4
    assert set(frame["threshold"]) == {0.6}
    assert set(frame["round"]) == {2}
    keys = ["discount", "repeat", "fold"]
    assert not frame.duplicated(keys).any()
    one = frame.set_index(keys).loc[(3.0, 1, 2)]
    assert one["net_benefit"] == table.net_benefit[1, 1, 2]
    assert one["smooth_net_benefit"] == table.smooth[1, 1, 2]


def test_repeats_are_averaged():
    x, y, risk = rows()
    folds, problems = folds_of(y, repeats=3), problems_of(risk, (0.3,))
    base = TailoredPosterior(x, y)
    (whole,) = tally(
        problems, y, folds, held_out_by_posterior(base, problems, folds), keep_risk=True
    )
    parts = [
        tally(problems, y, one, held_out_by_posterior(base, problems, one), keep_risk=True)[0]
        for one in (folds[:, [r]] for r in range(3))
    ]
    separately = np.concatenate([part.net_benefit for part in parts], axis=1)
    np.testing.assert_allclose(whole.net_benefit, separately, rtol=0, atol=1e-12)
    np.testing.assert_allclose(whole.risk, np.mean([p.risk for p in parts], axis=0), atol=1e-8)
    assert (whole.treated == sum(part.treated for part in parts)).all()
    candidates = choose([whole], "max").candidates
    assert candidates.mean == pytest.approx(separately.mean(axis=(1, 2)))
    assert candidates.repeats == 3


# --- Rules ------------------------------------------------------------------------------------


def candidates(mean, smooth=None, treated=None, y=None, threshold=0.5, discounts=None):
    """Hand-made candidates of one round; the decisions of ``treated`` are (rows, candidates)."""
    m = len(mean)
    y = np.array([1, 0]) if y is None else np.asarray(y)
    return Candidates(
        threshold=threshold,
        rounds=np.zeros(m, dtype=np.intp),
        discounts=np.arange(m) * 10.0 if discounts is None else np.array(discounts),
        mean=np.array(mean, dtype=float),
        smooth=np.array(mean if smooth is None else smooth, dtype=float),
        treated=np.zeros((len(y), m), np.int16) if treated is None else np.array(treated, np.int16),
        gain=np.where(y, 1.0, -threshold / (1 - threshold)),
        weight=float(len(y)),
        repeats=1,
    )


@pytest.mark.parametrize(
    ("mean", "index"),
    [
        ([0.1, 0.3, 0.2], 1),
        ([0.3, 0.3, 0.3], 0),
        ([0.1, 0.3, 0.3], 1),
        ([0.1, 0.3, 0.3 + 1e-14], 1),  # a tie but for rounding
        ([0.1, 0.3, 0.3 + 1e-9], 2),
        ([-0.2, -0.1, -0.3], 1),
    ],
)
def test_max_takes_the_highest_mean_and_the_smaller_of_ties(mean, index):
    assert RULES["max"](candidates(mean)) == index
    assert RULES["smooth"](candidates([0] * 3, smooth=mean)) == index


def decisions(y, differences):
    """Treat all rows; candidate j leaves ``differences[j]`` rows of the right kind untreated."""
    treated = np.ones((len(y), len(differences)), np.int16)
    events = np.flatnonzero(y)
    for j, count in enumerate(differences):
        treated[events[:count], j] = 0
    return treated


def test_one_se_takes_the_first_within_a_standard_error_of_the_best():
    y = np.arange(100) < 40
    treated = decisions(y, [9, 2, 2, 0])
    treated[-1, 2] = 0
    # At t = 0.5 an event missed and a false alarm spared weigh the same. Candidate 2 misses two
    # events and spares one alarm: three rows differ, by 1 in all. Candidate 1's two differ by 2.
    table = candidates([-0.29, -0.22, -0.21, -0.20], treated=treated, y=y)
    deficit, error = table.deficit(3)
    assert deficit == pytest.approx([0.09, 0.02, 0.01, 0])
    assert error[1:] == pytest.approx(
        [np.sqrt(100 / 99 * (2 - 4 / 100)) / 100, np.sqrt(100 / 99 * (3 - 1 / 100)) / 100, 0]
    )
    assert RULES["one_se"](table) == 2
    assert RULES["max"](table) == 3


def test_one_se_prefers_standard_bayes_when_it_cannot_tell():
    y = np.arange(100) < 40
    # The first treats 3 fewer events and 3 fewer others: at t = 0.5 no difference on average.
    treated = np.ones((100, 2), np.int16)
    treated[:3, 0] = treated[-2:, 0] = 0
    mean = [(37 - 58) / 100, (40 - 60) / 100]
    table = candidates(mean, treated=treated, y=y)
    deficit, error = table.deficit(1)
    assert deficit[0] == pytest.approx(0.01)
    assert error[0] > 0.02
    assert RULES["one_se"](table) == 0


@pytest.mark.parametrize("weighted", [False, True])
def test_the_deficit_is_a_paired_comparison_over_rows(weighted):
    x, y, risk = rows()
    times = np.random.default_rng(5).integers(0, 4, len(y)) if weighted else np.ones(len(y), int)
    weight = times.astype(float) if weighted else None
    folds, problems = folds_of(y, repeats=3), problems_of(risk, (0.3,))
    held_out = held_out_by_posterior(TailoredPosterior(x, y), problems, folds, weight)
    choice = choose(tally(problems, y, folds, held_out, weight), "max")
    deficit, error = choice.candidates.deficit(2)
    assert error[0] > 0
    treated = choice.candidates.treated.astype(int)
    for i in range(3):
        differences = []
        for row in range(len(y)):
            gain = 1 if y[row] else -0.3 / 0.7
            more = (treated[row, 2] - treated[row, i]) / 3  # of three repeats
            differences += [gain * more] * times[row]  # a row of weight w is w rows
        n = len(differences)
        assert deficit[i] == pytest.approx(np.mean(differences), abs=1e-15)
        standard_error = np.std(differences, ddof=1) / np.sqrt(n)
        assert error[i] == pytest.approx(standard_error, rel=1e-12, abs=1e-15)


def test_rows_left_out_do_not_narrow_the_deficits_error():
    y = np.arange(100) < 40
    lost = [5, 0]
    few = candidates([-0.25, -0.2], treated=decisions(y, lost), y=y)
    padded = Candidates(
        threshold=few.threshold,
        rounds=few.rounds,
        discounts=few.discounts,
        mean=few.mean,
        smooth=few.smooth,
        treated=np.vstack([few.treated, np.zeros((300, 2), np.int16)]),
        gain=np.r_[few.gain, np.zeros(300)],
        weight=few.weight,
        repeats=1,
    )
    assert padded.deficit(1)[0].tolist() == few.deficit(1)[0].tolist()
    assert padded.deficit(1)[1].tolist() == few.deficit(1)[1].tolist()


def tally_of(means, discounts):
    """A tally of two folds whose average is ``means``."""
    means = np.array(means)
    shape = (len(means), 1, 2)
    benefit = np.broadcast_to(means[:, None, None], shape) + np.array([-0.01, 0.01])
    return Tally(
        0.5,
        np.array(discounts, dtype=float),
        benefit,
        benefit[::-1],
        np.zeros((4, len(means)), np.int16),
        np.array([1.0, 1, -1, -1]),
        4.0,
    )


def test_rounds_and_discounts_are_chosen_together():
    first, second = tally_of([0.1, 0.3, 0.2], [0, 5, 10]), tally_of([0.1, 0.4], [0, 7])
    choice = choose([first, second], "max")
    assert (choice.round, choice.discount, choice.index) == (1, 7, 4)
    assert choice.at_edge
    again = choose([first, tally_of([0.1, 0.3], [0, 7])], "max")
    assert (again.round, again.discount) == (0, 5)  # ties go to the earlier round
    assert not again.at_edge
    assert choice.candidates.rounds.tolist() == [0, 0, 0, 1, 1]


def test_the_smooth_rule_looks_at_the_smoothed_table():
    choice = choose([tally_of([0.1, 0.3, 0.2, 0.0], [0, 5, 10, 20])], "smooth")
    assert choice.discount == 10  # the reversed table's best


def test_a_grid_of_one_has_no_edge():
    assert not choose([tally_of([0.1], [0])], "max").at_edge
    assert choose([tally_of([0.1, 0.2], [0, 1])], "max").at_edge
    assert not choose([tally_of([0.2, 0.1], [0, 1])], "max").at_edge


@pytest.mark.parametrize(("missed", "spared", "index"), [(3, 0, 1), (1, 3, 0), (1, 0, 0)])
def test_guarded_leaves_standard_bayes_only_for_a_clear_gain(missed, spared, index):
    # At t = 0.5 standard Bayes misses some events that the second treats, and spares some alarms.
    y = np.arange(100) < 40
    treated = decisions(y, [missed, 0])
    treated[100 - spared :, 0] = 0
    gain = (missed - spared) / 100
    error = np.sqrt(100 / 99 * (missed + spared - (missed - spared) ** 2 / 100)) / 100
    table = candidates([0.1, 0.1 + gain], smooth=[0.1, 0.2], treated=treated, y=y)
    deficits, errors = table.deficit(1)
    assert (deficits[0], errors[0]) == pytest.approx((gain, error))
    assert RULES["guarded"](table) == index
    assert RULES["smooth"](table) == 1


def test_guarded_stays_with_standard_bayes_when_that_is_best():
    assert RULES["guarded"](candidates([0.1, 0.1], smooth=[0.2, 0.1])) == 0


@pytest.mark.parametrize("rule", ["best", None, 1, "Max"])
def test_an_unknown_rule_is_refused(rule):
    with pytest.raises(
        ValueError, match=r"selection must be one of 'max', 'one_se', 'smooth'.* got"
    ):
        check_rule(rule)


# --- Grids ------------------------------------------------------------------------------------


@pytest.mark.parametrize("grid", [[20, 5], [5, 20, 5], (0, 5, 20), np.array([20, 0, 5.0])])
def test_no_discount_is_in_every_grid_and_grids_ascend(grid):
    assert check_discounts(grid).tolist() == [0, 5, 20]


@pytest.mark.parametrize("grid", [[-1], [np.nan], [np.inf], ["5"], [[1, 2]]])
def test_a_grid_of_anything_else_is_refused(grid):
    with pytest.raises((ValueError, TypeError), match="discount_grid"):
        check_discounts(grid)


def test_an_empty_grid_is_refused_by_name():
    with pytest.raises(ValueError, match="discount_grid"):
        check_discounts([])


def test_a_discount_is_a_number_or_cv():
    assert check_discount("cv") is None
    assert check_discount(5) == 5
    for wrong in ("max", -1, np.nan, np.inf, None, [1]):
        with pytest.raises((ValueError, TypeError), match="discount"):
            check_discount(wrong)


def test_the_default_grid_ends_where_10_weighted_events_are_left():
    geometric = [0, *np.geomspace(1, 100, 8)]
    n = 1000
    y = np.arange(n) < 300
    # All rows at the same distance h: the weight of the events is 300 exp(-lambda h).
    h = np.full(n, np.log(30) / 20)  # at lambda = 20, ten
    assert default_discounts(h, y, 3).tolist() == [d for d in geometric if d <= 20]
    assert default_discounts(h, ~y, 3).tolist() == [d for d in geometric if d <= 20]
    # Half the weight, half the events.
    half = default_discounts(h, y, 3, np.full(n, 0.5))
    assert half.tolist() == [d for d in geometric if d <= 20 * np.log(15) / np.log(30)]
    # Near the threshold nothing is cut.
    assert default_discounts(np.zeros(n), y, 3).tolist() == geometric


def test_the_default_grid_leaves_five_rows_a_coefficient():
    geometric = [0, *np.geomspace(1, 100, 8)]
    y = np.arange(1000) < 500
    h = np.full(1000, np.log(1000 / 150) / 10)  # at lambda = 10, 150 rows: 30 coefficients
    assert default_discounts(h, y, 30).tolist() == [d for d in geometric if d <= 10]
    assert len(default_discounts(h, y, 3)) > len(default_discounts(h, y, 30))


def test_the_default_grid_passes_over_design_rows():
    y = np.arange(1000) < 500
    h = np.full(1000, 0.1)
    hidden = h.copy()
    hidden[50:950] = np.nan
    keep = ~np.isnan(hidden)
    assert (
        default_discounts(hidden, y, 3).tolist() == default_discounts(h[keep], y[keep], 3).tolist()
    )
    assert len(default_discounts(hidden, y, 3)) < len(default_discounts(h, y, 3))


def test_with_few_events_only_standard_bayes_is_left():
    assert default_discounts(np.full(100, 0.5), np.arange(100) < 9, 2).tolist() == [0]
