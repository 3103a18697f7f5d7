from dataclasses import replace

import numpy as np
import pytest

from tailoredbayes.datasets import load_breast_prognosis
from tailoredbayes.estimators import TailoredLogisticRegression
from tailoredbayes.studies.breast import STUDY, BreastSettings, cell
from tailoredbayes.studies.cohorts import (
    difference_rows,
    intervals_from,
    prospects_from,
    resplit_from,
    settled,
    tailored_name,
)
from tailoredbayes.studies.contract import stream
from tailoredbayes.studies.page import write_page
from tailoredbayes.studies.runner import run_study

TINY = BreastSettings(
    thresholds=(0.15, 0.4), splits=2, sampler="laplace", draws=500, design=("split",),
    selection=("max",),
)  # fmt: skip
PAPER = tailored_name("split", "max")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return run_study(STUDY, TINY, folder=tmp_path_factory.mktemp("breast"), n_jobs=1, verbose=0)


def test_one_cell_equals_the_plain_computation(results):
    """One threshold, fitted alone, net benefit counted by hand."""
    women, t = load_breast_prognosis(), 0.4
    model = TailoredLogisticRegression(
        t, design="split", selection="max", sampler="laplace", draws=500,
        random_state=stream(TINY.seed, {"split": 1}),
    ).fit(women.X, women.y)  # fmt: skip
    treat = model.predict_proba(women.X_test)[:, 1] >= t
    n, events = len(women.y_test), women.y_test == 1
    expected = (treat & events).sum() / n - (treat & ~events).sum() / n * t / (1 - t)
    table = results["difference"]
    found = table[(table["split"] == 1) & (table["threshold"] == t) & (table["features"] == "raw")]
    assert found["net_benefit"].item() == pytest.approx(expected, abs=1e-12)
    assert found["discount"].item() == model.discount_
    difference = found["net_benefit"] - found["other"]
    np.testing.assert_allclose(found["difference"], difference, atol=1e-12)


def test_errors_over_splits_and_of_the_test_set_stand_side_by_side(results):
    table = results["difference"]
    found = resplit_from(table[table["features"] == "raw"], PAPER, "SB")
    rows = table[(table["features"] == "raw") & (table["threshold"] == 0.15)]
    assert found.difference[0, 0] == pytest.approx(rows["difference"].mean())
    assert found.standard_error[0, 0] == pytest.approx(abs(np.diff(rows["difference"])[0]) / 2)
    own = np.sqrt((rows["sampling_error"] ** 2).mean())
    assert found.sampling_error[0, 0] == pytest.approx(own)


def test_the_study_shows_what_it_says_it_shows(results):
    assert {one.shows for one in STUDY.exhibits(results)} - {""} == set(STUDY.shows)


@pytest.mark.slow
def test_the_page_has_every_figure(results, tmp_path):
    exhibits = list(STUDY.exhibits(results))
    text = write_page(STUDY, results, tmp_path).read_text()
    assert "this is a stand-in" in text
    assert "A better feature" in text
    figures = sorted(path.stem for path in (tmp_path / "figures").glob("*.png"))
    assert len(figures) == sum(one.draw is not None for one in exhibits)


def test_two_patients_are_of_like_risk_and_unlike_spread(results):
    (figure,) = (one for one in STUDY.exhibits(results) if one.shows == "Figure 11")
    frame = figure.table
    assert frame["patient"].nunique() == 2
    claim = next(one for one in STUDY.claims(results) if "Figure 11" in one.where)
    assert claim.agrees in (True, False)


def test_the_first_split_is_shown_with_its_searches(results):
    found = prospects_from(results["reference"]["risk"], TINY.thresholds, results["search"])
    assert list(found.searches) == list(TINY.thresholds)
    chosen = results["difference"]
    chosen = chosen[(chosen["split"] == 0) & (chosen["features"] == "raw")]
    assert [path.chosen for path in found.searches.values()] == chosen["discount"].tolist()
    assert len(results["reference"]) == round(0.8 * 2944)


def test_a_cell_takes_its_randomness_from_its_split(results):
    again = cell(replace(TINY, splits=5), {"split": 1})["difference"]
    before = results["difference"]
    found = [row["net_benefit"] for row in again]
    assert found == before.loc[before["split"] == 1, "net_benefit"].tolist()


def test_differences_are_settled_by_two_errors():
    rows = difference_rows([1, 0], {"SB": np.zeros(2), "TB": np.ones(2)}, [0.2], "SB")
    assert rows[0]["difference"] == pytest.approx(0.5 - 0.5 / 4)
    assert settled(0.0, 0.0) is False


def test_intervals_come_back_from_their_table():
    from tailoredbayes.evaluation.posteriors import posterior_intervals

    draws = np.random.default_rng(0).normal(size=(50, 2))
    before = posterior_intervals({"SB": draws, "TB": draws + 1}, names=["age", "size"])
    after = intervals_from(before.to_frame())
    assert after.names == before.names
    assert after.probs == before.probs
    assert after.intervals.keys() == before.intervals.keys()
    for key, ends in before.intervals.items():
        np.testing.assert_array_equal(after.intervals[key], ends)
    np.testing.assert_array_equal(after.median["TB"], before.median["TB"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"features": ("sqrt",)}, "features must be some of raw, log, got sqrt"),
        ({"exemplar": 0.2}, "exemplar must be one of the thresholds 0.15, 0.4, got 0.2"),
        ({"design": ("split", "crossfit")}, "design and selection must be given in pairs"),
        ({"splits": 1}, "splits must be a finite number at least 2, got 1"),
    ],
)
def test_settings_are_checked(wrong, message):
    with pytest.raises(ValueError, match=message):
        replace(TINY, **wrong)
