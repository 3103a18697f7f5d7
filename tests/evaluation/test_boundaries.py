"""Decision boundaries: on the boundary a risk equals the threshold, draw by draw."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tailoredbayes as tb
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
    with pytest.raises(TypeError, match="must be a fitted estimator with draws"):
        tb.decision_boundaries({"SB": np.ones(3)}, 0.5, X1)
    with pytest.raises(ValueError, match="at least one model"):
        tb.decision_boundaries({}, 0.5, X1)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        tb.optimal_boundaries(Simulation1(), 1.0, X1)
