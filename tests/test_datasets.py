"""The bundled data: counts, shapes and terms as documented, and no network."""

import socket
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from tailoredbayes.datasets import (
    load_breast_prognosis,
    load_euroscore,
    load_gbsg,
    load_rotterdam,
    load_wisconsin,
)

LOADERS = [load_wisconsin, load_rotterdam, load_gbsg]


def read(name):
    with (files("tailoredbayes.datasets") / name).open() as lines:
        return pd.read_csv(lines)


@pytest.mark.parametrize("load", LOADERS)
class TestEveryLoader:
    def test_bunch_has_the_shape_of_scikit_learns(self, load):
        bunch = load()
        assert list(bunch.data.columns) == bunch.feature_names
        assert bunch.frame[bunch.feature_names].equals(bunch.data)
        assert bunch.frame[bunch.target.name].equals(bunch.target)
        assert bunch.target.name not in bunch.feature_names
        assert len(bunch.target_names) == 2
        assert list(bunch.data.index) == list(range(len(bunch.target)))

    def test_return_X_y_gives_the_same_tables(self, load):
        bunch = load()
        X, y = load(return_X_y=True)
        assert X.equals(bunch.data)
        assert y.equals(bunch.target)

    def test_columns_chooses_covariates_in_their_order(self, load):
        last, first = load().feature_names[-1], load().feature_names[0]
        bunch = load(columns=[last, first])
        assert list(bunch.data.columns) == bunch.feature_names == [last, first]
        assert bunch.data.equals(load().data[[last, first]])
        assert bunch.frame.equals(load().frame)

    @pytest.mark.parametrize("columns", [["nothing"], [], "mass"])
    def test_unknown_columns_are_refused_by_name(self, load, columns):
        with pytest.raises(
            ValueError, match=f"columns must be .* there are {load().data.columns[0]}"
        ):
            load(columns=columns)

    def test_target_is_zero_or_one(self, load):
        target = load().target
        assert target.dtype == np.int64
        assert set(target) == {0, 1}

    def test_every_feature_is_described(self, load):
        bunch = load()
        assert [name for name in bunch.feature_names if name not in bunch.DESCR] == []

    def test_terms_and_source_travel_with_the_data(self, load):
        bunch = load()
        assert bunch.licence in bunch.DESCR
        assert bunch.source in bunch.DESCR

    def test_no_network_is_asked(self, load, monkeypatch):
        def refuse(*arguments, **named):
            raise AssertionError("a loader opened a socket")

        monkeypatch.setattr(socket, "socket", refuse)
        load()

    def test_caller_may_change_what_it_got(self, load):
        first = load()
        first.data.iloc[0, 0] = -1
        first.target.iloc[0] = 1 - first.target.iloc[0]
        assert load().data.iloc[0, 0] != -1
        assert load().target.iloc[0] != first.target.iloc[0]


@pytest.mark.parametrize(
    ("name", "shape", "terms"),
    [
        ("wisconsin.csv", (699, 11), "CC BY 4.0"),
        ("rotterdam.csv", (2982, 15), "published supplement of an open-access paper"),
        ("gbsg.csv", (686, 11), "as `rotterdam.csv`"),
        ("euroscore.csv", (19, 3), "published coefficients"),
    ],
)
def test_files_are_as_documented_and_their_terms_are_noted(name, shape, terms):
    assert read(name).shape == shape
    sources = (files("tailoredbayes.datasets") / "SOURCES.md").read_text(encoding="utf-8")
    [row] = [line for line in sources.splitlines() if line.startswith(f"| `{name}`")]
    assert terms in row


def test_wisconsin_keeps_missing_nuclei_unless_told():
    kept, dropped = load_wisconsin(), load_wisconsin(dropna=True)
    assert (len(kept.target), kept.target.sum()) == (699, 241)
    assert kept.data["bare_nuclei"].isna().sum() == 16
    assert kept.data.drop(columns="bare_nuclei").notna().all(axis=None)
    assert (len(dropped.target), dropped.target.sum()) == (683, 239)
    assert dropped.data.notna().all(axis=None)


def test_wisconsin_scores_run_from_one_to_ten_and_id_is_no_feature():
    bunch = load_wisconsin()
    assert bunch.data.min().eq(1).all()
    assert bunch.data.max().eq(10).all()
    assert bunch.frame["id"].duplicated().any()
    assert "id" not in bunch.feature_names


@pytest.mark.parametrize(
    ("load", "years", "women", "events"),
    [
        (load_rotterdam, 3, 2944, 922),
        (load_gbsg, 3, 555, 224),
        (load_rotterdam, 5, 2846, 1275),
        (load_gbsg, 5, 406, 285),
    ],
)
def test_events_by_horizon(load, years, women, events):
    target = load(years).target
    assert (len(target), target.sum()) == (women, events)


def test_rotterdam_leaves_out_who_was_lost_and_counts_who_died():
    days = 3 * 365.25
    women = read("rotterdam.csv").set_index("pid")
    event = load_rotterdam().frame.set_index("pid")["event"]
    lost = women.loc[women.index.difference(event.index)]
    assert (lost["recur"] == 0).all()
    assert (lost["rtime"] < days).all()
    assert ((lost["death"] == 0) | (lost["dtime"] > days)).all()
    # Six died after the horizon, with the watch for recurrence ended before it.
    assert (lost["death"] == 1).sum() == 6
    died = women.index[(women["death"] == 1) & (women["dtime"] <= days)]
    assert (event[died] == 1).all()
    free = women.loc[event.index[event == 0]]
    assert (free["rtime"] >= days).all()


def test_gbsg_year_is_365_days_and_a_quarter():
    # Two women whose watch ended on day 1095 fall short of three years by less than a day.
    trial = read("gbsg.csv")
    watch_ended = trial.loc[(trial["rfstime"] == 1095) & (trial["status"] == 0), "pid"]
    assert len(watch_ended) == 2
    assert not load_gbsg(3).frame["pid"].isin(watch_ended).any()
    assert watch_ended.isin(load_gbsg(1095 / 365.25).frame["pid"]).all()


def test_cohorts_are_not_harmonised():
    rotterdam, gbsg = load_rotterdam().data, load_gbsg().data
    assert set(rotterdam["size"]) == {"<=20", "20-50", ">50"}
    assert gbsg["size"].between(3, 120).all()
    assert set(rotterdam["grade"]) == {2, 3}
    assert set(gbsg["grade"]) == {1, 2, 3}
    assert (gbsg["nodes"] >= 1).all()


@pytest.mark.parametrize("load", [load_rotterdam, load_gbsg])
@pytest.mark.parametrize("years", [0, -1, np.nan, np.inf, "3", None])
def test_horizon_must_be_a_positive_number(load, years):
    with pytest.raises((TypeError, ValueError), match="years must be a finite number above 0, got"):
        load(years)


@pytest.mark.parametrize("load", [load_rotterdam, load_gbsg])
@pytest.mark.parametrize("years", [0.001, 100])
def test_horizon_must_leave_both_outcomes(load, years):
    with pytest.raises(ValueError, match="with and women without an event"):
        load(years)


def test_the_euroscore_is_the_published_equation():
    score = load_euroscore()
    assert score.intercept == -4.789594  # one public page loses the minus sign
    assert len(score.coef) == 18
    assert (score.coef > 0).all()
    assert score.licence in score.DESCR
    assert "max(1, age - 58)" in score.DESCR


class TestBreastPrognosis:
    def test_the_rows_are_those_of_the_two_loaders(self):
        women, train, test = load_breast_prognosis(), load_rotterdam(), load_gbsg()
        assert women.y.equals(train.target)
        assert women.y_test.equals(test.target)
        for ours, theirs in ((women.X, train.data), (women.X_test, test.data)):
            np.testing.assert_array_equal(ours["grade3"], theirs["grade"] == 3)
            np.testing.assert_array_equal(ours["hormon"], theirs["hormon"])
        assert set(women.X_test["size"]) == set(women.X["size"]) == {0, 1, 2}
        assert (women.X_test["size"] == 0).sum() == (test.data["size"] <= 20).sum()
        assert (women.X["size"] == 2).sum() == (train.data["size"] == ">50").sum()

    def test_covariates_are_scaled_by_the_women_to_learn_from(self):
        women, train, test = load_breast_prognosis(), load_rotterdam(), load_gbsg()
        scaled = ["age", "nodes", "pgr", "er"]
        np.testing.assert_allclose(women.X[scaled].mean(), 0, atol=1e-12)
        np.testing.assert_allclose(women.X[scaled].std(ddof=0), 1)
        age = (test.data["age"] - train.data["age"].mean()) / train.data["age"].std(ddof=0)
        np.testing.assert_allclose(women.X_test["age"], age)

    def test_log_covariates_are_logarithms(self):
        raw, log = load_gbsg().data["nodes"], load_breast_prognosis(features="log").X_test["nodes"]
        slope, intercept = np.polyfit(np.log1p(raw), log, 1)
        np.testing.assert_allclose(intercept + slope * np.log1p(raw), log, atol=1e-10)

    def test_the_horizon_is_that_of_the_loaders(self):
        assert load_breast_prognosis(2).y_test.equals(load_gbsg(2).target)

    def test_an_unknown_coding_is_refused(self):
        with pytest.raises(ValueError, match="features must be 'raw' or 'log', got 'sqrt'"):
            load_breast_prognosis(features="sqrt")
