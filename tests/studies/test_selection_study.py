from dataclasses import replace

import numpy as np
import pytest

from tailoredbayes.studies.selection import SelectionStudy, main, page, run, summarise

TINY = SelectionStudy(
    sizes=(300,),
    thresholds=(0.3,),
    real_thresholds=(0.3,),
    repetitions=1,
    designs=("crossfit",),
    rounds=(0, 1),
    cv_repeats=(1,),
)


@pytest.fixture(scope="module")
def frame():
    return run(TINY)


def test_every_combination_meets_every_data_set(frame):
    by = ["data", "threshold", "rule", "design", "rounds", "cv_repeats"]
    assert not frame.duplicated(by).any()
    assert len(frame) == 5 * len(TINY.rules) * 2  # two simulations and three data sets, two rounds


def test_standard_bayes_gains_nothing_over_itself(frame):
    np.testing.assert_allclose(frame.loc[frame["discount"] == 0, "gain"], 0, atol=1e-6)


def test_without_refinement_the_round_is_the_first(frame):
    assert (frame.loc[frame["rounds"] == 0, "round"] == 0).all()
    assert (frame["round"] <= frame["rounds"]).all()


def test_cells_are_seeded_by_their_own_coordinates(frame):
    more = run(replace(TINY, repetitions=2, rules=("max",)), n_jobs=2)
    again = more[more["repetition"] == 0].reset_index(drop=True)
    before = frame[frame["rule"] == "max"].reset_index(drop=True)
    np.testing.assert_array_equal(again["gain"], before["gain"])


def test_clear_harm_is_two_standard_errors_below_zero(frame):
    one = frame[(frame["rule"] == "max") & (frame["rounds"] == 0)]
    twice = one.iloc[np.repeat(np.arange(len(one)), 2)].copy()
    twice["gain"] = np.tile([-3.0, -2.0], len(one))  # mean -2.5, standard error 0.5
    twice["repetition"] = np.tile([0, 1], len(one))
    assert summarise(twice)["clear harm"].tolist() == [1.0]
    twice["gain"] = np.tile([-3.0, 2.0], len(one))
    assert summarise(twice)["clear harm"].tolist() == [0.0]


def test_the_page_tells_settings_and_table(frame):
    text = page(TINY, summarise(frame), frame, 1.0)
    assert "| guarded | crossfit | 1 | 1 |" in text
    assert f"Seed {TINY.seed}" in text


@pytest.mark.slow
def test_the_command_writes_page_and_table(tmp_path, capsys):
    main(["--out", str(tmp_path / "new"), "--repetitions", "1", "--n-jobs", "2"])
    assert (tmp_path / "new" / "selection.md").read_text() in capsys.readouterr().out
    assert (tmp_path / "new" / "selection.csv").exists()
