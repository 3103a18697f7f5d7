"""The commands in this process: what they write is what the library says."""

import gzip
import hashlib
import html
import inspect
import json
import re

import numpy as np
import pandas as pd
import pytest
from commands import QUICK, patients, run

import tailoredbayes as tb
from tailoredbayes.cli import fit as fit_command
from tailoredbayes.cli.options import read_thresholds

pytestmark = pytest.mark.filterwarnings("ignore::tailoredbayes.TailoringWarning")


def design(frame):
    """Build by hand the design that `trained`'s model has: baselines are the most frequent."""
    grades, sexes = (frame[name].astype(str) for name in ("grade", "sex"))
    return pd.DataFrame(
        {
            "age": frame["age"],
            "nodes": frame["nodes"].astype(float),
            **{f"grade[{g}]": (grades == g).astype(float) for g in others("grade")},
            **{f"sex[{s}]": (sexes == s).astype(float) for s in others("sex")},
        }
    )


def others(column):
    counts = patients(400)[column].astype(str).value_counts()
    return sorted(set(counts.index) - {counts.index[0]})


def library_family():
    frame = patients(400)
    family = tb.TailoredFamily(
        [0.2, 0.3, 0.4], discount=5, sampler="laplace", draws=200, random_state=0
    )
    return family.fit(design(frame), frame["died"])


# --- threshold ----------------------------------------------------------------------------------


def test_threshold_from_harm_and_benefit():
    done = run("threshold", "--harm", 1, "--benefit", 9)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "threshold 0.1",
        "Treat when the risk is at least 10%: finding one patient who needs treatment is worth 9 "
        "unnecessary treatments.",
    ]


def test_threshold_from_utilities_in_json():
    done = run("threshold", "--tp", 1, "--fp", 0.75, "--fn", 0.25, "--tn", 1, "--json")
    assert json.loads(done.out)["threshold"] == tb.target_threshold_from_utilities(
        tp=1, fp=0.75, fn=0.25, tn=1
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "give --harm and --benefit"),
        (("--harm", 1), "give --harm and --benefit"),
        (("--harm", 1, "--benefit", 9, "--tp", 1), "give --harm and --benefit"),
        (("--harm", -1, "--benefit", 9), "harm must be a finite number above 0"),
        (("--harm", "much"), "--harm"),
        (("--tp", 0, "--fp", 0, "--fn", 1, "--tn", 1), "tp must exceed fn"),
    ],
)
def test_threshold_refuses_what_is_none(options, said):
    done = run("threshold", *options)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert len(done.err.splitlines()) <= 3


# --- fit ----------------------------------------------------------------------------------------


def test_the_model_file_is_what_the_estimator_gives(trained):
    saved, fitted = tb.load(trained / "model.nc"), library_family()
    assert saved.feature_names_in_.tolist() == fitted.feature_names_in_.tolist()
    for t in (0.2, 0.3, 0.4):
        np.testing.assert_array_equal(saved.models_[t].draws_.flat, fitted.models_[t].draws_.flat)
    np.testing.assert_array_equal(saved.standard_.draws_.flat, fitted.standard_.draws_.flat)
    recipe = saved.recipe_
    assert (recipe["outcome"], recipe["threshold"], recipe["ids"]) == ("died", 0.3, ["patient"])
    assert recipe["data"]["rows"] == 400
    assert recipe["data"]["events"] == patients(400)["died"].sum()
    assert recipe["call"].startswith("tailoredbayes fit ")


def test_fit_shows_the_columns_and_the_findings(tmp_path):
    patients().to_csv(tmp_path / "p.csv", index=False)
    done = run(
        *("fit", tmp_path / "p.csv", "--outcome", "died", "--threshold", 0.9, "--id", "patient"),
        *("--out", tmp_path / "m.nc", *QUICK),
    )
    assert done.code == 0, done.err
    assert "300 rows; outcome died, event '1'" in done.out
    assert "female (baseline), male" in done.out
    codes = [finding.code for finding in tb.load(tmp_path / "m.nc").findings_]
    assert codes
    assert all(code in done.out for code in codes)
    assert "\x1b" not in done.out + done.err


def test_fit_in_json(tmp_path):
    patients().to_csv(tmp_path / "p.csv", index=False)
    done = run(
        *("fit", tmp_path / "p.csv", "--outcome", "died", "--thresholds", "0.2:0.4:0.1"),
        *("--drop", "patient,sex", "--out", tmp_path / "m.nc", "--json", *QUICK),
    )
    record = json.loads(done.out)
    assert [one["threshold"] for one in record["thresholds"]] == [0.2, 0.3, 0.4]
    assert record["design"] == ["age", "nodes", "grade"]
    assert record["rows"] == 300
    # Without --threshold none is the one to decide at.
    refused = run("predict", tmp_path / "m.nc", tmp_path / "p.csv")
    assert refused.code == 2
    assert "thresholds 0.2, 0.3, 0.4; say --threshold" in refused.err


def test_fit_options_reach_the_estimator(tmp_path):
    frame = patients(risk=np.linspace(0.05, 0.6, 300), size=np.tile([1.0, 2.0], 150))
    frame.to_csv(tmp_path / "p.csv", index=False)
    done = run(
        *("fit", tmp_path / "p.csv", "--outcome", "died", "--threshold", 0.25, "--positive", 0),
        *("--features", "age", "--features", "nodes", "--weights", "size", "--scale"),
        *("--reference-risk", "risk", "--recalibrate", "--discount", "cv", "--selection", "max"),
        *("--cv", 3, "--cv-repeats", 2, "--rounds", 1, "--prior-sd", 2.5, "--sampler", "laplace"),
        *("--draws", 50, "--seed", 7, "--out", tmp_path / "m.nc"),
    )
    assert done.code == 0, done.err
    numbers = frame[["age", "nodes"]].astype(float)
    scaled = ((numbers - numbers.mean()) / numbers.std(ddof=0)).add_prefix("scale(").add_suffix(")")
    family = tb.TailoredFamily(
        [0.25],
        selection="max",
        cv=3,
        cv_repeats=2,
        rounds=1,
        prior=tb.Normal(0, 2.5),
        sampler="laplace",
        draws=50,
        random_state=7,
    )
    family.fit(
        scaled,
        (frame["died"] == 0).astype(int),
        reference_risk=frame["risk"],
        sample_weight=frame["size"],
        recalibrate=True,
    )
    saved = tb.load(tmp_path / "m.nc")
    assert saved.feature_names_in_.tolist() == ["scale(age)", "scale(nodes)"]
    for mine, theirs in ((saved.standard_, family.standard_), *zip_models(saved, family)):
        np.testing.assert_allclose(mine.draws_.flat, theirs.draws_.flat, rtol=1e-6, atol=1e-9)


def zip_models(one, other):
    return zip(one.models_.values(), other.models_.values(), strict=True)


def test_the_same_seed_gives_the_same_file_of_draws(tmp_path):
    patients().to_csv(tmp_path / "p.csv", index=False)
    options = ("--outcome", "died", "--threshold", 0.3, "--id", "patient", *QUICK)
    for name in ("a.nc", "b.nc"):
        assert run("fit", tmp_path / "p.csv", *options, "--out", tmp_path / name).code == 0
    a, b = (tb.load(tmp_path / name).models_[0.3].draws_.flat for name in ("a.nc", "b.nc"))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--threshold", 15), "did you mean 0.15"),
        (("--threshold", 0), "strictly between 0 and 1"),
        (("--thresholds", "0.1-0.5"), "neither a range"),
        (("--thresholds", "0.5:0.1:0.1"), "neither a range"),
        ((), "give --threshold"),
        (("--threshold", 0.3, "--discount", "much"), "--discount is a number or cv"),
        (("--threshold", 0.3, "--discount", -1), "discount must be"),
        (("--threshold", 0.3, "--selection", "best"), "best"),
        (("--threshold", 0.3, "--cv", 1), "cv must be"),
        (("--threshold", 0.3, "--draws", 0), "draws must be"),
        (("--threshold", 0.3, "--prior-sd", 0), "sd"),
        (("--threshold", 0.3, "--sampler", "gibbs"), "gibbs"),
        (("--threshold", 0.3, "--recalibrate"), "recalibrate"),
        (("--threshold", 0.3, "--missing", "guess"), "--missing is refuse, drop or impute"),
        (("--threshold", 0.3, "--drop", "agee"), "did you mean 'age'"),
        (("--threshold", 0.3, "--drop", "age", "--features", "age"), "'age' has two roles"),
        (("--threshold", 0.3, "--features", "died"), "cannot be one of the columns"),
        (("--threshold", 0.3, "--weights", "sex"), "is not a number"),
        (("--threshold", 0.3, "--reference-risk", "age"), "is not a risk, between 0 and 1"),
        (("--threshold", 0.3, "--formula", "nodes ~ age"), "the formula's outcome is 'nodes'"),
        (("--threshold", 0.3, "--formula", "age", "--scale"), "leave --features and --scale out"),
        (("--threshold", 30), "did you mean 0.3"),
        (("--threshold", 0.3, "--seed", -1), "Invalid value for '--seed'"),
        (("--threshold", 0.3, "--positive", "yes"), "is '0' or '1'"),
        (("--threshold", 0.3, "--decimal", ";"), "the decimal mark is '.' or ','"),
        (("--threshold", 0.3, "--delimiter", "::"), "a delimiter is one character"),
        (("--threshold", 0.3, "--encoding", "klingon"), "there is no encoding 'klingon'"),
        (("--threshold", 0.3, "--out", "nowhere/m.nc"), "there is no folder"),
        (("--threshold", 0.3, "--out", "."), "is a folder"),
        (("--threshold", 0.3, "--out", "p.csv"), "is read, and cannot be written over"),
        (("--threshold", 0.3, "--tune"), "No such option"),
    ],
)
def test_fit_refuses_options_in_words(tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    patients(60).to_csv("p.csv", index=False)
    before = (tmp_path / "p.csv").read_bytes()
    given = ("--id", "patient", "--outcome", "died", "--out", "m.nc", "--sampler", "laplace")
    done = run("fit", "p.csv", *given, *options)
    assert done.code == 2
    assert said in done.err
    assert done.err.startswith("error: ")
    assert len(done.err.splitlines()) <= 3
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]
    assert (tmp_path / "p.csv").read_bytes() == before


def test_ranges_of_thresholds_hold_their_ends():
    assert read_thresholds("0.1:0.5:0.05") == [0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]


# --- predict ------------------------------------------------------------------------------------


def test_predictions_are_the_librarys(trained, tmp_path):
    out = tmp_path / "risks.csv"
    done = run("predict", trained / "model.nc", trained / "test.csv", "--out", out, "--prob", 0.8)
    assert (done.code, done.out) == (0, "")
    written = pd.read_csv(out, float_precision="round_trip")
    test = patients(250, seed=1)
    model, x = tb.load(trained / "model.nc").models_[0.3], design(test)
    assert written["patient"].tolist() == test["patient"].tolist()
    np.testing.assert_array_equal(written["risk"], model.risk(x))
    interval = model.risk_interval(x, 0.8)
    np.testing.assert_array_equal(written[["risk_low", "risk_high"]], interval)
    np.testing.assert_array_equal(written["decision_certainty"], model.decision_certainty(x))
    np.testing.assert_array_equal(written["decision"] == "treat", model.predict(x) == 1)
    doubtful = tb.patients(model, x).uncertain  # which the report counts, too
    np.testing.assert_array_equal(written["uncertain"], doubtful)
    assert f"treat {int(model.predict(x).sum())}, uncertain {int(doubtful.sum())}" in done.err
    assert 0 < doubtful.sum() < 250


def test_predictions_at_another_of_the_thresholds(trained):
    done = run("predict", trained / "model.nc", trained / "test.csv", "--threshold", 0.4)
    assert done.code == 0
    risks = [float(line.split(",")[1]) for line in done.out.splitlines()[1:]]
    x = design(patients(250, seed=1))
    np.testing.assert_array_equal(risks, tb.load(trained / "model.nc").models_[0.4].risk(x))
    refused = run("predict", trained / "model.nc", trained / "test.csv", "--threshold", 0.35)
    assert refused.code == 2
    assert "no model for the threshold 0.35, only for 0.2, 0.3, 0.4" in refused.err


def test_predictions_do_not_depend_on_the_files_form(trained, tmp_path):
    test = patients(250, seed=1)
    expected = run("predict", trained / "model.nc", trained / "test.csv").out
    test.iloc[:, ::-1].to_csv(tmp_path / "t.csv.gz", index=False)  # columns in another order
    test.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",", encoding="utf-16")
    test.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv.gz", "t.csv", "t.parquet"):
        done = run("predict", trained / "model.nc", tmp_path / name)
        assert (done.code, done.out) == (0, expected), name


def test_predictions_do_not_depend_on_the_chunks(trained, tmp_path, monkeypatch):
    expected = run("predict", trained / "model.nc", trained / "test.csv").out
    monkeypatch.setattr("tailoredbayes.tables.chunks.CELLS_A_CHUNK", 600)
    assert run("predict", trained / "model.nc", trained / "test.csv").out == expected


def test_predictions_into_a_compressed_file(trained, tmp_path):
    expected = run("predict", trained / "model.nc", trained / "test.csv").out
    out = tmp_path / "risks.csv.gz"
    assert run("predict", trained / "model.nc", trained / "test.csv", "--out", out).code == 0
    assert gzip.decompress(out.read_bytes()).decode() == expected


def test_rows_without_ids_are_numbered(trained, tmp_path):
    test = patients(250, seed=1).drop(columns=["patient", "died"])
    test.to_csv(tmp_path / "t.csv", index=False)
    done = run("predict", trained / "model.nc", tmp_path / "t.csv")
    lines = done.out.splitlines()
    assert lines[0].startswith("row,risk,")
    assert [line.split(",")[0] for line in lines[1:]] == [str(i + 1) for i in range(250)]


def test_missing_values_at_prediction(trained, tmp_path):
    test = patients(250, seed=1)
    test.loc[[3, 5], "age"] = np.nan
    test.loc[5, "sex"] = None
    test.to_csv(tmp_path / "t.csv", index=False)
    model, table = trained / "model.nc", tmp_path / "t.csv"
    refused = run("predict", model, table, "--out", tmp_path / "r.csv")
    assert refused.code == 2
    assert "misses values in some of its 250 rows: age 2, sex 1" in refused.err
    assert not (tmp_path / "r.csv").exists()
    dropped = run("predict", model, table, "--missing", "drop")
    assert len(dropped.out.splitlines()) == 249
    assert "P0003" not in dropped.out
    assert "2 rows that miss a value were left out" in dropped.err
    imputed = run("predict", model, table, "--missing", "impute")
    assert "3 missing values were filled in" in imputed.err
    filled = test.fillna({"age": patients(400)["age"].median(), "sex": "female"})
    risks = [float(line.split(",")[1]) for line in imputed.out.splitlines()[1:]]
    np.testing.assert_array_equal(risks, tb.load(model).models_[0.3].risk(design(filled)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"drop": "age"}, "has no column 'age' which the model needs"),
        ({"grade": 4}, "row 8 (line 9), column 'grade': '4' is not among the levels"),
        ({"age": "old"}, "row 8 (line 9), column 'age': 'old' is not a number; correct the cell"),
        ({"age": "2020-01-31"}, "'2020-01-31' is not a number but a date"),
        ({"age": "1e200"}, "1e+200 is too large"),
        ({"age": "inf"}, "inf is infinite"),
        ({"age": "=A1"}, "a spreadsheet's formula"),
    ],
)
def test_new_rows_that_do_not_fit_are_named(trained, tmp_path, change, said):
    test = patients(50, seed=1).astype(object)
    if "drop" in change:
        test = test.drop(columns=change["drop"])
    for column, value in change.items():
        if column != "drop":
            test.loc[7, column] = value
    test.to_csv(tmp_path / "t.csv", index=False)
    done = run("predict", trained / "model.nc", tmp_path / "t.csv", "--out", tmp_path / "r.csv")
    assert done.code == 2
    assert said in done.err
    assert str(tmp_path / "t.csv") in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_ids_that_a_spreadsheet_would_run_are_disarmed(trained, tmp_path):
    ids = ["=cmd()", "+1", "-P", "@x", "+49 170", "plain"]
    test = patients(6, seed=1, patient=ids)
    test.to_csv(tmp_path / "t.csv", index=False)
    done = run("predict", trained / "model.nc", tmp_path / "t.csv")
    found = [line.split(",")[0] for line in done.out.splitlines()[1:]]
    assert found == ["'=cmd()", "+1", "'-P", "'@x", "'+49 170", "plain"]
    assert "4 ids that a spreadsheet would run as formulas got an apostrophe" in done.err
    kept = run("predict", trained / "model.nc", tmp_path / "t.csv", "--verbatim")
    assert [line.split(",")[0] for line in kept.out.splitlines()[1:]] == ids


def test_numbers_beyond_the_training_range_are_counted(trained, tmp_path):
    patients(50, seed=1, age=200).to_csv(tmp_path / "t.csv", index=False)
    done = run("predict", trained / "model.nc", tmp_path / "t.csv")
    assert "50 rows have a number outside the range of the training data" in done.err


def test_a_model_saved_from_python_says_what_it_lacks(tmp_path):
    frame = patients()
    model = tb.TailoredLogisticRegression(0.3, discount=0, sampler="laplace", random_state=0)
    model.fit(frame[["age", "nodes"]], frame["died"]).save(tmp_path / "m.nc")
    frame.to_csv(tmp_path / "p.csv", index=False)
    done = run("predict", tmp_path / "m.nc", tmp_path / "p.csv")
    assert done.code == 2
    assert "was saved from Python" in done.err


# --- evaluate -----------------------------------------------------------------------------------


def test_the_evaluation_is_the_librarys(trained, tmp_path):
    out = tmp_path / "e.csv"
    done = run("evaluate", trained / "model.nc", trained / "test.csv", "--out", out, "--seed", 3)
    assert done.code == 0, done.err
    test = patients(250, seed=1)
    x, y, family = design(test), test["died"], tb.load(trained / "model.nc")
    models = {"tailored Bayes": family, "standard Bayes": family.standard_.risk(x)}
    thresholds = [0.2, 0.3, 0.4]
    curve = tb.decision_curve(y, models, thresholds, X=x).to_frame()
    difference = tb.net_benefit_difference(
        y, models, thresholds, X=x, against="standard Bayes", random_state=3
    )
    found = pd.read_csv(out, float_precision="round_trip")
    benefit = found[found["statistic"] == "net_benefit"]
    for column, name in (("value", "net_benefit"), ("low", "low"), ("high", "high")):
        np.testing.assert_allclose(benefit[column], curve[name], rtol=1e-12, atol=1e-15)
    differences = found[found["part"] == "difference"]
    assert differences["against"].eq("standard Bayes").all()
    for column in ("low", "high"):
        expected = getattr(difference, column).ravel()
        np.testing.assert_allclose(differences[column], expected, rtol=1e-12, atol=1e-15)
    for t in thresholds:
        pair = {"tailored Bayes": family.models_[t].risk(x)}
        near = tb.calibration(y, pair, threshold=t).models["tailored Bayes"]
        at = found[(found["threshold"] == t) & (found["model"] == "tailored Bayes")]
        values = at.set_index("statistic")["value"]
        assert values["slope"] == pytest.approx(near.slope.value, rel=1e-12)
        auc = tb.discrimination(y, pair).scores["tailored Bayes"]["auc"].value
        assert values["auc"] == pytest.approx(auc, rel=1e-12)
        assert difference.in_words(t, "tailored Bayes")[:60] in done.out
    assert "treat all" in done.out


def test_the_evaluation_in_json_is_that_of_the_file(trained, tmp_path):
    out = tmp_path / "e.json"
    options = ("--threshold", 0.3, "--prevalence", 0.2, "--prob", 0.8)
    done = run("evaluate", trained / "model.nc", trained / "test.csv", *options, "--json")
    run("evaluate", trained / "model.nc", trained / "test.csv", *options, "--out", out)
    record = json.loads(done.out)
    assert record == json.loads(out.read_text("utf-8"))
    assert (record["rows"], record["prevalence"], record["prob"]) == (250, 0.2, 0.8)
    assert {line["threshold"] for line in record["statistics"]} == {0.3}


def test_the_evaluation_counts_weights_and_missing_values(trained, tmp_path):
    test = patients(250, seed=1)
    weight = np.where(np.arange(250) < 200, 1.0, 0.0)
    test.assign(weight=weight).to_csv(tmp_path / "w.csv", index=False)
    test[:200].to_csv(tmp_path / "f.csv", index=False)
    values = []
    for name, options in (("w.csv", ("--weights", "weight")), ("f.csv", ())):
        done = run("evaluate", trained / "model.nc", tmp_path / name, "--json", *options)
        assert done.code == 0, done.err
        lines = json.loads(done.out)["statistics"]
        values.append([one["value"] for one in lines if one["statistic"] == "net_benefit"])
    np.testing.assert_allclose(values[0], values[1], rtol=1e-12)
    test.loc[:3, "age"] = np.nan
    test.to_csv(tmp_path / "m.csv", index=False)
    refused = run("evaluate", trained / "model.nc", tmp_path / "m.csv")
    assert refused.code == 2
    assert "age 4" in refused.err
    done = run("evaluate", trained / "model.nc", tmp_path / "m.csv", "--missing", "drop")
    assert "4 rows that miss a value were left out" in done.out


def test_the_evaluation_needs_the_outcome(trained, tmp_path):
    patients(50, seed=1).drop(columns="died").to_csv(tmp_path / "t.csv", index=False)
    done = run("evaluate", trained / "model.nc", tmp_path / "t.csv")
    assert done.code == 2
    assert "has no column 'died'" in done.err
    bad = run("evaluate", trained / "model.nc", trained / "test.csv", "--out", tmp_path / "e.txt")
    assert bad.code == 2
    assert "--out ends in .csv, .csv.gz or .json" in bad.err


# --- report and demo ----------------------------------------------------------------------------


def test_the_report_is_the_librarys(trained, tmp_path):
    from tailoredbayes.report import Sample, write_report

    out = tmp_path / "r.html"
    options = ("--title", "Who to treat", "--fact", "setting=Two wards")
    model = trained / "model.nc"
    tables = (trained / "test.csv", "--train", trained / "train.csv")
    done = run("report", model, *tables, "--out", out, *options)
    assert (done.code, done.out, done.err) == (0, f"{out}\n", "")

    def sample(name, frame):
        digest = hashlib.sha256((trained / name).read_bytes()).hexdigest()
        ids = frame["patient"].tolist()
        return Sample(design(frame), frame["died"] == 1, name=name, sha256=digest, ids=ids)

    write_report(
        tb.load(model),
        tmp_path / "library.html",
        train=sample("train.csv", patients(400)),
        test=sample("test.csv", patients(250, seed=1)),
        threshold=0.3,
        title="Who to treat",
        facts={"setting": "Two wards"},
        model_file=model,
    )
    assert out.read_bytes() == (tmp_path / "library.html").read_bytes()


def test_the_report_says_when_the_training_file_is_another(trained, tmp_path):
    out = tmp_path / "r.html"
    done = run("report", trained / "model.nc", "--train", trained / "test.csv", "--out", out)
    assert done.code == 0
    assert "is not the file that the model was fitted to" in done.err
    for options, said in (
        (("--fact", "setting"), "--fact is written as"),
        (("--fact", "colour=red"), "colour"),
        (("--missing", "guess", "--train", trained / "train.csv"), "--missing is refuse"),
        (("--out", trained / "model.nc"), "is read, and cannot be written over"),
    ):
        refused = run("report", trained / "model.nc", *options)
        assert refused.code == 2
        assert said in refused.err


def test_a_risk_can_be_worked_out_by_hand_from_the_report(trained, tmp_path):
    out = tmp_path / "r.html"
    fitted = run(
        *("fit", trained / "train.csv", "--outcome", "died", "--threshold", "0.3", "--id"),
        *("patient", "--categorical", "grade", "--scale", "--out", tmp_path / "m.nc", *QUICK),
    )
    assert fitted.code == 0, fitted.err
    assert run("report", tmp_path / "m.nc", "--out", out).code == 0
    page = html.unescape(out.read_text("utf-8"))
    copied = re.search("<pre[^>]*>(.*?)</pre>", page, re.DOTALL)[1].split("\n")
    terms = dict(re.findall('<tr><th scope="row">([^<]*)</th><td>([^<]*)</td></tr>', page))
    one = patients(250, seed=1).iloc[0]
    logit = 0.0
    for name, coefficient in (line.split("\t") for line in copied):
        logit += float(coefficient) * by_hand(terms[name], one)
    done = run("predict", tmp_path / "m.nc", trained / "test.csv")
    risk = float(done.out.splitlines()[1].split(",")[1])
    assert 1 / (1 + np.exp(-logit)) == pytest.approx(risk, abs=0.01)


def by_hand(term, patient):
    """Work a term out as the page writes it: 1, 1 if grade is 3, else 0, or (age - 60.1) / 9.8."""
    if term == "1":
        return 1
    level = re.fullmatch("1 if (.+) is (.+), else 0", term)
    if level:
        return int(str(patient[level[1]]) == level[2])
    name, mean, sd = re.fullmatch(r"\((.+) − (.+)\) / (.+)", term).groups()
    return (patient[name] - float(mean)) / float(sd)


def test_the_report_counts_the_weights(tmp_path):
    for name, seed in (("train.csv", 0), ("test.csv", 1)):
        frame = patients(300, seed)
        frame.assign(w=np.where(frame["sex"] == "male", 3, 1)).to_csv(tmp_path / name, index=False)
    model, out = tmp_path / "m.nc", tmp_path / "r.html"
    options = ("--outcome", "died", "--threshold", "0.3", "--id", "patient", "--weights", "w")
    assert run("fit", tmp_path / "train.csv", *options, "--out", model, *QUICK).code == 0
    for table, given in (
        ("train.csv", ("--train", tmp_path / "train.csv")),
        ("test.csv", (tmp_path / "test.csv", "--weights", "w")),
    ):
        assert run("report", model, *given, "--out", out).code == 0
        judged = run("evaluate", model, tmp_path / table, "--weights", "w", "--json")
        first = json.loads(judged.out)["statistics"][0]
        assert first["statistic"] == "treated_per_1000"
        page = out.read_text("utf-8")
        assert f'<tr><th scope="row">tailored model</th><td>{first["value"]:.1f}</td>' in page
        assert "count by their weights" in page
        assert "the event is “died” = “1”" in page
    refused = run("report", model, "--weights", "w", "--out", out)
    assert refused.code == 2
    assert "--weights names a column of TABLE" in refused.err


@pytest.mark.slow
def test_the_demo_ends_with_the_reports_path(tmp_path):
    done = run("demo", "--out", tmp_path / "demo")
    assert done.code == 0, done.err
    page = tmp_path / "demo" / "report.html"
    assert done.out.splitlines()[-1] == str(page)
    assert "treat all" in done.out
    assert "<html" in page.read_text("utf-8")
    # Each step is told as the command that does it, and that command does it again.
    steps = [line.split()[2:] for line in done.out.splitlines() if line.startswith("$ tailored")]
    assert [step[0] for step in steps] == ["fit", "predict", "evaluate", "report"]
    risks = (tmp_path / "demo" / "risks.csv").read_bytes()
    for step in steps[:2]:
        assert run(*step).code == 0
    assert (tmp_path / "demo" / "risks.csv").read_bytes() == risks


def test_what_is_not_said_is_the_estimators_default():
    command = inspect.signature(fit_command.command).parameters
    estimator = inspect.signature(tb.TailoredFamily).parameters
    shared = set(command) & set(estimator) - {"discount_grid", "prior", "thresholds"}
    assert {"selection", "cv", "cv_repeats", "rounds", "sampler", "draws"} <= shared
    for name in sorted(shared):
        assert command[name].default == estimator[name].default, name
