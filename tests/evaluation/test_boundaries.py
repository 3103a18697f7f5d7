"""Decision boundaries: on the boundary a risk equals the threshold, draw by draw."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

import tailoredbayes as tb
from tailoredbayes.evaluation.boundaries import _branches
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
    assert curve.x2.shape == (1, len(curve.x1))
    inside = np.isfinite(curve.x2[0])
    assert inside.mean() > 0.5
    (b1, b2), a = model.coef_[0], model.intercept_[0]
    line = (np.log(0.4 / 0.6) - a - b1 * curve.x1) / b2
    assert_allclose(curve.x2[0, inside], line[inside], atol=1e-5)
    ends = np.quantile(X, [0.01, 0.99], axis=0)
    assert_allclose((curve.x1[[0, -1]], record.x2_range), ends.T)
    assert ((line[~inside] < ends[0, 1]) | (line[~inside] > ends[1, 1])).all()


def test_a_family_alone_is_drawn_with_its_standard_bayes():
    _, X, y = simulated(300)
    family = tb.TailoredFamily([0.3], discount=5, draws=100, random_state=0).fit(X, y)
    alone = tb.decision_boundaries(family, 0.3, X1).to_frame()
    both = tb.decision_boundaries({"TB": family, "SB": family.standard_}, 0.3, X1).to_frame()
    assert alone.equals(both)


def test_branches_are_followed_as_long_as_they_go_on():
    """A disc of radius 0.6 about (0, 0): two branches that end where they meet."""
    x = np.linspace(-1, 1, 201)
    surface = 1 - np.hypot(*np.meshgrid(x, x, indexing="ij"))
    found = _branches(surface, x, 0.4)
    inside = np.abs(x) < 0.59
    half = np.sqrt(0.36 - x[inside] ** 2)
    assert found.shape == (2, 201)
    assert_allclose(np.sort(found[:, inside], axis=0), [-half, half], atol=1e-3)
    assert np.isnan(found[:, np.abs(x) > 0.61]).all()
    assert np.isnan(_branches(surface, x, 2.0)).all()  # never crossed: one branch of nan


def test_a_jump_is_no_branch():
    surface = np.zeros((4, 101))
    x2 = np.linspace(0, 1, 101)
    for i, step in enumerate((0.2, 0.25, 0.8, 0.85)):
        surface[i] = x2 >= step
    found = _branches(surface, x2, 0.5)
    assert found.shape == (2, 4)
    assert np.isfinite(found).tolist() == [[True, True, False, False], [False, False, True, True]]


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
        reach = np.sort(distance)[19]  # the 20th of 50: a span of 0.4
        w = np.where(distance < reach, (1 - (distance / reach) ** 3) ** 3, 0)
        design = np.column_stack([np.ones(50), u]) * np.sqrt(w)[:, None]
        expected.append(np.linalg.lstsq(design, event * np.sqrt(w), rcond=None)[0][0])
    assert_allclose(smoothed_share(X, event, points, 0.4), expected, rtol=1e-8)


@pytest.mark.parametrize("t", [0.3, 0.5, 0.7])
def test_observed_boundaries_come_near_the_optimal_ones(t):
    """The share of 4000 rows, of some 2000 effective ones, has a standard error of 0.011, and the
    risk rises by 0.3 or more a unit of x2: 0.1 is more than two and a half of the largest."""
    simulation, X, y = simulated(20_000)
    (curve,) = tb.observed_boundaries(X, y, t, span=0.2).curves
    optimal = simulation.boundary(t, curve.x1)[0]
    inside = (curve.x1 > 0.2) & (curve.x1 < 0.8) & (optimal > 0.2) & (optimal < 0.8)
    assert inside.sum() >= 8
    assert_allclose(curve.x2[0, inside], optimal[inside], atol=0.1)


def test_outcomes_add_what_is_observed_and_need_their_rows():
    _, X, y = simulated(300)
    draw = draws(np.tile([0.0, -1.0, 1.0], (3, 1)))
    record = tb.decision_boundaries({"SB": draw}, [0.3, 0.5], X, y)
    assert [c.model for c in record.curves] == ["observed", "observed", "SB", "SB"]
    observed = tb.observed_boundaries(X, y, 0.5).curves[0]
    assert_array_equal(record.curves[1].x2, observed.x2)
    with pytest.raises(ValueError, match="y needs the rows it belongs to as x1"):
        tb.decision_boundaries({"SB": draw}, 0.5, X1, y)


@pytest.mark.parametrize(
    ("X", "y", "more", "words"),
    [
        (np.ones((4, 3)), [0, 1, 0, 1], {}, "x1 must have two columns"),
        (np.ones((4, 2)), [0, 1, 0, 1], {}, "the middle 98% of column 0 must differ"),
        (np.eye(4)[:, :2], [0, 1, 0], {}, "X and y must have the same length, got 4 and 3"),
        (np.eye(4)[:, :2], [0, 0, 0, 0], {}, "y must hold both events"),
        (np.eye(4)[:, :2], [0, 1, 0, 1], {"span": 30}, "span must be a finite number"),
        ([[0, np.nan], [1, 1]], [0, 1], {}, "x1 must be finite, got nan at row 0"),
    ],
)
def test_what_cannot_be_smoothed_is_refused(X, y, more, words):
    with pytest.raises(ValueError, match=words):
        tb.observed_boundaries(X, y, 0.5, **more)
