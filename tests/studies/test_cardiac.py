import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from tailoredbayes.datasets import load_euroscore
from tailoredbayes.estimators import TailoredLogisticRegression
from tailoredbayes.reference import recalibration
from tailoredbayes.studies.cardiac import (
    PREVALENCE,
    STUDY,
    CardiacSettings,
    Surgery,
    cells,
    euroscore_risk,
)
from tailoredbayes.studies.contract import stream
from tailoredbayes.studies.page import write_page
from tailoredbayes.studies.runner import run_study

TINY = CardiacSettings(
    n=2000, splits=2, cohorts=2, population=1000, selection=("max",), sampler="laplace", draws=400
)
# Each statistical test fails once in about 10,000 seeds.
WITHIN = 4.0


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return run_study(STUDY, TINY, folder=tmp_path_factory.mktemp("cardiac"), n_jobs=1, verbose=0)


@pytest.mark.parametrize(
    ("patient", "eta"),
    [
        # A man under 60 with nothing: x = 1 for age.
        ({"age": 45}, -4.789594 + 0.0666354),
        ({"age": 59}, -4.789594 + 0.0666354),
        ({"age": 60}, -4.789594 + 2 * 0.0666354),
        # A woman of 75, emergency valve operation, poor ventricle: x = 17 for age.
        (
            {
                "age": 75, "female": 1, "emergency": 1, "other_than_isolated_cabg": 1,
                "lv_poor_ef_lt_30": 1,
            },
            -4.789594 + 17 * 0.0666354 + 0.3304052 + 0.7127953 + 0.5420364 + 1.094443,
        ),
        # Everything that can be had at once.
        (
            {
                "age": 80, "female": 1, "chronic_pulmonary_disease": 1,
                "extracardiac_arteriopathy": 1, "neurological_dysfunction": 1,
                "previous_cardiac_surgery": 1, "creatinine_gt_200_umol": 1,
                "active_endocarditis": 1, "critical_preoperative_state": 1, "unstable_angina": 1,
                "lv_moderate_ef_30_50": 1, "recent_mi_lt_90d": 1,
                "pulmonary_hypertension_spap_gt_60": 1, "thoracic_aorta_surgery": 1,
                "postinfarct_septal_rupture": 1,
            },
            -4.789594 + 22 * 0.0666354 + 0.3304052 + 0.4931341 + 0.6558917 + 0.841626 + 1.002625
            + 0.6521653 + 1.101265 + 0.9058132 + 0.5677075 + 0.4191643 + 0.5460218 + 0.7676924
            + 1.159787 + 1.462009,
        ),
    ],
)  # fmt: skip
def test_the_published_equation(patient, eta):
    found = euroscore_risk(pd.DataFrame([patient]))
    assert found[0] == pytest.approx(1 / (1 + math.exp(-eta)), rel=1e-12)


def test_risk_factors_are_as_common_as_assumed():
    n = 200_000
    patients, _, _ = Surgery().sample(n, np.random.default_rng(1))
    assert list(patients.columns) == list(load_euroscore().coef.index)
    for factor, share in PREVALENCE.items():
        error = math.sqrt(share * (1 - share) / n)
        assert patients[factor].mean() == pytest.approx(share, abs=WITHIN * error), factor
    assert not (patients["lv_poor_ef_lt_30"] * patients["lv_moderate_ef_30_50"]).any()
    assert (patients["other_than_isolated_cabg"] == 1).all()
    correlation = np.corrcoef(patients["chronic_pulmonary_disease"], patients["female"])[0, 1]
    assert correlation > WITHIN / math.sqrt(n)  # frailty ties them


def test_recalibration_finds_the_drift_again():
    surgery = Surgery("drift", intercept=-1.0, slope=0.8)
    patients, y, _ = surgery.sample(100_000, np.random.default_rng(2))
    risk = euroscore_risk(patients)
    found = recalibration(risk, y == 1)
    # Fisher's information of the two, at the truth.
    z = np.column_stack([np.ones(len(y)), np.log(risk / (1 - risk))])
    p = 1 / (1 + np.exp(-z @ [-1.0, 0.8]))
    error = np.sqrt(np.diag(np.linalg.inv((z * (p * (1 - p))[:, None]).T @ z)))
    assert found.intercept == pytest.approx(-1.0, abs=WITHIN * error[0])
    assert found.slope == pytest.approx(0.8, abs=WITHIN * error[1])


def test_who_dies_follows_the_true_risk():
    patients, y, risk = Surgery("changed").sample(100_000, np.random.default_rng(3))
    np.testing.assert_allclose(Surgery("changed").risk(patients), risk)
    error = math.sqrt((risk * (1 - risk)).sum()) / len(y)
    assert y.mean() == pytest.approx(risk.mean(), abs=WITHIN * error)


def test_the_changed_world_is_the_drifted_one_without_its_changes():
    """With no saturation to speak of, patients without a changed factor have the drifted risk."""
    patients, _, drifted = Surgery("drift").sample(2000, np.random.default_rng(4))
    changed = Surgery("changed", saturation=1e9).risk(patients)
    factors = ["previous_cardiac_surgery", "chronic_pulmonary_disease"]
    same = ~patients[[*factors, "critical_preoperative_state"]].any(axis=1).to_numpy()
    np.testing.assert_allclose(changed[same], drifted[same], rtol=1e-6)
    assert (changed[~same] != drifted[~same]).any()
    assert (Surgery("changed").risk(patients)[same] <= drifted[same] + 1e-12).all()


def test_cells_split_the_first_cohort_most_often():
    found = list(cells(TINY))
    assert len(found) == 2 * (2 + 1)
    assert {"world": "changed", "cohort": 1, "split": 0} in found


def test_one_cell_equals_the_plain_computation(results):
    at, t = {"world": "changed", "cohort": 0, "split": 1}, 0.1
    surgery = TINY.surgery("changed")
    patients, y, _ = surgery.sample(TINY.n, stream(TINY.seed, {"cohort": 0}))
    seed = int(stream(TINY.seed, {"cohort": 0, "split": 1}).integers(2**31))
    train, test = train_test_split(np.arange(TINY.n), test_size=0.2, stratify=y, random_state=seed)
    x = patients.drop(columns=["other_than_isolated_cabg", "postinfarct_septal_rupture"])
    x["age"] = np.maximum(1, x["age"] - 58) / 10
    score = euroscore_risk(patients)
    model = TailoredLogisticRegression(
        t, selection="max", sampler="laplace", draws=400, random_state=stream(TINY.seed, at)
    ).fit(x.iloc[train], y[train], reference_risk=score[train], recalibrate=True)

    def benefit(treat):
        return (treat * np.where(y[test] == 1, 1, -t / (1 - t))).mean()

    treated = model.predict_proba(x.iloc[test])[:, 1] >= t
    table = results["difference"]
    here = (table[list(at)] == pd.Series(at)).all(axis=1) & (table["threshold"] == t)
    row = table[here & (table["against"] == "ES")].iloc[0]
    assert row["net_benefit"] == pytest.approx(benefit(treated), abs=1e-12)
    assert row["other"] == pytest.approx(benefit(score[test] >= t), abs=1e-12)


def test_nothing_beats_the_truth(results):
    table = results["population"].groupby(["world", "threshold", "cohort", "split"])
    for _, rows in table:
        best = rows.loc[rows["model"] == "truth", "net_benefit"].item()
        assert (rows["net_benefit"] <= best + 1e-12).all()


def test_the_page_says_first_that_the_patients_are_simulated(results, tmp_path):
    text = write_page(STUDY, results, tmp_path).read_text()
    first = next(line for line in text.splitlines()[1:] if line)
    assert first.startswith("**The patients are simulated")
    for factor in PREVALENCE:
        assert f"| {factor.replace('_', ' ')} |" in text
    assert {one.shows for one in STUDY.exhibits(results)} - {""} == set(STUDY.shows)
    assert len(list((tmp_path / "figures").glob("*.png"))) == 4


def test_settings_are_checked():
    with pytest.raises(ValueError, match="world must be one of drift, changed, got 'mars'"):
        replace(TINY, worlds=("mars",))
    with pytest.raises(ValueError, match="saturation must be"):
        Surgery("changed", saturation=0.0)
