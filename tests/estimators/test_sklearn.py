"""The habits of scikit-learn: what a user of it never has to read about."""

import io

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import parallel_config
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import tailoredbayes as tb

ignore_findings = pytest.mark.filterwarnings("ignore::tailoredbayes.TailoringWarning")

# The toy data of the checks are separated, so that under the default prior NUTS draws.
SEPARATED = {
    "check_sample_weight_equivalence_on_dense_data": (
        "the check's data (45 rows, 30 columns) are separated, so NUTS draws; sums of repeated "
        "rows and of weighted ones differ in their last bits, and so chains part. Under a prior "
        "that keeps the posterior near normal the check passes: test_scikit_learns_checks"
    )
}


@ignore_findings
@parametrize_with_checks(
    [
        tb.TailoredLogisticRegression(prior=tb.Normal(0, 1), sampler="laplace", draws=50),
        tb.TailoredClassifier(LogisticRegression(solver="newton-cholesky"), discount_grid=[5]),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@ignore_findings
@parametrize_with_checks(
    [tb.TailoredLogisticRegression(draws=200)],
    expected_failed_checks=lambda estimator: SEPARATED,
)
def test_scikit_learns_checks_of_the_default_model(estimator, check):
    check(estimator)


@pytest.mark.slow
@ignore_findings
@parametrize_with_checks([tb.TailoredClassifier(LogisticRegression())])
def test_scikit_learns_checks_of_the_default_classifier(estimator, check):
    check(estimator)


# --- A small world ----------------------------------------------------------------------------


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 2))
    return x, (rng.random(n) < x[:, 1] / (x[:, 0] + x[:, 1])).astype(int)


def logistic(**more):
    settings = {"threshold": 0.3, "discount": 5.0, "draws": 200, "random_state": 0}
    return tb.TailoredLogisticRegression(**{**settings, **more})


def newton(**more):
    return LogisticRegression(solver="newton-cholesky", **more)


def classifier(estimator=None, **more):
    settings = {"threshold": 0.3, "discount": 5.0, "random_state": 0}
    return tb.TailoredClassifier(
        newton() if estimator is None else estimator, **{**settings, **more}
    )


def family(**more):
    settings = {"discount": 5.0, "draws": 200, "random_state": 0}
    return tb.TailoredFamily([0.3, 0.5], **{**settings, **more})


MODELS = {"logistic": logistic, "classifier": classifier}
ALL = {**MODELS, "family": family}

each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
each_estimator = pytest.mark.parametrize("make", ALL.values(), ids=ALL)


def risks(model, X):
    return model.risks(X) if hasattr(model, "risks") else model.predict_proba(X)


# --- Parameters, clones, pickles --------------------------------------------------------------


@each_estimator
def test_parameters_are_kept_as_given_and_cloned(make):
    model = make(epsilon=0.01, cv=3, discount_grid=[0, 5], discount="cv")
    parameters = model.get_params(deep=False)
    assert parameters["discount_grid"] == [0, 5]
    copy = clone(model)
    assert copy.get_params(deep=False).keys() == parameters.keys()
    assert copy.epsilon == 0.01
    assert copy.set_params(epsilon=0.0, cv=4) is copy
    assert (copy.epsilon, copy.cv, model.cv) == (0.0, 4, 3)


@each_estimator
def test_fit_returns_itself_and_leaves_its_parameters_alone(make):
    x, y = rows()
    model = make()
    before = {name: repr(value) for name, value in model.get_params().items()}
    assert model.fit(x, y) is model
    assert {name: repr(value) for name, value in model.get_params().items()} == before


@each_estimator
def test_before_fit_it_says_so(make):
    x, _ = rows()
    model = make()
    for ask in ("risks", "decisions", "predict", "predict_proba", "decision_function"):
        if hasattr(model, ask):
            with pytest.raises(NotFittedError):
                getattr(model, ask)(x)


@ignore_findings
@each_estimator
def test_joblib_keeps_a_fitted_model(make):
    x, y = rows()
    model = make(discount="cv", discount_grid=[5]).fit(x, y)
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    again = joblib.load(file)
    assert np.array_equal(risks(again, x), risks(model, x))
    assert again.findings_ == model.findings_


@each_estimator
@pytest.mark.parametrize("seed", [0, np.random.RandomState(0), np.random.default_rng(0), None])
def test_any_seed_will_do(make, seed):
    x, y = rows(n=100)
    risk = risks(make(random_state=seed).fit(x, y), x)
    assert np.isfinite(risk).all()


@each_estimator
def test_same_seed_same_answer(make):
    x, y = rows()
    model = make()
    first = risks(model.fit(x, y), x)
    assert np.array_equal(risks(model.fit(x, y), x), first)
    assert np.array_equal(risks(clone(model).fit(x, y), x), first)
    # The classifier draws nothing: its seed cuts the folds.
    assert not np.array_equal(risks(make(random_state=1).fit(x, y), x), first)


# --- Labels -----------------------------------------------------------------------------------


@each_model
@pytest.mark.parametrize(
    ("labels", "pos_label"),
    [
        ((False, True), None),
        (("absent", "present"), None),
        (("well", "ill"), "ill"),  # the smaller label is the event
        ((1, 0), 0),
        ((-1, 1), None),
        ((2.0, 1.0), 1.0),
    ],
)
def test_labels_of_any_kind(make, labels, pos_label):
    x, y = rows()
    named = np.array([labels[event] for event in y])
    model = make(pos_label=pos_label).fit(x, named)
    numbers = make().fit(x, y)
    other, event = labels
    assert model.classes_.tolist() == sorted(labels)
    column = model.classes_.tolist().index(event)
    risk = model.predict_proba(x)[:, column]
    assert risk == pytest.approx(numbers.predict_proba(x)[:, 1])
    assert model.predict_proba(x).sum(axis=1) == pytest.approx(1)
    predicted = model.predict(x)
    assert predicted.tolist() == np.where(risk >= 0.3, event, other).tolist()
    assert predicted.dtype == named.dtype
    # decision_function is positive towards classes_[1], as scikit-learn has it.
    towards = model.decision_function(x) > 0
    assert (predicted[towards] == model.classes_[1]).all()
    assert (predicted[~towards] == model.classes_[0]).all()


def test_labels_of_a_family():
    x, y = rows()
    named = np.where(y == 1, "ill", "well")
    model, numbers = family(pos_label="ill").fit(x, named), family().fit(x, y)
    assert np.array_equal(model.risks(x), numbers.risks(x))
    decisions = model.decisions(x)
    assert decisions.shape == (300, 2)
    assert (decisions == np.where(numbers.decisions(x) == 1, "ill", "well")).all()
    assert model.models_[0.3].classes_.tolist() == ["ill", "well"]


@each_estimator
def test_a_pos_label_that_is_not_there_is_refused(make):
    x, y = rows()
    with pytest.raises(ValueError, match=r"pos_label must be one of \[0, 1\], got 'ill'"):
        make(pos_label="ill").fit(x, y)


@each_estimator
def test_categorical_labels(make):
    x, y = rows()
    named = pd.Series(np.where(y == 1, "yes", "no"), dtype="category")
    assert np.array_equal(risks(make().fit(x, named), x), risks(make().fit(x, y), x))


# --- Frames -----------------------------------------------------------------------------------


def as_frame(kind, x):
    if kind == "pandas":
        return pd.DataFrame(x, columns=["age", "size"])
    polars = pytest.importorskip("polars")
    return polars.DataFrame({"age": x[:, 0], "size": x[:, 1]})


def as_column(kind, y):
    return pd.Series(y) if kind == "pandas" else pytest.importorskip("polars").Series(y)


@each_estimator
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_are_as_good_as_arrays(make, kind):
    x, y = rows()
    frame = as_frame(kind, x)
    model = make().fit(frame, as_column(kind, y))
    assert model.feature_names_in_.tolist() == ["age", "size"]
    assert model.n_features_in_ == 2
    # To rounding: a frame's columns lie elsewhere in memory than an array's rows.
    assert risks(model, frame) == pytest.approx(risks(make().fit(x, y), x), rel=1e-9)
    for wrong in (frame[["size", "age"]], frame[["age"]]):
        with pytest.raises(ValueError, match="feature names"):
            risks(model, wrong)


@ignore_findings
@each_estimator
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_weights_and_risks_may_be_columns_of_a_frame(make, kind):
    x, y = rows()
    weight, risk = np.linspace(0.5, 2, 300), np.clip(x[:, 1], 0.1, 0.9)
    by_columns = make().fit(
        as_frame(kind, x),
        as_column(kind, y),
        sample_weight=as_column(kind, weight),
        reference_risk=as_column(kind, risk),
    )
    by_arrays = make().fit(x, y, sample_weight=weight, reference_risk=risk)
    expected = risks(by_arrays, x)
    assert risks(by_columns, as_frame(kind, x)) == pytest.approx(expected, rel=1e-9)


def test_coefficients_are_named_after_the_columns():
    x, y = rows()
    model = logistic().fit(as_frame("pandas", x), y)
    assert model.summary().index.tolist() == ["intercept", "age", "size"]
    assert model.posterior_["posterior"]["coefficient"].values.tolist() == [
        "intercept",
        "age",
        "size",
    ]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@each_model
def test_set_output_of_a_scaler_before_it(make, kind):
    x, y = rows()
    frame = as_frame(kind, x)
    pipeline = make_pipeline(StandardScaler(), make()).set_output(transform=kind).fit(frame, y)
    assert pipeline[-1].feature_names_in_.tolist() == ["age", "size"]
    plain = make_pipeline(StandardScaler(), make()).fit(x, y)
    assert pipeline.predict_proba(frame) == pytest.approx(plain.predict_proba(x), rel=1e-9)


# --- Searches and pipelines -------------------------------------------------------------------


@each_model
def test_grid_search_by_net_benefit(make):
    x, y = rows()
    search = GridSearchCV(
        make(), {"discount": [0.0, 5.0, 10.0]}, scoring=tb.net_benefit_scorer(0.3), cv=3
    ).fit(x, y)
    fold_scores = cross_val_score(
        make(discount=5.0), x, y, scoring=tb.net_benefit_scorer(0.3), cv=3
    )
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(fold_scores.mean())
    assert search.best_estimator_.discount in (0.0, 5.0, 10.0)


@each_model
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cross_val_predict(make, n_jobs):
    x, y = rows()
    cv = [(np.arange(100, 300), np.arange(100)), (np.arange(200), np.arange(200, 300))]
    cv.append((np.r_[:100, 200:300], np.arange(100, 200)))
    with parallel_config("threading"):
        found = cross_val_predict(make(), x, y, cv=cv, method="predict_proba", n_jobs=n_jobs)
    for train, test in cv:
        assert np.array_equal(found[test], make().fit(x[train], y[train]).predict_proba(x[test]))


@each_model
def test_score_is_accuracy_of_the_decisions_and_takes_weights(make):
    x, y = rows()
    model = make().fit(x, y)
    right = model.predict(x) == y
    weight = np.linspace(0, 1, 300)
    assert model.score(x, y) == pytest.approx(right.mean())
    assert model.score(x, y, sample_weight=weight) == pytest.approx(
        np.average(right, weights=weight)
    )


# --- Sample weights ---------------------------------------------------------------------------


@each_estimator
def test_equal_weights_are_no_weights(make):
    x, y = rows()
    plain = risks(make().fit(x, y), x)
    assert np.array_equal(risks(make().fit(x, y, sample_weight=np.ones(300)), x), plain)
    scalar = make().fit(x, y, sample_weight=np.full(300, 1))
    assert np.array_equal(risks(scalar, x), plain)


@each_estimator
def test_integer_weights_are_repeated_rows(make):
    # Given splits and risks: folds would be cut otherwise.
    x, y = rows(n=120)
    times = np.random.default_rng(0).integers(1, 4, 120)
    fold = np.arange(120) % 3
    risk = np.clip(x[:, 1] / (x[:, 0] + x[:, 1]), 0.02, 0.98)

    def splits(fold):
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]

    settings = {"discount": "cv", "discount_grid": [2, 5]}
    if make is not classifier:
        settings["sampler"] = "laplace"
    with pytest.warns(tb.TailoringWarning):
        weighted = make(**settings, cv=splits(fold)).fit(
            x, y, sample_weight=times, reference_risk=risk
        )
    repeated = make(**settings, cv=splits(fold.repeat(times)))
    with pytest.warns(tb.TailoringWarning):
        repeated.fit(x.repeat(times, axis=0), y.repeat(times), reference_risk=risk.repeat(times))
    tables = [model.discount_table_["net_benefit"].to_numpy() for model in (weighted, repeated)]
    assert tables[0] == pytest.approx(tables[1], abs=1e-12)
    assert risks(weighted, x) == pytest.approx(risks(repeated, x), abs=1e-6)


@each_estimator
@pytest.mark.parametrize("weight", [[1.0] * 299, [-1.0] + [1.0] * 299, [np.nan] * 300])
def test_bad_weights_are_refused_by_name(make, weight):
    x, y = rows()
    with pytest.raises(ValueError, match=r"(?i)sample[_ ]weight"):
        make().fit(x, y, sample_weight=weight)


@ignore_findings
@each_estimator
def test_one_number_weighs_every_row(make):
    x, y = rows()
    by_number = make().fit(x, y, sample_weight=2)
    assert np.array_equal(
        risks(by_number, x), risks(make().fit(x, y, sample_weight=np.full(300, 2.0)), x)
    )


@each_estimator
@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"X": None}, ValueError, r"X must be .*"),
        ({"X": np.ones(300)}, ValueError, r"(X must be two-dim|.* to X and y: Expected 2D)[^\[]*$"),
        ({"X": np.ones((299, 2))}, ValueError, r"X and y must have the same length, got 299 and"),
        ({"y": np.array([None, *["a"] * 150, *["b"] * 149])}, ValueError, r"y must hold a label"),
        ({"y": np.zeros(300)}, ValueError, r"y must hold two labels, got one class only: 0\.0 in"),
        ({"sample_weight": ["a"] * 300}, TypeError, r"sample_weight must hold numbers, got text"),
        ({"sample_weight": np.ones(299)}, ValueError, r"sample_weight .* got 299 for 300 rows"),
        ({"sample_weight": np.ones((300, 1))}, ValueError, r"sample_weight must be one-dimension"),
        ({"sample_weight": np.full(300, 1e308)}, ValueError, r"sample_weight .* a finite sum"),
        ({"recalibrate": "no"}, TypeError, r"recalibrate must be True or False, got the text"),
    ],
)
def test_every_error_names_its_argument(make, wrong, error, message):
    x, y = rows()
    with pytest.raises(error, match=rf"^{message}"):
        make().fit(**{"X": x, "y": y, **wrong})


@pytest.mark.parametrize("make", [logistic, family])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.ones(2), r"X must be two-dimensional, got shape \(2,\)\. Reshape your data"),
        (np.ones((5, 2)) + 1j, r"X must hold real numbers\. Complex data not supported: [\w ]*$"),
        (np.array([["a", "b"]]), r"X must hold numbers: could not convert string to float"),
        (np.empty((0, 2)), r"X: Found array with 0 sample"),
        (np.ones((5, 3)), r"X has 3 features, but"),
    ],
)
def test_covariates_are_named_when_predicting_too(make, wrong, message):
    x, y = rows()
    model = make().fit(x, y)
    with pytest.raises(ValueError, match=rf"^{message}"):
        risks(model, wrong)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (GroupKFold(3), r"got GroupKFold\(.*groups.*pass list\(splitter\.split"),
        ([1, 2, 3], r"got a list \("),
        ([("a", "b")], r"got a list \("),
        ([(np.arange(300), np.arange(303))], r"got a list \("),
    ],
)
@each_estimator
def test_splits_that_are_none_are_refused_by_name(make, cv, message):
    x, y = rows()
    with pytest.raises(ValueError, match=rf"^cv must give pairs .* of these 300, {message}"):
        make(discount="cv", cv=cv).fit(x, y)


@ignore_findings
@each_estimator
def test_splits_may_be_masks(make):
    x, y = rows()
    fold = np.arange(300) % 3
    masks, places = (
        make(discount="cv", discount_grid=[5], cv=cv).fit(x, y)
        for cv in (
            [(fold != k, fold == k) for k in range(3)],
            [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)],
        )
    )
    assert np.array_equal(risks(masks, x), risks(places, x))


@each_estimator
def test_weights_must_leave_both_classes(make):
    x, y = rows()
    with pytest.raises(ValueError, match="sample_weight must leave both classes some weight"):
        make().fit(x, y, sample_weight=y.astype(float))


# --- Metadata routing -------------------------------------------------------------------------


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def weighted_alone(make, x, y, weight):
    return make().fit(x, y, sample_weight=weight).predict_proba(x)


@each_model
def test_without_routing_a_pipeline_takes_weights_by_the_steps_name(make):
    x, y = rows()
    weight = np.linspace(0.5, 2, 300)
    pipeline = make_pipeline(StandardScaler(), make())
    name = pipeline.steps[-1][0]
    pipeline.fit(x, y, **{f"{name}__sample_weight": weight})
    z = StandardScaler().fit_transform(x)
    assert np.array_equal(pipeline.predict_proba(x), weighted_alone(make, z, y, weight))


@each_model
def test_with_routing_it_takes_what_it_requests(make, routing):
    x, y = rows()
    weight, risk = np.linspace(0.5, 2, 300), np.clip(x[:, 1] / x.sum(axis=1), 0.01, 0.99)
    model = make().set_fit_request(sample_weight=True, reference_risk=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    pipeline.fit(x, y, sample_weight=weight, reference_risk=risk)
    z = StandardScaler().fit_transform(x)
    alone = make().fit(z, y, sample_weight=weight, reference_risk=risk)
    assert np.array_equal(pipeline.predict_proba(x), alone.predict_proba(z))


@each_model
def test_with_routing_cross_validation_hands_the_weights_on(make, routing):
    x, y = rows()
    weight = np.linspace(0.5, 2, 300)
    model = make().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    scores = cross_val_score(model, x, y, cv=3, params={"sample_weight": weight})
    assert (scores != cross_val_score(make(), x, y, cv=3)).any()


def inner_pipeline():
    return make_pipeline(
        StandardScaler().set_fit_request(sample_weight=False),
        newton().set_fit_request(sample_weight=True),
    )


def inside(model, x):
    """The logistic regression inside, on the covariates it saw."""
    return model.estimator_[-1].coef_


def test_the_tailoring_weights_reach_the_last_step_with_routing_and_without():
    x, y = rows()
    plain = make_pipeline(StandardScaler(), newton())
    without = classifier(plain).fit(x, y)
    z = StandardScaler().fit_transform(x)
    by_hand = newton().fit(z, y, sample_weight=without.weights_)
    assert inside(without, x) == pytest.approx(by_hand.coef_, rel=1e-10)
    assert inside(without, x) != pytest.approx(newton().fit(z, y).coef_, rel=1e-3)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = classifier(inner_pipeline()).fit(x, y)
    assert inside(routed, x) == pytest.approx(by_hand.coef_, rel=1e-10)


def test_with_routing_the_scaler_may_ask_for_the_weights_too(routing):
    x, y = rows()
    pipeline = inner_pipeline()
    pipeline[0].set_fit_request(sample_weight=True)
    model = classifier(pipeline).fit(x, y)
    assert model.estimator_[0].mean_ == pytest.approx(np.average(x, axis=0, weights=model.weights_))


def test_with_routing_weights_go_through_a_grid_search_inside(routing):
    x, y = rows()
    inner = GridSearchCV(
        newton().set_fit_request(sample_weight=True).set_score_request(sample_weight=False),
        {"C": [0.1, 10]},
    )
    model = classifier(inner).fit(x, y)
    best = model.estimator_.best_estimator_
    by_hand = clone(best).fit(x, y, sample_weight=model.weights_)
    assert best.coef_ == pytest.approx(by_hand.coef_, rel=1e-6)


def test_the_users_weights_multiply_the_tailoring_weights():
    x, y = rows()
    weight = np.linspace(0.5, 2, 300)
    model = classifier().fit(x, y, sample_weight=weight)
    tailored = np.exp(-5 * (model.reference_risk_ - 0.3) ** 2)
    assert model.weights_ == pytest.approx(weight * tailored)
    by_hand = newton().fit(x, y, sample_weight=weight * tailored)
    assert model.estimator_.coef_ == pytest.approx(by_hand.coef_)


# --- Parallel ---------------------------------------------------------------------------------


@ignore_findings
def test_n_jobs_changes_nothing():
    x, y = rows()
    tree = DecisionTreeClassifier(max_depth=3, max_features=1)
    settings = {"discount": "cv", "discount_grid": [5, 20], "rounds": 1}
    one, two = (classifier(tree, **settings, n_jobs=jobs).fit(x, y) for jobs in (None, 2))
    assert np.array_equal(one.reference_risk_, two.reference_risk_)
    assert one.discount_table_.equals(two.discount_table_)
    assert np.array_equal(one.predict_proba(x), two.predict_proba(x))


# --- Looks ------------------------------------------------------------------------------------


@each_model
def test_the_repr_tells_what_was_found(make):
    x, y = rows()
    model = make()
    assert "effective sample size" not in repr(model)
    assert repr(model).startswith(type(model).__name__)
    model.fit(x, y)
    text = repr(model)
    assert "threshold: 0.3" in text
    assert "discount: 5" in text
    assert f"effective sample size: {model.weights_.sum():.0f} of 300 rows" in text
    assert "findings: none" in text


@ignore_findings
@each_estimator
def test_the_repr_names_the_findings(make):
    x, y = rows()
    model = make(discount=2000.0).fit(x, y)
    assert "small-effective-sample" in repr(model)
    assert "small-effective-sample" in model._repr_html_()
    assert "small-effective-sample" in {finding.code for finding in model.findings_}


@each_estimator
def test_the_html_repr_tells_what_was_found(make):
    x, y = rows()
    model = make()
    assert "findings" not in model._repr_html_()
    page = model.fit(x, y)._repr_html_()
    assert model._repr_mimebundle_()["text/html"].count("findings") == page.count("findings")
    assert type(model).__name__ in page
    assert "findings" in page
    if make is not family:
        assert "threshold" in page
        assert f"{model.weights_.sum():.0f} of 300 rows" in page


@each_estimator
def test_what_a_user_names_is_text_not_markup(make):
    x, y = rows()
    frame = pd.DataFrame(x, columns=["<script>alert(1)</script>", "<b>"])
    model = make(pos_label="<script>yes").fit(frame, np.where(y == 1, "<script>yes", "<i>no"))
    page = model._repr_html_()
    for raw in ("<script>alert(1)", "<script>yes", "<i>no"):
        assert raw not in page


@each_estimator
def test_every_finding_is_told_once_and_at_the_callers_line(make):
    x, y = rows()
    risk = expit(3 * (x[:, 1] - 0.2))
    with pytest.warns(tb.TailoringWarning) as caught:
        model = make(discount=200.0).fit(x, y, reference_risk=risk)
    assert [str(warning.message) for warning in caught] == list(map(str, model.findings_))
    assert len(set(map(str, model.findings_))) == len(model.findings_)
    assert "reference-miscalibrated" in {finding.code for finding in model.findings_}
    assert {warning.filename for warning in caught} == {__file__}
