"""Decision boundaries: on the boundary a risk equals the threshold, draw by draw."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

import tailoredbayes as tb
from tailoredbayes.evaluation.boundaries import _crossing
from tailoredbayes.evaluation.smoothing import smoothed_share
from tailoredbayes.predictive import expit
from tailoredbayes.studies.generators import Simulation1, Simulation2, Simulation3

X1 = np.linspace(0, 1, 7)


def draws(values, names=("intercept", "x0", "x1")):
    return tb.Draws(np.atleast_3d(values)[None] if np.ndim(values) == 2 else values, names, "", "")


@pytest.mark.parametrize("simulation", [Simulation1(0.5), Simulation2(0.3), Simulation3(0.1)])
@pytest.mark.parametrize("t", [0.1, 0.5, 0.7])
def test_the_true_risk_on_an_optimal_boundary_is_the_threshold(simulation, t):
    (curve,) = tb.optimal_boundaries(simulation, t, np.linspace(-3, 6, 50)).curves
    for x2 in curve.x2:
        points = np.column_stack([curve.x1, x2])
        inside = np.isfinite(x2)
        if isinstance(simulation, Simulation1):  # defined on the unit square alone
            inside &= (points >= 0).all(axis=1) & (points <= 1).all(axis=1)
            inside &= curve.x1 > 0  # at the origin the risk has no limit
        assert inside.any()
        assert_allclose(simulation.risk(points[inside]), t, rtol=1e-9)


def test_branches_that_meet_are_followed_to_where_they_do():
    (curve,) = tb.optimal_boundaries(Simulation2(0.5), 0.3, np.linspace(-4, 5, 20)).curves
    lower, upper = curve.x2
    there = np.isfinite(lower)
    ends = np.flatnonzero(there[:-1] != there[1:])
    assert len(ends) == 2  # the branches are gone between two points
    assert_allclose(lower[ends[0]], upper[ends[0]], atol=1e-6)
    assert np.all(np.diff(curve.x1) > 0)


def test_the_line_of_one_draw_is_where_its_risk_is_the_threshold():
    beta = np.array([0.4, -2.0, 3.0])
    (curve,) = tb.decision_boundaries({"SB": draws(np.tile(beta, (5, 1)))}, 0.3, X1).curves
    risk = expit(beta[0] + np.column_stack([X1, curve.x2[0]]) @ beta[1:])
    assert_allclose(risk, 0.3, rtol=1e-12)
    assert np.isnan(curve.low).all()  # equal draws are never uncertain
    assert np.isnan(curve.high).all()


def test_a_model_without_intercept_goes_through_the_origin_at_one_half():
    found = draws(np.tile([-1.0, 2.0], (4, 1)), ("x0", "x1"))
    (curve,) = tb.decision_boundaries(found, 0.5, X1).curves
    assert_allclose(curve.x2[0], X1 / 2, atol=1e-15)
    assert curve.model == "model"


@pytest.mark.parametrize("mean", [[0, -1, 2], [1, -8, 0.3], [0.5, 0.1, -2]])
def test_the_band_is_where_the_draws_are_unsure_of_the_decision(mean):
    """Against a plain count on a grid; the second boundary is steep, b2 of either sign."""
    rng = np.random.default_rng(0)
    beta = rng.normal(mean, 0.4, size=(500, 3))
    (curve,) = tb.decision_boundaries({"TB": draws(beta)}, 0.4, X1, prob=0.8).curves
    x2 = np.linspace(0, 1, 1001)
    for x1, low, high in zip(X1, curve.low, curve.high, strict=True):
        points = np.column_stack([np.ones(1001), np.full(1001, x1), x2])
        certainty = (expit(points @ beta.T) >= 0.4).mean(axis=1)
        unsure = x2[(certainty > 0.1) & (certainty < 0.9)]
        if len(unsure):
            assert_allclose([low, high], [unsure.min(), unsure.max()], atol=0.0011)
        else:
            assert not high - low > 0.001


def test_a_band_ends_where_the_plane_does():
    rng = np.random.default_rng(0)
    beta = rng.normal([0, -1, 2], 0.4, size=(500, 3))
    found = [
        tb.decision_boundaries(draws(beta), 0.4, X1, x2_range=ends).curves[0]
        for ends in ((-50, 50), (0, 0.1))
    ]
    x2 = (np.log(0.4 / 0.6) - beta[:, :1] - beta[:, 1:2] * X1) / beta[:, 2:]
    assert (beta[:, 2] > 0).all()
    assert_allclose(found[0].low, np.quantile(x2, 0.05, axis=0), atol=0.02)
    assert_allclose(found[0].high, np.quantile(x2, 0.95, axis=0), atol=0.02)
    assert_array_equal(found[0].x2[0], np.median(x2, axis=0))
    assert np.nanmin(found[1].low) >= 0
    assert np.nanmax(found[1].high) <= 0.1


def test_a_family_gives_the_model_of_each_threshold():
    rng = np.random.default_rng(0)
    x = rng.random((200, 2))
    y = rng.random(200) < x[:, 1]
    family = tb.TailoredFamily([0.2, 0.5], discount=5, draws=100, random_state=0).fit(x, y)
    record = tb.decision_boundaries({"TB": family, "SB": family.standard_}, [0.5, 0.2], X1)
    assert [(c.model, c.threshold) for c in record.curves] == [
        ("TB", 0.5),
        ("SB", 0.5),
        ("TB", 0.2),
        ("SB", 0.2),
    ]
    alone = tb.decision_boundaries({"TB": family.models_[0.5]}, 0.5, X1).curves[0]
    assert_array_equal(record.curves[0].x2, alone.x2)
    frame = record.to_frame()
    assert list(frame.columns) == ["model", "threshold", "branch", "x1", "x2", "low", "high"]
    assert len(frame) == 4 * len(X1)
    with pytest.raises(ValueError, match=r"no model for the threshold 0\.3; its thresholds are"):
        tb.decision_boundaries({"TB": family}, 0.3, X1)


def test_what_has_no_boundary_in_the_plane_is_refused():
    wide = draws(np.ones((3, 4)), ("intercept", "a", "b", "c"))
    with pytest.raises(ValueError, match="must have two covariates"):
        tb.decision_boundaries({"SB": wide}, 0.5, X1)
    with pytest.raises(TypeError, match="must be a fitted estimator or a Draws record"):
        tb.decision_boundaries({"SB": np.ones(3)}, 0.5, X1)
    with pytest.raises(ValueError, match="at least one model"):
        tb.decision_boundaries({}, 0.5, X1)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        tb.optimal_boundaries(Simulation1(), 1.0, X1)


# --- Any model, and none ----------------------------------------------------------------------


def simulated(n=2000):
    simulation = Simulation1(1.0)
    return simulation, *simulation.sample(n, np.random.default_rng(0))


def test_a_classifiers_boundary_is_where_its_risk_is_the_threshold():
    _, X, y = simulated()
    table = pd.DataFrame(X, columns=["left", "right"])
    model = LogisticRegression().fit(table, y)
    record = tb.decision_boundaries({"plain": model}, 0.4, table)
    (curve,) = record.curves
    assert record.names == ("left", "right")
    assert curve.low is None
    assert len(curve.x2) == 1
    ((x1, x2),) = curve.branches()
    (b1, b2), a = model.coef_[0], model.intercept_[0]
    assert_allclose(a + b1 * x1 + b2 * x2, np.log(0.4 / 0.6), atol=1e-4)
    assert_allclose((record.x1_range, record.x2_range), np.quantile(X, [0.01, 0.99], axis=0).T)
    ends = np.array([*record.x1_range, *record.x2_range])
    for end in (0, -1):  # it goes from edge to edge
        assert np.abs(ends - [x1[end], x1[end], x2[end], x2[end]]).min() < 1e-9
    frame = record.to_frame()
    assert_array_equal(frame[["x1", "x2"]], np.column_stack([x1, x2]))
    assert frame["low"].isna().all()


def test_a_plane_of_the_same_covariates_may_have_them_the_other_way_round():
    _, X, y = simulated(400)
    table = pd.DataFrame(X, columns=["left", "right"])
    swapped = table[["right", "left"]]
    models = {
        "plain": LogisticRegression().fit(table, y),
        "SB": tb.TailoredLogisticRegression(discount=0, draws=200, random_state=0).fit(table, y),
    }
    for curve in tb.decision_boundaries(models, 0.4, swapped).curves:
        x1, x2 = next(curve.branches())
        points = pd.DataFrame({"left": x2, "right": x1})
        risk = models[curve.model].predict_proba(points)[:, 1]
        assert_allclose(risk, 0.4, atol=0.01)  # of SB: the median of lines, not of risks
    record = draws(np.tile([0.0, 1.0, 2.0], (4, 1)), ("intercept", "left", "right"))
    (curve,) = tb.decision_boundaries(record, 0.5, swapped).curves
    assert_allclose(np.diff(curve.x2[0]) / np.diff(curve.x1), -2)
    for model in (*models.values(), record):
        with pytest.raises(ValueError, match=r"left|feature names"):
            tb.decision_boundaries({"SB": model}, 0.4, table.rename(columns={"left": "up"}))


def test_slopes_are_told_from_the_intercept_by_name():
    three = draws(np.tile([1.0, 2.0, 3.0], (4, 1)), ("a", "b", "c"))  # no intercept
    with pytest.raises(ValueError, match="must have two covariates"):
        tb.decision_boundaries(three, 0.5, X1)
    one = draws(np.tile([1.0, 2.0], (4, 1)), ("intercept", "a"))
    with pytest.raises(ValueError, match="must have two covariates"):
        tb.decision_boundaries(one, 0.5, X1)
    last = draws(np.tile([-1.0, 2.0, 0.5], (4, 1)), ("x0", "x1", "intercept"))
    (curve,) = tb.decision_boundaries(last, 0.5, X1).curves
    assert_allclose(curve.x2[0], (X1 - 0.5) / 2)


def test_a_family_alone_is_drawn_with_its_standard_bayes():
    _, X, y = simulated(300)
    family = tb.TailoredFamily([0.3], discount=5, draws=100, random_state=0).fit(X, y)
    alone = tb.decision_boundaries(family, 0.3, X1).to_frame()
    both = tb.decision_boundaries({"TB": family, "SB": family.standard_}, 0.3, X1).to_frame()
    assert alone.equals(both)


def test_a_surface_is_followed_round_and_upright():
    x = np.linspace(-1, 1, 201)
    disc = 1 - np.hypot(*np.meshgrid(x, x, indexing="ij"))
    ((x1, x2),) = _crossing("disc", 0.4, x, x, disc).branches()
    assert_allclose(np.hypot(x1, x2), 0.6, atol=1e-3)
    assert (x1[0], x2[0]) == (x1[-1], x2[-1])  # closed, where it is rightmost
    assert x1[0] == x1.max() == pytest.approx(0.6, abs=1e-3)
    wall = np.tile((x >= 0.305)[:, None], 201).astype(float)
    ((x1, x2),) = _crossing("wall", 0.5, x, x, wall).branches()
    assert_allclose(x1, 0.305, atol=0.005)
    assert (x2.min(), x2.max()) == (-1, 1)
    nothing = _crossing("disc", 2.0, x, x, disc)
    assert len(list(nothing.branches())) == 1
    assert not np.isfinite(nothing.x2).any()


def test_smoothing_is_the_local_linear_regression_of_a_plain_loop():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2)) * [1, 20]
    event = rng.random(50) < expit(X[:, 0])
    points = rng.normal(size=(7, 2)) * [1, 20]
    scale = X.std(axis=0)
    expected = []
    for point in points:
        u = (X - point) / scale
        distance = np.sqrt((u**2).sum(axis=1))
        reach = 1.005 * np.sort(distance)[19]  # the 20th of 50: a span of 0.4
        w = np.where(distance < reach, (1 - (distance / reach) ** 3) ** 3, 0)
        design = np.column_stack([np.ones(50), u]) * np.sqrt(w)[:, None]
        expected.append(np.linalg.lstsq(design, event * np.sqrt(w), rcond=None)[0][0])
    assert_allclose(smoothed_share(X, event, points, 0.4), expected, rtol=1e-8)


@pytest.mark.parametrize("span", [0.05, 0.2, 0.3, 0.6, 1.0])
def test_ties_are_smoothed_over_whole(span):
    """Whole numbers: many rows at few places, where the nearest may lie on a point or a line."""
    places = np.array([[a, b] for a in range(2) for b in range(2)], dtype=float)
    rows, event = np.repeat(places, 40, axis=0), np.tile([True, False], 80)
    grid = np.array([[a, b] for a in np.linspace(0, 1, 9) for b in np.linspace(0, 1, 9)])
    assert_allclose(smoothed_share(rows, event, grid, span), 0.5, atol=1e-12)
    event = rows[:, 0] == 1  # the share is x1, exactly, wherever rows on both sides count
    found = smoothed_share(rows, event, grid, span)
    assert_allclose(found[grid[:, 0] == 0], 0, atol=1e-3)
    assert_allclose(found[grid[:, 0] == 1], 1, atol=1e-3)
    assert_allclose(found[grid[:, 0] == 0.5], 0.5, atol=1e-9)


def test_a_plateau_at_the_threshold_is_treated():
    asked = []

    class Steps:
        def fit(self, X, y):
            return self

        def predict_proba(self, X):
            asked.append(len(X))
            risk = np.where(np.asarray(X)[:, 1] > 0.5, 0.3, 0.2)
            return np.column_stack([1 - risk, risk])

    plane = np.random.default_rng(0).uniform(size=(50, 2))
    at_step, below = tb.decision_boundaries(
        {"steps": Steps()}, [0.3, 0.2], plane, x2_range=(0, 1)
    ).curves
    ((_, x2),) = at_step.branches()
    assert_allclose(x2, 0.5, atol=0.006)
    assert not np.isfinite(below.x2).any()  # everyone is treated
    assert len(asked) == 1  # for both thresholds


@pytest.mark.parametrize("t", [0.3, 0.5, 0.7])
def test_observed_boundaries_come_near_the_optimal_ones(t):
    """The share of 4000 rows, of some 2000 effective ones, has a standard error of 0.011, and the
    risk rises by 0.3 or more a unit of x2: 0.1 is more than two and a half of the largest."""
    simulation, X, y = simulated(20_000)
    ((x1, x2),) = tb.observed_boundaries(X, y, t, span=0.2).curves[0].branches()
    optimal = simulation.boundary(t, x1)[0]
    inside = (x1 > 0.2) & (x1 < 0.8) & (optimal > 0.2) & (optimal < 0.8)
    assert inside.sum() >= 8
    assert_allclose(x2[inside], optimal[inside], atol=0.1)


def test_outcomes_add_what_is_observed_and_need_their_rows():
    _, X, y = simulated(300)
    draw = draws(np.tile([0.0, -1.0, 1.0], (3, 1)))
    record = tb.decision_boundaries({"SB": draw}, [0.3, 0.5], X, y)
    assert [c.model for c in record.curves] == ["observed", "observed", "SB", "SB"]
    observed = tb.observed_boundaries(X, y, 0.5).curves[0]
    assert_array_equal(record.curves[1].x2, observed.x2)
    with pytest.raises(ValueError, match="models may not be named 'observed' where y is given"):
        tb.decision_boundaries({"observed": draw}, 0.5, X, y)
    for ends in ([1, 1], [0, np.nan], [0, 1, 2]):
        with pytest.raises(ValueError, match="x2_range must be"):
            tb.decision_boundaries({"SB": draw}, 0.5, X, x2_range=ends)
    with pytest.raises(ValueError, match=r"y needs its rows \(n, 2\) as x1"):
        tb.decision_boundaries({"SB": draw}, 0.5, X1, y)


@pytest.mark.parametrize(
    ("X", "y", "more", "words"),
    [
        (np.ones((4, 3)), [0, 1, 0, 1], {}, "X must have two columns"),
        (np.arange(4), [0, 1, 0, 1], {}, r"y needs its rows \(n, 2\) as X, got a line"),
        (np.ones((4, 2)), [0, 1, 0, 1], {}, "the middle 98% of column 0 must differ"),
        (np.eye(4)[:, :2], [0, 1, 0], {}, "X and y must have the same length, got 4 and 3"),
        (np.eye(4)[:, :2], [0, 0, 0, 0], {}, "y must hold both events"),
        (np.eye(4)[:, :2], [0, 1, 0, 1], {"span": 30}, "span must be a finite number"),
        ([[0, np.nan], [1, 1]], [0, 1], {}, "X must be finite, got nan at row 0"),
        (np.eye(4)[:, :2], [0, 1, 0, 1], {}, "at least 10 rows to smooth over, got 0.3 of 4"),
    ],
)
def test_what_cannot_be_smoothed_is_refused(X, y, more, words):
    with pytest.raises(ValueError, match=words):
        tb.observed_boundaries(X, y, 0.5, **more)
