"""Boundaries, points and study grids show what their records hold."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from drawn import bars, lines, shades
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

import tailoredbayes as tb
from tailoredbayes import plots
from tailoredbayes.evaluation.boundaries import Boundaries, Boundary


def test_boundaries_show_lines_and_bands(records):
    ax = plots.boundaries(records.fitted)
    for curve, (x1, low, high) in zip(records.fitted.curves, shades(ax), strict=True):
        assert_array_equal(lines(ax)[curve.model], [curve.x1, curve.x2[0]])
        there = np.isfinite(curve.low)
        assert there.sum() > 5
        assert_array_equal(x1, curve.x1[there])
        assert_array_equal(low, curve.low[there])
        assert_array_equal(high, curve.high[there])
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 1), (0, 1))


def test_fitted_boundaries_go_over_optimal_ones(records):
    ax = plots.boundaries(records.optimal)
    named = [text.get_text() for text in ax.texts]
    assert named == ["0.1", "0.3"]
    assert plots.boundaries(records.fitted, ax) is ax
    assert list(lines(ax)) == ["optimal", "SB", "TB"]
    drawn = [line.get_ydata() for line in ax.get_lines()[:2]]
    for found, curve in zip(drawn, records.optimal.curves, strict=True):
        assert_array_equal(found, curve.x2[0])


def test_rows_set_the_plane_and_what_is_observed_looks_like_the_optimum(records):
    record = tb.decision_boundaries(records.family, 0.3, records.X, records.y)
    ax = plots.boundaries(record)
    assert list(lines(ax)) == ["observed", "TB", "SB"]
    assert (ax.get_xlim(), ax.get_ylim()) == (record.x1_range, record.x2_range)
    assert {text.get_text() for text in ax.texts} == {"0.3"}


def test_what_is_traced_keeps_its_models_look_and_what_is_not_there_is_said(records):
    model = LogisticRegression().fit(records.X, records.y)
    ax = plots.boundaries(tb.decision_boundaries({"plain": model}, [0.3, 0.999], records.X))
    assert ax.get_lines()[0].get_linestyle() == "--"
    assert {text.get_text() for text in ax.texts} == {"0.3", "not in view: plain at 0.999"}


def test_points_keep_the_view_of_the_boundaries_with_room_at_its_edges(records):
    record = tb.decision_boundaries(records.family, 0.3, records.X)
    ax = plots.points(records.X, records.y, plots.boundaries(record))
    for seen, plane in ((ax.get_xlim(), record.x1_range), (ax.get_ylim(), record.x2_range)):
        room = 0.025 * (plane[1] - plane[0])
        assert_allclose(seen, (plane[0] - room, plane[1] + room))


def test_points_without_names_leave_those_of_the_axes_and_the_view_of_points(records):
    table = pd.DataFrame(records.X, columns=["age", "nodes"])
    ax = plots.points(
        table, records.y, plots.boundaries(tb.observed_boundaries(table, records.y, 0.5))
    )
    seen = ax.get_xlim()
    plots.points(records.X, records.y, ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "nodes")
    assert ax.get_xlim() == seen


def test_points_of_other_covariates_than_the_axes_are_refused(records):
    table = pd.DataFrame(records.X.copy(), columns=["age", "nodes"])
    ax = plots.points(table, records.y)
    with pytest.raises(ValueError, match="of these axes, age and nodes, got nodes and age"):
        plots.points(table[["nodes", "age"]], records.y, ax)
    table.loc[3, "age"] = np.nan
    with pytest.raises(ValueError, match="X must be finite, got nan at row 3"):
        plots.points(table, records.y)


def test_marked_points_are_called_as_asked(records):
    ax = plots.points(records.X, records.y, marked=records.y, marked_label="flipped")
    assert ax.get_legend_handles_labels()[1] == ["no event", "event, flipped"]


def test_points_name_the_axes_by_their_columns(records):
    ax = plots.points(pd.DataFrame(records.X, columns=["age", "nodes"]), records.y)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "nodes")


def test_points_are_drawn_by_outcome_and_marked_ones_apart(records):
    marked = records.X[:, 0] > 0.8
    ax = plots.points(records.X, records.y, marked=marked)
    found = {c.get_label(): c.get_offsets() for c in ax.collections}
    y = records.y.astype(bool)
    assert_array_equal(found["event"], records.X[y & ~marked])
    assert_array_equal(found["no event"], records.X[~y & ~marked])
    assert_array_equal(found["event, marked"], records.X[y & marked])
    assert sum(map(len, found.values())) == len(y)


def test_points_need_two_columns(records):
    with pytest.raises(ValueError, match="X must have two columns"):
        plots.points(np.zeros((3, 3)), [0, 1, 1])
    with pytest.raises(ValueError, match="same length"):
        plots.points(records.X, records.y[:-1])


@pytest.mark.parametrize("which", ["differences", "net_benefits"])
def test_a_grid_shows_its_table(records, which):
    record = getattr(records, which)
    frame = record.to_frame()
    axes = plots.grid(record)
    assert [ax.get_title(loc="left") for ax in axes] == ["q = 0.5", "q = 1"]
    for ax, q in zip(axes, (0.5, 1.0), strict=True):
        panel = frame[frame["panel"] == q]
        drawn = bars(ax).values()
        assert len(drawn) == panel["line"].nunique()
        for name, (t, mean, low, high) in zip(panel["line"].unique(), drawn, strict=True):
            rows = panel[panel["line"] == name]
            assert_array_equal(t, rows["threshold"])
            assert_array_equal(mean, rows["mean"])
            assert_allclose(high - low, 2 * rows["standard_error"], atol=1e-15)


def test_the_lines_of_a_grid_are_named_by_setting_or_by_model(records):
    sizes, models = plots.grid(records.differences)[0], plots.grid(records.net_benefits)[0]
    assert list(bars(sizes)) == ["n = 500", "n = 1000"]
    assert list(bars(models)) == ["TB", "SB", "optimal"]
    assert sizes.get_ylabel().startswith("Difference in net true")
    assert models.get_ylabel() == "Net true positives\nper 1000"


def test_every_branch_is_named_where_it_leaves_by_the_top_or_to_the_right():
    """x1 x2 = k in [0, 4] x [0, 2] comes in by the top at x1 = k / 2 and ends at x2 = k / 4."""
    x1 = np.linspace(0, 4, 401)
    with np.errstate(divide="ignore"):
        curves = [Boundary("optimal", t, x1, (k / x1)[None]) for t, k in ((0.2, 2), (0.6, 6))]
    ax = plt.subplots()[1]
    ax.plot([0, 4], [0, 2], label="_")
    ax.set(xlim=(0, 4), ylim=(0, 2))
    plots.boundaries(Boundaries(tuple(curves), ("x1", "x2")), ax)
    places = [(text.get_text(), *text.xy) for text in ax.texts]
    assert [name for name, *_ in places] == ["0.2", "0.2", "0.6", "0.6"]
    expected = [(1, 2), (4, 0.5), (3, 2), (4, 1.5)]
    assert_allclose([place for _, *place in places], expected, atol=1e-3)


def test_names_that_would_overlap_are_left_out():
    x1 = np.linspace(0, 1, 11)
    lines_ = [Boundary("optimal", t, x1, (t * x1)[None]) for t in (0.5, 0.51, 0.9)]
    ax = plots.boundaries(Boundaries(tuple(lines_), ("x1", "x2")))
    assert [text.get_text() for text in ax.texts] == ["0.5", "0.9"]


def test_a_boundary_that_leaves_through_the_bottom_is_named_there():
    x1 = np.linspace(0, 1, 11)
    falling = Boundary("optimal", 0.4, x1, (0.5 - x1)[None])
    ax = plots.boundaries(Boundaries((falling,), ("x1", "x2")))
    (name,) = ax.texts
    assert name.get_text() == "0.4"
    assert_allclose(name.xy, (0.5, 0))


def test_fitted_boundaries_of_several_thresholds_are_named_too(records):
    fitted = tb.decision_boundaries({"TB": records.family}, [0.2, 0.4], np.linspace(0, 1, 11))
    assert {text.get_text() for text in plots.boundaries(fitted).texts} == {"0.2", "0.4"}
