"""TailoredClassifier: both models free."""

import numpy as np
import pandas as pd
import pytest
from plain import net_benefit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import tailoredbayes as tb
from tailoredbayes.reference import stratified_folds

T = 0.3
ignore_findings = pytest.mark.filterwarnings("ignore::tailoredbayes.TailoringWarning")


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 2))
    return x, (rng.random(n) < x[:, 1] / (x[:, 0] + x[:, 1])).astype(int)


def logistic(**more):
    return LogisticRegression(solver="newton-cholesky", **more)


def classifier(estimator=None, **more):
    settings = {"threshold": T, "discount": 5.0, "random_state": 0}
    estimator = logistic() if estimator is None else estimator
    return tb.TailoredClassifier(estimator, **{**settings, **more})


class ByHand:
    """The paper's two stages with plain loops, folds as the library cuts them."""

    def __init__(self, model, x, y, grid, seed=0, folds=5):
        rng = np.random.default_rng(seed)
        cells = stratified_folds(y == 1, 10, rng)
        self.risk = np.empty(len(y))
        for fold in range(10):
            out = cells == fold
            self.risk[out] = model().fit(x[~out], y[~out]).predict_proba(x[out])[:, 1]
        self.distance = (self.risk - T) ** 2
        labels = stratified_folds(y == 1, folds, rng)
        self.table = np.empty((len(grid), folds))
        for i, discount in enumerate(grid):
            w = np.exp(-discount * self.distance)
            for fold in range(folds):
                out = labels == fold
                fitted = model().fit(x[~out], y[~out], sample_weight=w[~out])
                self.table[i, fold] = net_benefit(y[out], fitted.predict_proba(x[out])[:, 1], T)
        self.discount = grid[self.table.mean(axis=1).round(12).argmax()]
        w = np.exp(-self.discount * self.distance)
        self.final = model().fit(x, y, sample_weight=w)


@ignore_findings
@pytest.mark.parametrize(
    "model",
    [
        lambda: logistic(random_state=0),
        GaussianNB,
        lambda: DecisionTreeClassifier(max_depth=3, random_state=0),
        lambda: HistGradientBoostingClassifier(max_iter=5, random_state=0),
        lambda: RandomForestClassifier(n_estimators=5, max_depth=3, random_state=0),
    ],
    ids=["logistic", "bayes", "tree", "boosting", "forest"],
)
def test_both_stages_and_the_search_are_those_of_a_plain_loop(model):
    x, y = rows(n=200)
    grid = [0, 20]
    with threadpool_limits(1):
        settings = {"discount": "cv", "discount_grid": grid, "selection": "max", "cv": 3}
        found = classifier(model(), **settings).fit(x, y)
        by_hand = ByHand(model, x, y, grid, folds=3)
    assert found.reference_risk_ == pytest.approx(by_hand.risk, abs=1e-10)
    table = found.discount_table_.pivot_table("net_benefit", "discount", "fold").to_numpy()
    assert table == pytest.approx(by_hand.table, abs=1e-12)
    assert found.discount_ == by_hand.discount
    expected = by_hand.final.predict_proba(x)
    assert found.predict_proba(x) == pytest.approx(expected, abs=1e-10)


@ignore_findings
def test_a_pipeline_of_mixed_columns():
    x, y = rows()
    frame = pd.DataFrame(
        {"age": x[:, 0], "size": x[:, 1], "sex": np.where(x[:, 0] > 0.5, "f", "m")}
    )
    columns = ColumnTransformer(
        [("numbers", StandardScaler(), ["age", "size"]), ("words", OneHotEncoder(), ["sex"])]
    )
    model = classifier(
        make_pipeline(columns, logistic()),
        discount="cv",
        discount_grid=[5, 50],
        reference=make_pipeline(ColumnTransformer([("one", "passthrough", ["size"])]), logistic()),
    ).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["age", "size", "sex"]
    assert model.predict(frame).shape == (300,)
    # pi_u knows one column.
    order = np.argsort(x[:, 1])
    assert np.corrcoef(order.argsort(), model.reference_risk_.argsort().argsort())[0, 1] > 0.95
    with pytest.raises(ValueError, match="columns are missing"):
        model.predict(frame[["age", "size"]])


def test_missing_values_are_the_estimators_business():
    x, y = rows()
    x[::7, 0] = np.nan
    with threadpool_limits(1):
        model = classifier(HistGradientBoostingClassifier(max_iter=5, random_state=0)).fit(x, y)
    assert np.isfinite(model.predict_proba(x)).all()
    with pytest.raises(ValueError, match="Input X contains NaN"):
        classifier().fit(x, y)


@ignore_findings
def test_a_risk_at_the_threshold_is_treated():
    x, y = rows()
    model = classifier(DecisionTreeClassifier(max_depth=2, random_state=0)).fit(x, y)
    leaf = float(np.unique(model.predict_proba(x)[:, 1])[1])
    model.threshold = leaf
    risk = model.predict_proba(x)[:, 1]
    assert (risk == leaf).any()
    assert model.predict(x).tolist() == (risk >= leaf).tolist()
    assert model.decision_function(x)[risk == leaf] == pytest.approx(0)


def test_no_discount_is_the_estimator_itself():
    x, y = rows()
    model = classifier(discount=0).fit(x, y)
    assert model.estimator_.coef_ == pytest.approx(logistic().fit(x, y).coef_)
    assert model.reference_risk_ is None
    assert model.discount_table_.empty
    assert (model.weights_ == 1).all()


def test_design_rows_do_not_reach_the_final_fit():
    x, y = rows()
    model = classifier(design="split").fit(x, y)
    used = model.weights_ > 0
    assert used.sum() == 240
    assert np.isnan(model.reference_risk_[~used]).all()
    by_hand = logistic().fit(x[used], y[used], sample_weight=model.weights_[used])
    assert model.estimator_.coef_ == pytest.approx(by_hand.coef_)


@ignore_findings
def test_rounds_refine():
    x, y = rows()
    model = classifier(discount="cv", discount_grid=[5, 20], rounds=1, selection="max").fit(x, y)
    table = model.discount_table_
    assert set(table["round"]) == {0, 1}
    means = table.groupby(["round", "discount"])["net_benefit"].mean()
    assert means[model.search_.round, model.discount_] == pytest.approx(means.max())


@ignore_findings
def test_unset_seeds_are_set_and_the_same_seed_gives_the_same_forest():
    x, y = rows()
    forest = RandomForestClassifier(n_estimators=5, max_depth=3)
    one, two, other = (
        classifier(forest, random_state=seed).fit(x, y).predict_proba(x) for seed in (0, 0, 1)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    assert forest.random_state is None
    fixed = classifier(RandomForestClassifier(n_estimators=5, random_state=7), random_state=1)
    assert fixed.fit(x, y).estimator_.random_state == 7


@ignore_findings
def test_the_seed_of_a_step_is_set():
    x, y = rows()
    model = classifier(make_pipeline(StandardScaler(), DecisionTreeClassifier(max_features=1)))
    fitted = [model.fit(x, y).predict_proba(x) for _ in range(2)]
    assert np.array_equal(*fitted)


# --- Bad input --------------------------------------------------------------------------------


def test_an_estimator_must_take_sample_weights():
    x, y = rows()
    for estimator in (
        KNeighborsClassifier(),
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
    ):
        with pytest.raises(TypeError, match=r"estimator must be .* whose fit takes sample_weight"):
            classifier(estimator).fit(x, y)


def test_an_estimator_must_give_probabilities():
    x, y = rows()
    with pytest.raises(
        TypeError, match="estimator must be a classifier with fit and predict_proba"
    ):
        classifier(LinearSVC()).fit(x, y)
    with pytest.raises(TypeError, match="estimator must be a classifier"):
        classifier("logistic").fit(x, y)


def test_a_class_in_place_of_an_estimator_is_refused():
    x, y = rows()
    with pytest.raises(TypeError, match="estimator must"):
        classifier(LogisticRegression).fit(x, y)
    for wrong in (LogisticRegression, "logistic"):
        with pytest.raises(TypeError, match="reference must be a classifier"):
            classifier(reference=wrong).fit(x, y)


def test_a_reference_need_not_take_weights_unless_there_are_some():
    x, y = rows()
    near = KNeighborsClassifier(50)
    model = classifier(reference=near).fit(x, y)
    assert set((model.reference_risk_ * 50).round(6) % 1) == {0}
    with pytest.raises(TypeError, match=r"reference must be .* whose fit takes sample_weight"):
        classifier(reference=near).fit(x, y, sample_weight=np.ones(300))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"threshold": 1.5}, "threshold must"),
        ({"discount": "max"}, "discount must"),
        ({"selection": "best"}, "selection must"),
        ({"cv": 1}, "cv must"),
        ({"rounds": 0.5}, "rounds must"),
        ({"design": 2}, "design must"),
        ({"distance": "cubic"}, "distance must"),
        ({"reference": LinearSVC()}, "reference must"),
        ({"pos_label": 7}, "pos_label must"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters, match):
    x, y = rows(n=60)
    with pytest.raises((ValueError, TypeError), match=match):
        classifier(**{"discount": "cv", **parameters}).fit(x, y)


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (np.zeros(60, dtype=int), "y must hold two labels, got one class only"),
        (np.linspace(0, 1, 60), "y must hold two labels"),
        (np.arange(60) % 3, "y must hold two labels"),
        (np.where(np.arange(60) == 3, np.nan, np.arange(60) % 2), "y contains NaN"),
        (np.zeros(59, dtype=int), r"X and y must have the same length, got 60 and 59"),
        (np.arange(60) == 0, "y must hold at least 2 events and 2 non-events"),
    ],
)
def test_outcomes_that_are_not_two_labels_are_refused(y, match):
    x, _ = rows(n=60)
    with pytest.raises(ValueError, match=match):
        classifier(discount="cv").fit(x, y)


@pytest.mark.parametrize("risk", [[0.3] * 59, [1.3] * 60, [np.nan] * 60])
def test_bad_reference_risks_are_refused_by_name(risk):
    x, y = rows(n=60)
    with pytest.raises(ValueError, match="reference_risk"):
        classifier().fit(x, y, reference_risk=risk)


def test_one_class_outside_a_fold_is_refused():
    x, y = rows(n=60)
    y = np.sort(y)
    half = int((1 - y).sum())
    cv = [(np.arange(half), np.arange(half, 60)), (np.arange(half, 60), np.arange(half))]
    with pytest.raises(ValueError, match="cv must leave events and non-events to learn from"):
        classifier(discount="cv", cv=cv).fit(x, y)


def test_columns_at_predict_must_be_those_of_fit():
    x, y = rows()
    frame = pd.DataFrame(x, columns=["age", "size"])
    model = classifier().fit(frame, y)
    for wrong in (frame[["age"]], frame.assign(sex=1), frame[["size", "age"]]):
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict_proba(wrong)


@ignore_findings
def test_ten_rows():
    x, _ = rows(n=10)
    model = classifier(discount="cv").fit(x, [0, 1] * 5)
    assert np.isfinite(model.predict_proba(x)).all()
    assert "rare-events" in {finding.code for finding in model.findings_}


class Timid(ClassifierMixin, BaseEstimator):
    """Refuses a weight of 0, and training rows of one class."""

    def fit(self, X, y, sample_weight=None):
        assert sample_weight is None or (sample_weight > 0).all()
        assert len(np.unique(y)) == 2
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


@ignore_findings
def test_rows_of_no_weight_are_not_handed_to_the_estimator():
    x, y = rows()
    weight = np.where(np.arange(300) % 3 == 0, 0.0, 1.0)
    model = classifier(Timid(), discount="cv", discount_grid=[3], design=0.3)
    model.fit(x, y, sample_weight=weight, reference_risk=None)
    assert (model.weights_[weight == 0] == 0).all()


def test_a_discount_far_too_large_is_refused_by_name():
    x, y = rows()
    with pytest.raises(ValueError, match="discount"):
        classifier(discount=1e15).fit(x, y)
    with pytest.raises(ValueError, match="discount"):
        classifier(discount="cv", discount_grid=[1e15]).fit(x, y)


def test_what_an_estimator_refuses_is_said_of_the_argument():
    X = np.array([["a"], ["b"]] * 20, dtype=object)
    y = np.tile([0, 0, 1, 1], 10)
    model = tb.TailoredClassifier(LogisticRegression(), 0.3, random_state=0)
    with pytest.raises(ValueError, match=r"^estimator could not be fitted to X and y: could not"):
        model.set_params(discount=0).fit(X, y)
    with pytest.raises(ValueError, match=r"^(reference|estimator) could not be fitted to X and y"):
        model.set_params(discount=5).fit(X, y)
