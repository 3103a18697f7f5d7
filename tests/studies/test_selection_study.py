from dataclasses import replace

import numpy as np
import pytest

from tailoredbayes.studies.page import write_page
from tailoredbayes.studies.runner import run_study
from tailoredbayes.studies.selection import STUDY, SelectionSettings, summarise

TINY = SelectionSettings(
    n=(300,),
    thresholds=(0.3,),
    real_thresholds=(0.3,),
    repetitions=1,
    designs=("crossfit",),
    rounds=(0, 1),
    cv_repeats=(1,),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("selection")
    return run_study(STUDY, TINY, folder=folder, n_jobs=1, verbose=0)


@pytest.fixture(scope="module")
def frame(results):
    return results["gain"]


def test_every_combination_meets_every_data_set(frame):
    by = ["data", "threshold", "rule", "design", "rounds", "cv_repeats"]
    assert not frame.duplicated(by).any()
    assert len(frame) == 5 * len(TINY.rules) * 2  # two simulations and three data sets, two rounds


def test_standard_bayes_gains_nothing_over_itself(frame):
    np.testing.assert_allclose(frame.loc[frame["discount"] == 0, "gain"], 0, atol=1e-6)


def test_without_refinement_the_round_is_the_first(frame):
    assert (frame.loc[frame["rounds"] == 0, "round"] == 0).all()
    assert (frame["round"] <= frame["rounds"]).all()


def test_cells_are_seeded_by_their_own_coordinates(frame, tmp_path):
    settings = replace(TINY, repetitions=2, rules=("max",))
    more = run_study(STUDY, settings, folder=tmp_path, n_jobs=1, verbose=0)["gain"]
    again = more[more["repetition"] == 0].reset_index(drop=True)
    before = frame[frame["rule"] == "max"].reset_index(drop=True)
    np.testing.assert_array_equal(again["gain"], before["gain"])


def test_real_data_have_the_size_of_their_split(frame):
    sizes = frame.groupby("data")["n"].unique().map(list).to_dict()
    assert sizes["sim1, q = 1"] == [300]
    assert sizes["wisconsin"] == [round(683 * (1 - TINY.test_share))]


def test_clear_harm_is_two_standard_errors_below_zero(frame):
    one = frame[(frame["rule"] == "max") & (frame["rounds"] == 0)]
    twice = one.iloc[np.repeat(np.arange(len(one)), 2)].copy()
    twice["gain"] = np.tile([-3.0, -2.0], len(one))  # mean -2.5, standard error 0.5
    twice["repetition"] = np.tile([0, 1], len(one))
    assert summarise(twice)["clear harm"].tolist() == [1.0]
    twice["gain"] = np.tile([-3.0, 2.0], len(one))
    assert summarise(twice)["clear harm"].tolist() == [0.0]


def test_the_page_tells_the_table_and_what_the_papers_procedure_gained(results, tmp_path):
    both = replace(TINY, designs=("crossfit", "split"), rules=("max", "smooth"), rounds=(0,))
    found = run_study(STUDY, both, folder=tmp_path, n_jobs=1, verbose=0)
    text = write_page(STUDY, found, tmp_path).read_text()
    assert "| max | split | 0 | 1 |" in text
    assert "By the paper's procedure:" in text
    assert "| data | n | threshold | max, 1 x CV | smooth, 1 x CV |" in text
    alone = write_page(STUDY, results, tmp_path).read_text()
    assert "| guarded | crossfit | 1 | 1 |" in alone
    assert "What the paper says" not in alone


def test_settings_are_checked():
    with pytest.raises(ValueError, match="selection must be one of"):
        SelectionSettings(rules=("best",))
    with pytest.raises(ValueError, match="threshold must lie strictly"):
        SelectionSettings(real_thresholds=(1.0,))
