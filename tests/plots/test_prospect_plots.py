"""Before a fit: weights, effective sample, search, and which rows did what."""

from dataclasses import replace

import numpy as np
import pytest
from drawn import lines
from numpy.testing import assert_array_equal

import tailoredbayes as tb
from tailoredbayes import plots


def test_weights_show_their_table(records):
    record = records.prospects
    frame = record.weight_frame()
    axes = plots.weights(record, discounts=record.discounts[[0, 10, -1]])
    for ax, t in zip(axes, record.thresholds, strict=True):
        assert ax.get_title(loc="left") == f"threshold {t:g}"
        for j, drawn in zip((0, 10, -1), lines(ax).values(), strict=False):
            rows = frame[(frame["threshold"] == t) & (frame["discount"] == record.discounts[j])]
            assert_array_equal(drawn, rows[["reference_risk", "weight"]].T)
    assert next(iter(lines(axes[0]))) == "λ = 0"


def test_weights_at_a_discount_the_record_lacks_are_refused(records):
    with pytest.raises(ValueError, match="discounts must be some of the record's, got 7"):
        plots.weights(records.prospects, discounts=[0, 7])


def test_the_effective_sample_shows_its_table(records):
    frame = records.prospects.ess_frame()
    drawn = lines(plots.effective_sample(records.prospects))
    for t in records.prospects.thresholds:
        rows = frame[frame["threshold"] == t]
        assert_array_equal(drawn[f"t = {t:g}"], rows[["discount", "ess_fraction"]].T)


def test_the_search_shows_its_table_and_the_chosen_discount(records):
    frame = records.prospects.search_frame()
    for ax, t in zip(
        plots.discount_search(records.prospects), records.prospects.thresholds, strict=True
    ):
        rows = frame[frame["threshold"] == t]
        whole = ax.get_lines()[0]
        assert_array_equal(whole.get_data(), rows[["discount", "net_benefit"]].T)
        x, y = lines(ax)["chosen"]
        assert x == records.family.discounts_[t]
        assert_array_equal(y, rows[rows["chosen"]]["net_benefit"])
        assert ax.get_title(loc="left").startswith(f"t = {t:g}\ngain ")


def test_a_search_that_chose_standard_bayes_says_so(records):
    found = records.prospects
    at_0 = {t: replace(path, chosen=0.0) for t, path in found.searches.items()}
    for ax, t in zip(plots.discount_search(replace(found, searches=at_0)), at_0, strict=True):
        assert ax.get_title(loc="left") == f"t = {t:g}\nstandard Bayes chosen"


def test_a_search_is_needed_to_draw_one(records):
    risks_alone = tb.prospects(np.array([0.1, 0.3, 0.4]), 0.3)
    with pytest.raises(ValueError, match="record must hold a search"):
        plots.discount_search(risks_alone)


def test_boxes_are_as_wide_as_the_parts_are_large(records):
    frame = records.splitting.to_frame().set_index("part")
    ax = plots.data_splitting(records.splitting)
    boxes = {patch.get_label(): patch for patch in ax.patches}
    assert list(boxes) == list(frame.index)
    for name, box in boxes.items():
        assert box.get_width() == frame["rows"][name]
        within = frame["within"][name]
        if within is not None:
            outer = boxes[within]
            assert outer.get_x() <= box.get_x()
            assert box.get_x() + box.get_width() <= outer.get_x() + outer.get_width()
            assert box.get_y() < outer.get_y()
    assert boxes["development"].get_x() == boxes["design"].get_width()
    text = " ".join(text.get_text() for text in ax.texts)
    assert "reference risk (stage 1)" in text
    assert "5-fold cross-validation" in text.replace("\n    ", " ")
