"""TailoredFamily: each member is the model fitted alone, and much is shared."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import tailoredbayes as tb
from tailoredbayes.posterior import TailoredPosterior

THRESHOLDS = [0.2, 0.35, 0.5]
ignore_findings = pytest.mark.filterwarnings("ignore::tailoredbayes.TailoringWarning")


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 2))
    return x, (rng.random(n) < x[:, 1] / (x[:, 0] + x[:, 1])).astype(int)


def family(thresholds=THRESHOLDS, **more):
    settings = {"discount": 5.0, "draws": 300, "random_state": 0}
    return tb.TailoredFamily(thresholds, **{**settings, **more})


@ignore_findings
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"discount": "cv"},
        {"discount": "cv", "rounds": 1, "cv_repeats": 2, "selection": "one_se"},
        {"discount": "cv", "design": "split", "sampler": "laplace"},
        {"pos_label": 0, "fit_intercept": False, "prior": tb.Normal(0, 3)},
    ],
)
def test_a_family_is_its_members_fitted_alone(settings):
    x, y = rows()
    found = family(**settings).fit(x, y)
    for t in THRESHOLDS:
        parameters = {"discount": 5.0, "draws": 300, "random_state": 0, **settings}
        alone = tb.TailoredLogisticRegression(t, **parameters).fit(x, y)
        member = found.models_[t]
        assert member.discount_ == alone.discount_ == found.discounts_[t]
        np.testing.assert_allclose(member.weights_, alone.weights_, rtol=1e-6)
        np.testing.assert_allclose(member.draws_.values, alone.draws_.values, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(member.predict_proba(x), alone.predict_proba(x), rtol=1e-6)
        assert member.predict(x).tolist() == alone.predict(x).tolist()
        assert member.classes_.tolist() == [0, 1]
        pd.testing.assert_frame_equal(member.discount_table_, alone.discount_table_)
        assert member.get_params().keys() == alone.get_params().keys()
        assert member.threshold == t


@ignore_findings
def test_the_standard_model_is_the_fit_without_discount():
    x, y = rows()
    found = family(discount="cv").fit(x, y)
    alone = tb.TailoredLogisticRegression(discount=0, draws=300, random_state=0).fit(x, y)
    np.testing.assert_allclose(found.standard_.draws_.values, alone.draws_.values, rtol=1e-6)
    assert found.standard_.discount_ == 0
    assert found.standard_.discount == 0
    assert found.standard_.reference_risk_ is None
    assert found.standard_.effective_sample_size_ == 400


def test_risks_and_decisions_are_those_of_the_members():
    x, y = rows()
    found = family([0.5, 0.2]).fit(x, y)  # in any order
    assert found.thresholds_.tolist() == [0.2, 0.5]
    assert list(found.models_) == [0.2, 0.5]
    risks = np.stack([found.models_[t].predict_proba(x)[:, 1] for t in (0.2, 0.5)], axis=1)
    assert found.risks(x) == pytest.approx(risks)
    assert found.decisions(x).tolist() == (risks >= [0.2, 0.5]).astype(int).tolist()


def test_tables_of_all_members_one_below_the_other():
    x, y = rows()
    with pytest.warns(tb.TailoringWarning):
        found = family(discount="cv", discount_grid=[3]).fit(x, y)
    table = found.discount_table_
    assert sorted(set(table["threshold"])) == THRESHOLDS
    assert len(table) == 3 * 2 * 5
    folds = table[table["discount"] == 0].groupby("fold")
    assert (folds.size() == 3).all()


def test_stage_1_and_the_folds_are_shared(monkeypatch):
    # However many thresholds: one posterior of the rows, reweighted thrice.
    x, y = rows()
    made, reweighted = [], []
    init, reweight = TailoredPosterior.__init__, TailoredPosterior.reweighted
    monkeypatch.setattr(
        TailoredPosterior, "__init__", lambda *a, **k: made.append(1) or init(*a, **k)
    )
    monkeypatch.setattr(
        TailoredPosterior,
        "reweighted",
        lambda self, w: reweighted.append(1) or reweight(self, w),
    )
    with pytest.warns(tb.TailoringWarning):
        found = family(discount="cv", discount_grid=[3]).fit(x, y)
    assert (len(made), len(reweighted)) == (1, 3)
    first, *others = (model.reference_risk_ for model in found.models_.values())
    assert all(np.array_equal(first, other) for other in others)


def test_the_habits_of_an_estimator():
    x, y = rows()
    model = family()
    assert model.get_params()["thresholds"] is THRESHOLDS
    assert clone(model).set_params(thresholds=[0.4]).fit(x, y).thresholds_.tolist() == [0.4]
    assert model.fit(pd.DataFrame(x, columns=["age", "size"]), y) is model
    assert model.feature_names_in_.tolist() == ["age", "size"]
    assert model.models_[0.2].feature_names_in_.tolist() == ["age", "size"]
    assert model.models_[0.2].summary().index.tolist() == ["intercept", "age", "size"]
    assert model.classes_.tolist() == [0, 1]
    text = repr(model)
    assert "discounts: 0.2: 5, 0.35: 5, 0.5: 5" in text
    assert "findings: none" in text


def test_fitting_again_forgets_the_first_fit():
    x, y = rows()
    model = family().fit(x, y)
    model.set_params(thresholds=[0.3]).fit(x, y)
    assert list(model.models_) == [0.3]
    assert model.risks(x).shape == (400, 1)


@pytest.mark.parametrize(
    ("thresholds", "match"),
    [
        ([0.2, 0.2], "thresholds must differ"),
        ([0.2, 1.0], "threshold must lie"),
        ([0.0], "threshold must lie"),
        ([np.nan], "threshold must lie"),
        ([], "thresholds"),
        ("abc", "thresholds"),
        (None, "thresholds"),
    ],
)
def test_bad_thresholds_are_refused_by_name(thresholds, match):
    x, y = rows()
    with pytest.raises((ValueError, TypeError), match=match):
        family(thresholds).fit(x, y)


def test_one_threshold_may_be_a_number():
    x, y = rows()
    assert list(family(0.3).fit(x, y).models_) == [0.3]


@pytest.mark.parametrize(
    ("parameters", "match"),
    [({"discount": -1}, "discount must"), ({"cv": 1}, "cv must"), ({"design": 3}, "design must")],
)
def test_bad_parameters_are_refused_by_name(parameters, match):
    x, y = rows()
    with pytest.raises(ValueError, match=match):
        family(**{"discount": "cv", **parameters}).fit(x, y)
    with pytest.raises(ValueError, match="y must hold two labels"):
        family().fit(x, np.zeros(400, dtype=int))
