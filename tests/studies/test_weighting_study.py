from dataclasses import replace

import numpy as np
import pytest

from tailoredbayes.datasets import load_breast_prognosis
from tailoredbayes.estimators import TailoredLogisticRegression
from tailoredbayes.studies.cohorts import tailored_name
from tailoredbayes.studies.contract import stream
from tailoredbayes.studies.runner import run_study
from tailoredbayes.studies.weighting import STUDY, WeightingSettings

TINY = WeightingSettings(
    thresholds=(0.2, 0.4), epsilon=(0.0, 0.1), splits=2, design=("split",), selection=("max",),
    draws=200,
)  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weighting")
    return run_study(STUDY, TINY, folder=folder, n_jobs=1, verbose=0)


def test_every_function_meets_every_threshold_and_split(results):
    table = results["difference"]
    assert table["panel"].unique().tolist() == ["squared", "ε = 0", "ε = 0.1"]
    assert len(table) == 3 * 2 * 2
    # Standard Bayes does not know of the distance.
    assert (table.groupby(["split", "threshold"])["other"].nunique() == 1).all()


def test_one_cell_equals_the_plain_computation(results):
    women, t = load_breast_prognosis(), 0.2
    model = TailoredLogisticRegression(
        t, design="split", selection="max", distance="absolute", epsilon=0.1, draws=200,
        random_state=stream(TINY.seed, {"split": 1}),
    ).fit(women.X, women.y)  # fmt: skip
    treat = model.predict_proba(women.X_test)[:, 1] >= t
    expected = (treat * np.where(women.y_test == 1, 1, -t / (1 - t))).mean()
    table = results["difference"].set_index(["split", "panel", "model", "threshold"])
    row = table.loc[(1, "ε = 0.1", tailored_name("split", "max"), t)]
    assert row["net_benefit"] == pytest.approx(expected, abs=1e-12)
    assert row["discount"] == model.discount_


def test_the_study_shows_what_it_says_it_shows(results):
    found = list(STUDY.exhibits(results))
    assert {one.shows for one in found} - {""} == set(STUDY.shows)
    (claim,) = STUDY.claims(results)
    assert claim.agrees in (True, False)


def test_settings_are_checked():
    with pytest.raises(ValueError, match="epsilon must"):
        replace(TINY, epsilon=(-0.1,))
