from dataclasses import replace

import numpy as np
import pytest

from tailoredbayes.datasets import load_wisconsin
from tailoredbayes.estimators import TailoredLogisticRegression
from tailoredbayes.studies.cohorts import fit_quietly, tailored_name
from tailoredbayes.studies.contract import stream
from tailoredbayes.studies.runner import run_study
from tailoredbayes.studies.wisconsin import STUDY, WisconsinSettings, biopsies

TINY = WisconsinSettings(
    thresholds=(0.3,), splits=2, samples=2, design=("split",), selection=("max",),
    sampler="metropolis", draws=200, exemplars=(0.3,),
)  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wisconsin")
    return run_study(STUDY, TINY, folder=folder, n_jobs=1, verbose=0)


@pytest.mark.parametrize("sample", [0, 7])
def test_forty_nine_malignant_training_labels_are_flipped(sample):
    settings = WisconsinSettings()
    wrong, clean = (biopsies(settings, labels, sample) for labels in ("contaminated", "clean"))
    assert (len(clean.y), len(clean.y_test)) == (489, 210)  # 70% of 699
    assert wrong.flipped.sum() == 49
    assert (wrong.y != clean.y).sum() == 49
    assert (clean.y[wrong.flipped] == 1).all()
    assert (wrong.y[wrong.flipped] == 0).all()
    assert not clean.flipped.any()
    # The same rows, and test labels as they are.
    assert wrong.X.index.equals(clean.X.index)
    np.testing.assert_array_equal(wrong.y_test, load_wisconsin().target[wrong.X_test.index])


def test_missing_nuclei_get_the_training_median():
    found, raw = biopsies(WisconsinSettings(), "clean", 0), load_wisconsin().data
    missing = raw["bare_nuclei"].isna()
    median = raw.loc[found.X.index, "bare_nuclei"].median()
    both = {**found.X["bare_nuclei"], **found.X_test["bare_nuclei"]}
    assert missing.sum() == 16
    assert {both[i] for i in raw.index[missing]} == {median}
    assert not found.X.index.intersection(found.X_test.index).size


def test_one_cell_equals_the_plain_computation(results):
    at, t = {"labels": "contaminated", "sample": 1, "split": 0}, 0.3
    found = biopsies(TINY, "contaminated", 1)
    model = TailoredLogisticRegression(
        t, design="split", selection="max", sampler="metropolis", draws=200,
        random_state=stream(TINY.seed, at),
    )  # fmt: skip
    fit_quietly(model, found.X, found.y)
    treat = model.predict_proba(found.X_test)[:, 1] >= t
    expected = (treat * np.where(found.y_test == 1, 1, -t / (1 - t))).mean()
    table = results["difference"].set_index([*at, "model", "threshold"])
    row = table.loc[(*at.values(), tailored_name("split", "max"), t)]
    assert row["net_benefit"] == pytest.approx(expected, abs=1e-12)
    assert row["discount"] == model.discount_


def test_clean_labels_stand_beside_the_contaminated_ones(results):
    found = list(STUDY.exhibits(results))
    assert {one.shows for one in found} - {""} == set(STUDY.shows)
    assert [one.name for one in found if one.shows == "Figure S4"] == [
        "figure-s4-contaminated",
        "figure-s4-clean",
    ]
    for claim in STUDY.claims(results):
        assert claim.agrees in (True, False, None)


def test_settings_are_checked():
    with pytest.raises(ValueError, match=r"exemplars must be some of the thresholds, got 0\.4"):
        replace(TINY, exemplars=(0.4,))
    with pytest.raises(ValueError, match="flipped must be less than the 169 malignant"):
        biopsies(WisconsinSettings(flipped=169), "contaminated", 0)
