"""Every public plot function: where it draws, what it gives back, what it leaves alone."""

import itertools
import re
import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text

from tailoredbayes import plots

NOT_FIGURES = {"STYLES", "DecisionCurveDisplay", "Style", "save", "svg"}

# Name: how to call it on real records, and how many panels it then has (None: a single Axes).
FIGURES = {
    "boundaries": (lambda r, ax=None: plots.boundaries(r.fitted, ax), None),
    "calibration": (lambda r, ax=None: plots.calibration(r.calibration, ax), None),
    "data_splitting": (lambda r, ax=None: plots.data_splitting(r.splitting, ax), None),
    "decision_curve": (lambda r, ax=None: plots.decision_curve(r.curve, ax), None),
    "discount_search": (lambda r, ax=None: plots.discount_search(r.prospects, ax), 3),
    "effective_sample": (lambda r, ax=None: plots.effective_sample(r.prospects, ax), None),
    "grid": (lambda r, ax=None: plots.grid(r.differences, ax), 2),
    "interval_widths": (lambda r, ax=None: plots.interval_widths(r.intervals, ax), None),
    "interventions_avoided": (lambda r, ax=None: plots.interventions_avoided(r.curve, ax), None),
    "miscalibration_shapes": (lambda r, ax=None: plots.miscalibration_shapes(r.shapes, ax), None),
    "net_benefit_difference": (
        lambda r, ax=None: plots.net_benefit_difference(r.difference, ax, shade=(0.2, 0.3)),
        None,
    ),
    "patients": (lambda r, ax=None: plots.patients(r.patients, ax), None),
    "points": (lambda r, ax=None: plots.points(r.X, r.y, ax), None),
    "posterior_densities": (lambda r, ax=None: plots.posterior_densities(r.overlap, ax), 3),
    "posterior_intervals": (lambda r, ax=None: plots.posterior_intervals(r.intervals, ax), None),
    "probability_better": (lambda r, ax=None: plots.probability_better(r.better, ax), None),
    "probability_useful": (lambda r, ax=None: plots.probability_useful(r.bayesian, ax), None),
    "risk_distribution": (lambda r, ax=None: plots.risk_distribution(r.calibration, ax), 2),
    "weights": (lambda r, ax=None: plots.weights(r.prospects, ax), 3),
}
each_figure = pytest.mark.parametrize("name", FIGURES)


def test_every_public_plot_is_listed_here():
    assert set(plots.__all__) - NOT_FIGURES == set(FIGURES)


@each_figure
def test_a_plot_draws_on_the_axes_it_is_given(records, name):
    draw, panels = FIGURES[name]
    figure, given = plt.subplots(1, panels or 1, figsize=(7, 3), layout="constrained")
    found = draw(records, given)
    if panels is None:
        assert found is given
    else:
        assert list(found) == list(given)
    assert all(ax.has_data() for ax in np.ravel(found))
    assert plt.get_fignums() == [figure.number]  # no other figure was made


@each_figure
def test_a_plot_without_axes_makes_one_figure_and_leaves_the_settings_alone(records, name):
    draw, panels = FIGURES[name]
    with mpl.rc_context({"font.size": 13, "lines.linewidth": 3}):
        before = mpl.rcParams.copy()
        found = np.ravel(draw(records))
        assert mpl.rcParams == before
    assert len(found) == (panels or 1)
    assert all(isinstance(ax, Axes) for ax in found)
    assert plt.get_fignums() == [found[0].figure.number]


@each_figure
@pytest.mark.parametrize("width", [3.3, 3.7, 7.0])
def test_a_plot_fits_a_column_and_a_page(records, name, width):
    """Nothing is cut off, no two texts of one axis touch, and the axes keep their share."""
    draw, panels = FIGURES[name]
    figure = plt.figure(figsize=(width, 3.2 if panels is None else 4.2), layout="constrained")
    draw(records, figure.subplots() if panels is None else figure)
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    page = figure.bbox.padded(1)
    keys = [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]
    keys = [legend.get_window_extent(renderer) for legend in keys]
    for box in keys:
        assert page.x0 <= box.x0
        assert box.x1 <= page.x1
        assert box.y1 <= page.y1
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            labels = [
                text for text in axis.get_ticklabels() if text.get_text() and text.get_visible()
            ]
            boxes = [text.get_window_extent(renderer) for text in labels]
            assert not any(one.overlaps(other) for one, other in itertools.pairwise(boxes))
            if axis.label.get_text() and axis.label.get_visible():
                label = axis.label.get_window_extent(renderer)
                assert page.x0 <= label.x0
                assert label.x1 <= page.x1
                assert page.y0 <= label.y0
                assert label.y1 <= page.y1
    shown = [ax for ax in figure.axes if ax.get_visible()]
    across = len({round(ax.get_position().x0, 2) for ax in shown})
    assert across * shown[0].get_position().width > 0.5
    titles = [
        text.get_window_extent(renderer)
        for ax in shown
        for text in ax.findobj(Text)
        if text.get_text() and text.get_text() == ax.get_title(loc="left")
    ]
    assert all(box.x1 <= page.x1 for box in titles)
    pairs = itertools.combinations([*titles, *keys], 2)
    assert not any(one.overlaps(other) for one, other in pairs)


@pytest.mark.parametrize("name", sorted(set(FIGURES) - {"points"}))
def test_a_plot_refuses_what_is_not_its_record(records, name):
    for wrong in (records.cells, records.curve if name == "grid" else records.differences, None):
        with pytest.raises(TypeError, match=rf"record must be a \w+.*help\(tb.plots.{name}\)"):
            getattr(plots, name)(wrong)
    assert plt.get_fignums() == []


@pytest.mark.parametrize("wrong", [[], [1], "difference"])
def test_differences_are_one_or_several_records(records, wrong):
    with pytest.raises(TypeError, match="record must be a NetBenefitDifference or a Resplit"):
        plots.net_benefit_difference(wrong)
    both = plots.net_benefit_difference([records.difference, records.resplit])
    assert len(both.get_legend_handles_labels()[1]) == 4


@each_figure
def test_a_plot_of_several_panels_refuses_too_few_axes(records, name):
    draw, panels = FIGURES[name]
    if panels is None:
        return
    given = plt.subplots()[1]
    with pytest.raises(ValueError, match=f"room for {panels} panels, got 1 Axes"):
        draw(records, given)


def test_importing_the_package_does_not_import_matplotlib():
    code = (
        "import sys, tailoredbayes as tb; "
        "assert 'matplotlib' not in sys.modules; "
        "tb.plots.decision_curve; "
        "assert 'matplotlib' in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_an_svg_keeps_text_as_text(records):
    text = plots.svg(plots.posterior_densities(records.overlap))
    assert text.startswith("<svg")
    assert text.endswith("</svg>")
    for word in ("standard", "tailored", "intercept"):
        assert re.search(rf"<text[^>]*>[^<]*{word}", text)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_saved_figure_has_the_same_bytes_each_time(records, ending, tmp_path):
    files = [
        plots.save(plots.effective_sample(records.prospects), tmp_path / f"{i}.{ending}")
        for i in "ab"
    ]
    first, second = (file.read_bytes() for file in files)
    assert first == second
