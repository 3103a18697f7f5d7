"""A model looks alike everywhere; colours, lines and markers tell models apart without colour."""

import itertools
import os
import subprocess
import sys
from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn import lines
from matplotlib.colors import to_rgb

import tailoredbayes as tb
from tailoredbayes import plots
from tailoredbayes.plots.style import ROLES, per_1000, percent, role, sequence, styles


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("TB", "tailored"),
        ("TB, t = 0.3", "tailored"),
        ("Tailored Bayes", "tailored"),
        ("SB", "standard"),
        ("standard", "standard"),
        ("treat all", "all"),
        ("none", "none"),
        ("optimal", "optimal"),
        ("all covariates", None),
        ("EuroSCORE", None),
        ("TBX", None),
    ],
)
def test_a_name_says_what_part_its_model_plays(name, part):
    assert role(name) == part


def test_a_role_looks_alike_whatever_stands_beside_it():
    alone = styles(["SB"])["SB"]
    assert styles(["EuroSCORE", "TB", "SB"])["SB"] == alone == ROLES["standard"]


def test_others_look_alike_for_the_same_names_in_the_same_order():
    names = ["score", "tree", "TB"]
    assert styles(names) == styles(names)
    assert styles(names)["score"] == styles(["TB", "score", "tree"])["score"]


def test_a_fixed_look_is_kept():
    mine = plots.Style("#123456", ":", "p")
    plots.STYLES["EuroSCORE"] = mine
    try:
        assert styles(["tree", "EuroSCORE"])["EuroSCORE"] is mine
    finally:
        del plots.STYLES["EuroSCORE"]


def test_no_two_models_of_a_figure_look_alike_in_grey():
    found = styles(["TB", "SB", "optimal", "all", "none", "a", "b", "c", "d"]).values()
    assert len({(str(s.linestyle), s.marker) for s in found}) == len(found)
    solid = [s for s in found if s.linestyle == "-"]  # told apart by lightness
    grey = [float(np.dot(to_rgb(s.color), [0.299, 0.587, 0.114])) for s in solid]
    assert min(abs(a - b) for a, b in itertools.combinations(grey, 2)) > 0.3


def test_one_model_of_any_name_is_not_dashed_like_treating_all():
    """In grey the two lines of a plain decision curve differ by their dashes alone."""
    found = styles(["EuroSCORE", "all"])
    (_, score), (_, everyone) = (found[name].linestyle for name in ("EuroSCORE", "all"))
    assert len(score) != len(everyone)


def test_a_legend_is_read_by_rows(records):
    ax = plots.effective_sample(tb.prospects(records.X[:, 0], [0.1, 0.2, 0.3, 0.4, 0.5]))
    legend = ax.get_legend()
    legend.figure.canvas.draw()
    boxes = {text.get_text(): text.get_window_extent() for text in legend.get_texts()}
    read = sorted(boxes, key=lambda name: (-round(boxes[name].y0), boxes[name].x0))
    assert len({round(box.y0) for box in boxes.values()}) == 2
    assert read == ["t = 0.1", "t = 0.2", "t = 0.3", "t = 0.4", "t = 0.5"]


def test_ordered_values_go_from_light_to_dark():
    found = sequence([500, 1000, 5000, 10000]).values()
    grey = [float(np.dot(to_rgb(s.color), [0.299, 0.587, 0.114])) for s in found]
    assert grey == sorted(grey, reverse=True)
    assert len({(str(s.linestyle), s.marker) for s in found}) == 4


def test_a_model_has_one_colour_in_all_figures(records):
    axes = [
        plots.decision_curve(records.curve),
        plots.interventions_avoided(records.curve),
        plots.probability_useful(records.bayesian),
        plots.calibration(records.calibration),
        plots.posterior_intervals(records.intervals),
        plots.grid(records.net_benefits)[0],
    ]
    for ax in axes:
        for line in ax.get_lines():
            if line.get_label() in ("TB", "SB"):
                part = "tailored" if line.get_label() == "TB" else "standard"
                assert line.get_color() == ROLES[part].color
        assert {"TB", "SB"} <= set(lines(ax)) | {c.get_label() for c in ax.containers}


def test_ticks_tell_shares_per_1000_and_in_per_cent():
    ax = plt.subplots()[1]
    ax.set(xlim=(0, 0.2), ylim=(-0.01, 0.02), xticks=[0.05, 0.1], yticks=[-0.005, 0.0036])
    percent(ax.xaxis)
    per_1000(ax.yaxis)
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["5%", "10%"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["−5", "3.6"]


def test_the_upper_axis_names_the_ratio_of_each_threshold(records):
    ax = plots.decision_curve(records.fine)
    (top,) = ax.child_axes
    top.figure.canvas.draw()
    named = {text.get_text(): text.get_position()[0] for text in top.get_xticklabels()}
    assert {"1:9", "1:4", "1:1"} <= set(named)
    for text, t in named.items():
        harm, benefit = map(int, text.split(":"))
        assert t == pytest.approx(harm / (harm + benefit))


def test_the_look_is_not_left_behind_after_an_error(records):
    before = mpl.rcParams.copy()
    with pytest.raises(ValueError, match="coefficients must be some of"):
        plots.posterior_intervals(records.intervals, coefficients=["age"])
    with pytest.raises(TypeError):  # inside, when the look is in force
        plots.decision_curve(replace(records.curve, net_benefit=None))
    assert mpl.rcParams == before


def test_a_roles_own_name_comes_before_others_that_play_it():
    found = styles(["TB", "SB, right labels", "SB"])
    assert found["SB"] == ROLES["standard"]
    assert found["SB, right labels"] not in ROLES.values()


BACKEND = """
import matplotlib
from matplotlib.backends.backend_agg import *
matplotlib.interactive(True)  # as a notebook's does when it is loaded
"""
FIRST_FIGURE = """
import matplotlib
import tailoredbayes as tb
assert not matplotlib.is_interactive()
tb.plots.miscalibration_shapes(tb.miscalibration_shapes())
assert matplotlib.get_backend() == "module://notebooks"
assert matplotlib.is_interactive()
"""


def test_the_first_figure_of_a_notebook_does_not_keep_later_ones_from_being_shown(tmp_path):
    (tmp_path / "notebooks.py").write_text(BACKEND)
    there = {"PYTHONPATH": str(tmp_path), "MPLBACKEND": "module://notebooks"}
    subprocess.run([sys.executable, "-c", FIRST_FIGURE], env=os.environ | there, check=True)
