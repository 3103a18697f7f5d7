"""Decision curves, differences and probabilities show what their tables hold."""

import numpy as np
import pytest
from drawn import bars, lines, shades
from numpy.testing import assert_allclose, assert_array_equal

import tailoredbayes as tb
from tailoredbayes import plots
from tailoredbayes.plots.style import ROLES

NAMES = {"all": "treat all", "none": "treat none"}


def column(frame, name, **where):
    """A column of a table where others have given values, by ascending threshold."""
    for key, value in where.items():
        frame = frame[frame[key] == value]
    return frame.sort_values("threshold")[name].to_numpy()


@pytest.mark.parametrize("which", ["curve", "bayesian", "fine"])
def test_a_decision_curve_shows_its_table(records, which):
    record = getattr(records, which)
    frame = record.to_frame()
    ax = plots.decision_curve(record)
    drawn = lines(ax)
    assert list(drawn) == [NAMES.get(name, name) for name in record.models]
    for name in record.models:
        t, value = drawn[NAMES.get(name, name)]
        assert_array_equal(t, column(frame, "threshold", model=name))
        assert_array_equal(value, column(frame, "net_benefit", model=name))
    for name, (t, low, high) in zip(record.models, shades(ax), strict=False):
        assert_array_equal(t, np.sort(record.thresholds))
        assert_array_equal(low, column(frame, "low", model=name))
        assert_array_equal(high, column(frame, "high", model=name))
    assert len(shades(ax)) == len(record.models) - 2


def test_a_second_decision_curve_joins_the_first(records):
    ax = plots.decision_curve(records.curve)
    again = tb.decision_curve(
        records.y_test, {"tree": records.X_test[:, 0]}, records.curve.thresholds
    )
    assert plots.decision_curve(again, ax) is ax
    assert list(lines(ax)) == ["TB", "SB", "score", "treat all", "treat none", "tree"]
    assert {t.get_text() for t in ax.get_legend().get_texts()} == set(lines(ax))
    colors = {line.get_label(): line.get_color() for line in ax.get_lines()}
    assert len(set(colors.values())) == len(colors)
    assert len(ax.child_axes) == 1


def test_a_decision_curve_without_events_is_drawn(records):
    """Warnings are errors: nothing lies above 0, and the axes still have a height."""
    ax = plots.decision_curve(tb.decision_curve(np.zeros(500), records.X_test[:, 0], [0.2, 0.4]))
    assert ax.get_ylim()[1] > 0


def test_the_range_that_matters_is_shaded(records):
    ax = plots.decision_curve(records.curve, shade=(0.14, 0.23))
    (patch,) = ax.patches
    assert (patch.get_x(), patch.get_x() + patch.get_width()) == pytest.approx((0.14, 0.23))


def test_interventions_avoided_are_per_100_patients(records):
    frame = records.curve.to_frame()
    drawn = lines(plots.interventions_avoided(records.curve))
    assert set(drawn) == {"treat all", "TB", "SB", "score"}
    for name in ("TB", "SB", "score"):
        avoided = column(frame, "net_intervention_avoided", model=name)
        assert_allclose(drawn[name][1], 100 * avoided, rtol=1e-12)
    assert_array_equal(drawn["treat all"][1], 0)


def test_a_difference_shows_its_interval(records):
    frame = records.difference.to_frame()
    drawn = bars(plots.net_benefit_difference(records.difference))
    assert list(drawn) == ["TB − SB", "score − SB"]
    for model in ("TB", "score"):
        t, value, low, high = drawn[f"{model} − SB"]
        assert_array_equal(t, column(frame, "threshold", model=model))
        assert_array_equal(value, column(frame, "difference", model=model))
        assert_allclose(low, column(frame, "low", model=model), atol=1e-15)
        assert_allclose(high, column(frame, "high", model=model), atol=1e-15)


def test_a_difference_over_splits_shows_both_errors(records):
    record = records.resplit
    frame = record.to_frame()
    ax = plots.net_benefit_difference(record)
    _, value, low, high = bars(ax)["TB − SB"]
    error = column(frame, "standard_error", model="TB")
    assert_allclose(low, value - error, atol=1e-15)
    assert_allclose(high, value + error, atol=1e-15)
    thin = [c for c in ax.collections if c.get_linewidth()[0] == 0.7]
    ends = np.array(thin[0].get_segments())[:, :, 1]
    own = column(frame, "sampling_error", model="TB")
    assert_allclose(ends.T, [value - own, value + own], atol=1e-15)


def test_everything_that_is_drawn_of_a_difference_lies_within_the_axes(records):
    for record in (records.difference, records.resplit, records.better):
        ax = plots.net_benefit_difference(record)
        bottom, top = ax.get_ylim()
        for _, _, low, high in bars(ax).values():
            assert bottom < low.min()
            assert high.max() < top


def test_many_thresholds_make_a_band(records):
    models = {"TB": records.X_test[:, 1], "SB": records.X_test[:, 0]}
    record = tb.net_benefit_difference(
        records.y_test, models, np.linspace(0.1, 0.6, 41), against="SB", replicates=20
    )
    ax = plots.net_benefit_difference(record)
    assert not bars(ax)
    assert_array_equal(lines(ax)["TB − SB"][1], record.difference[0])
    ((t, low, high),) = shades(ax)
    assert_array_equal(t, record.thresholds)
    assert_array_equal(low, record.low[0])
    assert_array_equal(high, record.high[0])


def test_differences_of_one_model_look_like_what_it_is_compared_with(records):
    both = [
        records.bayesian.difference("TB", "SB"),
        records.bayesian.difference("TB", "score"),
    ]
    ax = plots.net_benefit_difference(both)
    colors = [container.lines[0].get_color() for container in ax.containers]
    assert colors[0] == ROLES["standard"].color
    assert len(set(colors)) == 2


def test_probabilities_show_their_table(records):
    frame = records.bayesian.to_frame()
    drawn = lines(plots.probability_useful(records.bayesian))
    assert list(drawn) == ["TB", "SB", "score"]
    for name, (t, value) in drawn.items():
        assert_array_equal(t, column(frame, "threshold", model=name))
        assert_array_equal(value, column(frame, "p_useful", model=name))
    ax = plots.probability_better(records.better)
    assert_array_equal(lines(ax)["TB"][1], records.better.to_frame()["p_better"])
    assert ax.get_ylabel() == "P(TB better than SB)"
