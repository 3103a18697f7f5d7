"""Experiments against plain loops: who was drawn, what was fitted, how it was judged."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import tailoredbayes as tb
from tailoredbayes.evaluation.refits import seeded

TS = [0.2, 0.4]


def rows(n=400, seed=0, events=0.4):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"row": np.arange(n), "x": rng.normal(size=n)})
    y = (rng.permutation(n) < events * n).astype(int)
    X["x"] += y
    return X, y


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that keeps what it was fitted to and asked about; everyone's risk is 0.3."""

    seen: ClassVar = []
    asked: ClassVar = []

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        Recorder.seen.append((X["row"].to_numpy(), np.asarray(y), self.random_state))
        return self

    def predict_proba(self, X):
        Recorder.asked.append(X["row"].to_numpy())
        return np.tile([0.7, 0.3], (len(X), 1))


@pytest.fixture
def recorder():
    Recorder.seen, Recorder.asked = [], []
    return Recorder()


MODEL = LogisticRegression()


class TestWhoIsDrawn:
    def test_test_rows_are_split_off_stratified_and_anew(self, recorder):
        X, y = rows()
        tb.experiment(recorder, X, y, thresholds=TS, repetitions=3, test_size=0.25, random_state=0)
        assert len(Recorder.seen) == 3
        for (train, labels, _), test in zip(Recorder.seen, Recorder.asked, strict=True):
            assert sorted([*train, *test]) == list(range(400))
            assert (len(test), y[test].sum()) == (100, 40)
            np.testing.assert_array_equal(labels, y[train])
        assert len({tuple(test) for test in Recorder.asked}) == 3

    def test_samples_have_the_size_and_prevalence_asked_for(self, recorder):
        X, y = rows()
        X_test, y_test = rows(seed=1)
        found = tb.experiment(
            recorder, X, y, X_test, y_test, thresholds=TS, n=[50, 100], prevalence=[0.1, 0.5],
            repetitions=2, random_state=0,
        )  # fmt: skip
        sizes = [(len(train), int(labels.sum())) for train, labels, _ in Recorder.seen]
        assert sizes == [(50, 5)] * 2 + [(100, 10)] * 2 + [(50, 25)] * 2 + [(100, 50)] * 2
        for train, labels, _ in Recorder.seen:
            assert len(set(train)) == len(train)  # without replacement
            np.testing.assert_array_equal(labels, y[train])
        told = found.to_frame().drop_duplicates(["n", "prevalence", "repetition"])
        assert list(zip(told["n"], told["prevalence"], strict=True)) == [
            (n, share) for share in (0.1, 0.5) for n in (50, 100) for _ in range(2)
        ]

    def test_a_prevalence_alone_takes_as_many_rows_as_it_leaves(self, recorder):
        X, y = rows()  # 160 events, 240 others
        tb.experiment(recorder, X, y, X, y, thresholds=TS, prevalence=0.5, repetitions=1)
        tb.experiment(recorder, X, y, X, y, thresholds=TS, prevalence=0.1, repetitions=1)
        assert [(len(a), int(b.sum())) for a, b, _ in Recorder.seen] == [(320, 160), (266, 27)]

    def test_a_size_alone_keeps_the_prevalence(self, recorder):
        X, y = rows()
        tb.experiment(recorder, X, y, X, y, thresholds=TS, n=50, repetitions=1)
        assert [int(labels.sum()) for _, labels, _ in Recorder.seen] == [20]

    def test_mislabelled_events_are_recorded_as_none_and_the_test_rows_are_right(self, recorder):
        X, y = rows()
        found = tb.experiment(
            recorder, X, y, X, y, thresholds=[0.2], mislabelled=[0, 0.25], repetitions=2,
            random_state=0,
        )  # fmt: skip
        for (train, labels, _), wrong in zip(Recorder.seen, [0, 0, 40, 40], strict=True):
            assert (labels <= y[train]).all()
            assert (y[train] - labels).sum() == wrong
        # The risk is 0.3 for everyone, so all are treated, whatever was recorded.
        np.testing.assert_allclose(found.net_benefit, tb.net_benefit_treat_all(y, 0.2))
        assert not np.array_equal(Recorder.seen[2][1], Recorder.seen[3][1])

    def test_the_spared_learn_from_right_labels_on_the_same_rows(self, recorder):
        X, y = rows()
        models = {"wrong": recorder, "right": Recorder()}
        tb.experiment(
            models, X, y, X, y, thresholds=TS, n=100, mislabelled=0.5, spared="right",
            repetitions=1, random_state=0,
        )  # fmt: skip
        (one, wrong, _), (other, right, _) = Recorder.seen
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(right, y[other])
        assert wrong.sum() == 20

    def test_open_seeds_are_filled_and_differ_and_given_ones_stay(self, recorder):
        X, y = rows()
        models = {"open": recorder, "given": Recorder(random_state=7)}
        tb.experiment(models, X, y, X, y, thresholds=TS, repetitions=3, random_state=0)
        seeds = [seed for _, _, seed in Recorder.seen]
        assert seeds[1::2] == [7, 7, 7]
        assert len(set(seeds[::2])) == 3


class TestHowItIsJudged:
    @pytest.mark.parametrize("prevalence", [None, 0.2])
    def test_net_benefit_and_errors_are_those_of_the_plain_evaluations(self, prevalence):
        (X, y), (X_test, y_test) = rows(), rows(seed=1)
        models = {"x": LogisticRegression(), "flat": LogisticRegression(C=1e-3)}
        found = tb.experiment(
            models, X[["x"]], y, X_test[["x"]], y_test, thresholds=TS, prevalence=prevalence,
            n=200, repetitions=2, random_state=3,
        )  # fmt: skip
        assert found.n_test == 400
        # With all rows, no draw is left: the plain fit is the same one.
        everyone = tb.experiment(
            models, X[["x"]], y, X_test[["x"]], y_test, thresholds=TS, repetitions=2
        )
        fits = {name: model.fit(X[["x"]], y) for name, model in models.items()}
        curve = tb.decision_curve(y_test, fits, TS, X=X_test[["x"]])
        np.testing.assert_allclose(everyone.net_benefit[1], curve.net_benefit[:2])
        plain = tb.net_benefit_difference(
            y_test, fits, TS, against="flat", X=X_test[["x"]], replicates=2, random_state=0
        )
        np.testing.assert_allclose(everyone.standard_error[0, 0, 1], plain.standard_error[0])
        np.testing.assert_allclose(everyone.standard_error[0, 1, 0], plain.standard_error[0])
        assert (everyone.standard_error[:, 0, 0] == 0).all()

    def test_a_prevalence_is_that_of_the_population_judged(self):
        (X, y), (X_test, y_test) = rows(), rows(seed=1)
        risk = 1 / (1 + np.exp(-X_test["x"].to_numpy()))
        found = tb.experiment(
            {"fixed": risk}, X, y, X_test, y_test, thresholds=TS, prevalence=0.1, repetitions=1
        )
        for t, value in zip(TS, found.net_benefit[0, 0], strict=True):
            assert value == pytest.approx(tb.net_benefit(y_test, risk, t, prevalence=0.1))

    def test_a_family_brings_standard_bayes_along(self):
        (X, y), (X_test, y_test) = rows(), rows(seed=1)
        family = tb.TailoredFamily(TS, discount=5, draws=200, random_state=1)
        found = tb.experiment(family, X[["x"]], y, X_test[["x"]], y_test, repetitions=2)
        assert found.models == ("TB", "SB")
        np.testing.assert_array_equal(found.thresholds, TS)
        curve = tb.decision_curve(y_test, family.fit(X[["x"]], y), X=X_test[["x"]])
        assert curve.models == ("TB", "SB", "all", "none")
        np.testing.assert_allclose(found.net_benefit[0], curve.net_benefit[:2])

    def test_frozen_models_and_risks_are_judged_as_they_are(self):
        (X, y), (X_test, y_test) = rows(), rows(seed=1)
        fitted = LogisticRegression().fit(X[["x"]], y)
        risk = fitted.predict_proba(X_test[["x"]])[:, 1]
        models = {"frozen": FrozenEstimator(fitted), "risk": risk}
        found = tb.experiment(
            models, X[["x"]], y, X_test[["x"]], y_test, thresholds=TS, n=50, mislabelled=0.5,
            repetitions=2,
        )  # fmt: skip
        expected = [tb.net_benefit(y_test, risk, t) for t in TS]
        np.testing.assert_allclose(found.net_benefit, np.broadcast_to(expected, (2, 2, 2)))

    @pytest.mark.parametrize("recalibrate", [False, True])
    def test_a_reference_risk_from_outside_is_judged_on_the_rows_split_off(
        self, recorder, recalibrate
    ):
        X, y = rows()
        pi_u = 1 / (1 + np.exp(-2 * X["x"].to_numpy() - 1))
        family = tb.TailoredFamily(TS, discount=5, draws=200)
        found = tb.experiment(
            {"TB": family, "who": recorder}, X, y, reference_risk=pi_u,
            recalibrate=recalibrate, repetitions=1, random_state=0,
        )  # fmt: skip
        assert found.models == ("TB", "who", "reference", "SB")
        [test] = Recorder.asked
        train = np.setdiff1d(np.arange(400), test)
        risk = pi_u
        if recalibrate:
            logit = np.log(pi_u / (1 - pi_u))[:, None]
            cox = LogisticRegression(C=np.inf, tol=1e-10).fit(logit[train], y[train])
            risk = cox.predict_proba(logit)[:, 1]
        expected = [tb.net_benefit(y[test], risk[test], t) for t in TS]
        np.testing.assert_allclose(found.net_benefit[0, 2], expected)

    def test_the_same_seed_gives_the_same_answer_in_any_number_of_processes(self):
        X, y = rows()
        family = tb.TailoredFamily(TS, draws=200, sampler="laplace")
        one, other, third = (
            tb.experiment(
                family, X[["x"]], y, n=[100, 150], repetitions=2, n_jobs=jobs, random_state=seed
            ).to_frame()
            for jobs, seed in ((None, 0), (2, 0), (None, 1))
        )
        assert one.equals(other)
        assert not one.equals(third)


class TestWhatComesOfIt:
    def test_a_difference_is_the_mean_over_repetitions_with_both_errors(self):
        X, y = rows()
        models = {"x": LogisticRegression(), "flat": LogisticRegression(C=1e-4)}
        found = tb.experiment(models, X[["x"]], y, thresholds=TS, repetitions=4, random_state=0)
        record = found.difference("x", "flat")
        wide = found.to_frame()
        gain = wide["x"] - wide["flat"]
        by_t = gain.groupby(wide["threshold"])
        np.testing.assert_allclose(record.difference[0], by_t.mean())
        np.testing.assert_allclose(record.standard_error[0], by_t.sem())
        np.testing.assert_allclose(
            record.sampling_error[0], np.sqrt((found.standard_error[:, 0, 1] ** 2).mean(axis=0))
        )
        [only] = found.differences
        np.testing.assert_array_equal(only.differences, record.differences)
        ax = tb.plots.net_benefit_difference(found)
        assert ax.get_legend_handles_labels()[1] == ["x − flat"]

    def test_where_settings_vary_grids_take_them_apart(self):
        X, y = rows()
        family = tb.TailoredFamily(TS, discount=5, draws=200)
        found = tb.experiment(family, X[["x"]], y, n=[60, 120], mislabelled=[0, 0.3], repetitions=2)
        with pytest.raises(ValueError, match="its mislabelled and n varied; difference_grid"):
            found.difference("TB", "SB")
        grid = tb.difference_grid(found, panel="mislabelled", line="n")
        wide = found.to_frame()
        assert grid.compared == ("TB", "SB")
        expected = (wide["TB"] - wide["SB"]).groupby(
            [wide["mislabelled"], wide["n"], wide["threshold"]]
        )
        np.testing.assert_allclose(grid.to_frame()["mean"], expected.mean())
        assert tb.difference_grid(found).to_frame().equals(grid.to_frame())  # as it varied
        with pytest.raises(ValueError, match=r"panel must tell apart all that varied .* n; make"):
            tb.net_benefit_grid(found)

    def test_net_benefits_have_a_line_a_model_and_a_panel_a_setting(self):
        X, y = rows()
        family = tb.TailoredFamily(TS, discount=5, draws=200)
        found = tb.experiment(family, X[["x"]], y, mislabelled=[0, 0.3], repetitions=2)
        levels = tb.net_benefit_grid(found)
        assert levels.panel == "mislabelled"
        assert list(levels.to_frame()["line"].unique()) == ["TB", "SB"]
        wide = found.to_frame()
        expected = wide.groupby(["mislabelled", "threshold"])["SB"].mean()
        table = levels.to_frame()
        np.testing.assert_allclose(table.loc[table["line"] == "SB", "mean"], expected)

    def test_three_settings_are_too_many_for_a_grid(self):
        X, y = rows()
        found = tb.experiment(
            {"TB": MODEL, "SB": MODEL}, X[["x"]], y, thresholds=TS, n=[50, 60],
            prevalence=[0.3, 0.5], mislabelled=[0, 0.1], repetitions=1,
        )  # fmt: skip
        assert found.varied == ("prevalence", "mislabelled", "n")
        with pytest.raises(ValueError, match="panel and line must tell apart all that varied"):
            tb.difference_grid(found)

    def test_a_panel_a_model(self):
        X, y = rows()
        models = {
            name: tb.TailoredFamily(TS, discount=5, draws=200, distance=name)
            for name in ("squared", "absolute")
        }
        found = tb.experiment(models, X[["x"]], y, repetitions=2, random_state=0)
        grid = tb.difference_grid(found).to_frame()  # where no setting varied
        assert list(grid["panel"].unique()) == ["squared", "absolute"]
        wide = found.to_frame()
        expected = (wide["absolute"] - wide["SB"]).groupby(wide["threshold"]).mean()
        np.testing.assert_allclose(grid.loc[grid["panel"] == "absolute", "mean"], expected)
        one = tb.difference_grid(found, "absolute", "squared", panel="n").to_frame()
        expected = (wide["absolute"] - wide["squared"]).groupby(wide["threshold"]).mean()
        np.testing.assert_allclose(one["mean"], expected)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": np.ones(400)}, "y must hold both events"),
        ({"y": [0, 1, 1]}, "X and y must have the same length, got 400 and 3"),
        (
            {"X_test": np.ones((3, 1)), "y_test": [0, 1]},
            "X_test and y_test must have the same length, got 3 and 2",
        ),
        ({"models": {}}, "models must name at least one model"),
        ({"models": {"n": MODEL}}, "models may not be named 'n'"),
        ({"models": {"a": np.full(400, 0.3)}}, "risks need test rows of their own"),
        ({"X_test": np.ones((3, 1))}, "X_test must come with y_test"),
        ({"thresholds": None}, "thresholds must be given where no model is a family"),
        ({"thresholds": [1.0]}, "threshold"),
        ({"n": [50, 50]}, "n must be one value or several that differ"),
        ({"n": 390}, "there are 112 and 168 to learn from; take a smaller n"),
        ({"n": 250, "prevalence": 0.5}, "125 events and 125 non-events"),
        ({"n": 5, "prevalence": 0.1}, "a sample must hold events and non-events"),
        ({"n": 2.5}, "n must be a whole number"),
        ({"prevalence": 30}, "prevalence must be a finite number above 0 and below 1"),
        ({"mislabelled": 1.0}, "mislabelled must be a finite number at least 0 and below 1"),
        ({"mislabelled": []}, "mislabelled must be one value or several"),
        ({"spared": "BART"}, "spared must name models that there are"),
        ({"repetitions": 0}, "repetitions must be a whole number"),
        ({"test_size": 0.001}, "test_size must leave events and non-events"),
        ({"test_size": 30}, "test_size must be a finite number"),
        ({"reference_risk": np.ones(3)}, "must have the same length"),
        ({"recalibrate": True}, "needs a reference_risk"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)  # fmt: skip
def test_bad_input_is_named(change, words):
    X, y = rows()
    given = {"models": {"a": MODEL}, "X": X[["x"]], "y": y, "thresholds": TS, **change}
    with pytest.raises((ValueError, TypeError), match=words):
        tb.experiment(given.pop("models"), given.pop("X"), given.pop("y"), **given)


def test_a_family_without_a_model_for_the_threshold_is_named():
    X, y = rows()
    with pytest.raises(ValueError, match=r"models\['TB'\] has no model for the threshold 0.3"):
        tb.experiment(tb.TailoredFamily(TS), X[["x"]], y, thresholds=0.3)


def test_a_fit_that_fails_says_on_which_sample():
    X, y = rows()
    broken = LogisticRegression(C=-1)
    with pytest.raises(ValueError, match="C") as failed:
        tb.experiment({"broken": broken}, X[["x"]], y, thresholds=TS, n=50, repetitions=1)
    [note] = failed.value.__notes__
    assert note.startswith("fitting 'broken' to the sample with prevalence = 0.4")
    assert note.endswith("n = 50, repetition 0")


def test_nested_seeds_are_filled():
    from sklearn.pipeline import make_pipeline

    found = seeded(make_pipeline(LogisticRegression()), np.random.default_rng(0))
    assert found[-1].random_state is not None
