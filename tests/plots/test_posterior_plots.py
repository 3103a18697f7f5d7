"""Posteriors, calibration, patients: pictures hold the numbers of their tables."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn import bins, lines, segments, shades
from numpy.testing import assert_allclose, assert_array_equal

import tailoredbayes as tb
from tailoredbayes import plots


def test_densities_show_their_table_and_the_overlap(records):
    record = records.overlap
    axes = plots.posterior_densities(record)
    frame = record.densities.to_frame()
    for ax, name, overlap in zip(axes, record.names, record.overlap, strict=True):
        assert list(lines(ax)) == ["standard", "tailored"]
        for model, (value, density) in lines(ax).items():
            rows = frame[(frame["model"] == model) & (frame["coefficient"] == name)]
            assert_array_equal(value, rows["value"])
            assert_array_equal(density, rows["density"])
        assert ax.get_title(loc="left") == f"{name}  ({100 * overlap:.0f}% overlap)"


def test_densities_of_some_coefficients_in_the_order_asked_for(records):
    axes = plots.posterior_densities(records.overlap.densities, coefficients=["x1", "intercept"])
    assert [ax.get_title(loc="left") for ax in axes] == ["x1", "intercept"]


def test_the_forest_shows_medians_and_intervals(records):
    record = records.intervals
    frame = record.to_frame()
    ax = plots.posterior_intervals(record)
    assert [t.get_text() for t in ax.get_yticklabels()] == list(record.names)
    drawn = [segments(c) for c in ax.collections]
    for place, model in enumerate(("SB", "TB")):
        rows = frame[frame["model"] == model]
        assert_array_equal(lines(ax)[model][0], rows[rows["prob"] == 0.9]["median"])
        for number, prob in enumerate((0.9, 0.95)):
            ends = drawn[2 * place + number][:, :, 0]
            expected = rows[rows["prob"] == prob]
            assert_array_equal(ends, expected[["low", "high"]])
    assert_array_equal(drawn[-1][:, 0, 0], record.median["SB"])  # dashed, through the medians
    widths = [c.get_linewidth()[0] for c in ax.collections[:2]]
    assert widths[0] > widths[1]  # the narrower interval is the thicker line


def test_widths_show_their_table(records):
    frame = records.intervals.to_frame()
    drawn = lines(plots.interval_widths(records.intervals))
    for model, (width, _) in drawn.items():
        rows = frame[(frame["model"] == model) & (frame["prob"] == 0.9)]
        assert_array_equal(width, rows["width"])


@pytest.mark.parametrize(
    "draw", [plots.posterior_densities, plots.posterior_intervals, plots.interval_widths]
)
def test_an_unknown_coefficient_is_refused(records, draw):
    record = records.overlap if draw is plots.posterior_densities else records.intervals
    with pytest.raises(ValueError, match=r"must be some of intercept, x0, x1, got \['age'\]"):
        draw(record, coefficients=["age"])
    with pytest.raises(ValueError, match="got none"):
        draw(record, coefficients=[])


def test_calibration_shows_curve_band_and_rows(records):
    record = records.calibration
    ax = plots.calibration(record)
    found = dict(zip(("SB", "TB"), shades(ax), strict=True))
    (below,) = ax.child_axes
    for name, model in record.models.items():
        assert_array_equal(lines(ax)[name], [model.curve.risk, model.curve.observed])
        assert_array_equal(found[name], [model.curve.risk, model.curve.low, model.curve.high])
        edges, rows = bins(below)[name]
        assert_array_equal(edges, model.histogram.edges)
        assert_array_equal(rows, model.histogram.events + model.histogram.nonevents)
        assert rows.sum() == record.n


def test_the_shapes_of_miscalibration_are_drawn_as_the_paper_has_them(records):
    ax = plots.miscalibration_shapes(records.shapes)
    drawn = [line.get_data() for line in ax.get_lines()[1:9]]
    for (bent, risk), shape in zip(drawn, records.shapes.shapes.values(), strict=True):
        assert_array_equal(bent, shape)
        assert_array_equal(risk, records.shapes.risk)


def test_risks_by_outcome_are_shares_of_their_rows(records):
    record = records.calibration
    for ax, model in zip(plots.risk_distribution(record), record.models.values(), strict=True):
        for label, rows in (("event", model.histogram.events), ("no event", None)):
            rows = model.histogram.nonevents if rows is None else rows
            edges, share = bins(ax)[label]
            assert_array_equal(edges, model.histogram.edges)
            assert_allclose(share, rows / rows.sum())
        assert lines(ax)["threshold"][0][0] == record.threshold


def test_the_highest_bin_of_any_model_is_within_the_axes(records):
    """The second model's risks lie in few bins, which are higher than all of the first's."""
    models = {"wide": records.X_test[:, 0], "narrow": 0.3 + 0.05 * records.X_test[:, 1]}
    for ax in plots.risk_distribution(tb.calibration(records.y_test, models)):
        assert ax.get_ylim()[0] == 0
        assert max(values.max() for _, values in bins(ax).values()) <= ax.get_ylim()[1]


def test_patients_show_density_mean_and_threshold(records):
    record = records.patients
    ax = plots.patients(record)
    frame = record.density_frame()
    assert list(lines(ax)) == ["patient 4", "patient 2", "threshold"]
    for patient in (4, 2):
        rows = frame[frame["patient"] == patient]
        assert_array_equal(lines(ax)[f"patient {patient}"], rows[["risk", "density"]].T)
    verticals = [line.get_xdata()[0] for line in ax.get_lines() if len(line.get_xdata()) == 2]
    assert verticals == [record.risk[4], record.risk[2], record.threshold]


def test_patients_without_draws_are_refused(records):
    record = tb.patients(records.family, records.X_test, 0.3)
    with pytest.raises(ValueError, match="predictive="):
        plots.patients(record)
    assert np.isfinite(record.risk).all()


@pytest.mark.parametrize("width", [3.3, 7.0])
@pytest.mark.parametrize("draw", [plots.posterior_intervals, plots.interval_widths])
def test_long_names_leave_the_legend_and_the_label_on_the_page(draw, width):
    rng = np.random.default_rng(0)
    names = ["cell_shape_uniformity", "epithelial_cell_size"]
    models = {name: rng.normal(size=(100, 2)) for name in ("SB", "TB, t = 0.3", "TB, t = 0.5")}
    figure = plt.figure(figsize=(width, 3), layout="constrained")
    ax = draw(tb.posterior_intervals(models, names=names), figure.subplots())
    figure.canvas.draw()
    for shown in (ax.get_legend(), ax.xaxis.label):
        box = shown.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width + 1
