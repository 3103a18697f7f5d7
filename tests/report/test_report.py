"""The page: its numbers are the library's, its text is text, and it stands on its own."""

import json
import re
from itertools import pairwise

import numpy as np
import pytest
from pages import HOSTILE, Page, family, quietly, rows, table

import tailoredbayes as tb
from tailoredbayes.evaluation.certainty import uncertain_shares
from tailoredbayes.evaluation.held_out import held_out_curve
from tailoredbayes.findings import CODES
from tailoredbayes.report.advice import ADVICE
from tailoredbayes.report.checklist import FACTS
from tailoredbayes.report.page import SECTIONS, report_html

T = 0.3


@pytest.fixture(scope="module")
def fitted():
    return family()


@pytest.fixture(scope="module")
def train():
    return tb.Sample(*rows(300, 1), name="train.csv", sha256="ab" * 32)


@pytest.fixture(scope="module")
def test_rows():
    return tb.Sample(*rows(200, 2), name="test.csv", sha256="cd" * 32)


@pytest.fixture(scope="module")
def text(fitted, train, test_rows):
    return report_html(fitted, train=train, test=test_rows)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


@pytest.fixture(scope="module")
def alone(fitted):
    """The page of the model file alone."""
    return Page(report_html(fitted))


def per_1000(share):
    return f"{1000 * share:.1f}".replace("-0.0", "0.0").replace("-", "−")


# --- Its shape ----------------------------------------------------------------------------------


def test_sections_are_there_in_order(page):
    assert [one.attributes["id"] for one in page.find("section")] == list(SECTIONS)
    assert [one.words for one in page.find("h2")] == list(SECTIONS.values())
    targets = {one.attributes["id"] for one in page.root.walk() if "id" in one.attributes}
    links = [one.attributes["href"] for one in page.find("a")]
    assert {link[1:] for link in links} <= targets
    assert all(link.startswith("#") for link in links)


def test_headings_go_down_one_level_at_a_time(page):
    levels = [int(one.tag[1]) for one in page.root.walk() if re.fullmatch("h[1-6]", one.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))


def test_ids_are_unique_and_pointers_lead_somewhere(page):
    ids = [one.attributes["id"] for one in page.root.walk() if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    pointers = {
        pointer
        for one in page.root.walk()
        for value in one.attributes.values()
        for pointer in re.findall(r"url\(#([^)]+)\)", value or "")
    }
    pointers |= {
        one.attributes["xlink:href"][1:]
        for one in page.root.walk()
        if "xlink:href" in one.attributes
    }
    assert pointers
    assert pointers <= set(ids)


def test_every_picture_has_a_text_and_every_figure_a_caption(page):
    pictures = page.find("svg")
    assert len(pictures) >= 10
    texts = {one.attributes.get("id"): one.words for one in page.root.walk()}
    for one in pictures:
        assert one.attributes["role"] == "img"
        assert all(texts[key] for key in one.attributes["aria-labelledby"].split())
    assert not page.find("img")
    for one in page.find("figure"):
        assert one.find("figcaption")[0].words
    for one in page.find("input"):
        assert page.find("label", **{"for": one.attributes["id"]})
    for one in page.find("table"):
        assert one.find("caption")[0].words
        assert {cell.attributes.get("scope") for cell in one.find("th")} <= {"row", "col"}


def test_the_page_loads_nothing_and_lets_no_other_script_run(text, page):
    for one in page.root.walk():
        for name in ("src", "srcset", "data", "action", "poster"):
            assert name not in one.attributes
        for value in (one.attributes.get("href"), one.attributes.get("xlink:href")):
            assert value is None or value.startswith("#")
        assert one.tag not in {"link", "iframe", "object", "embed", "base"}
        assert not any(name.startswith("on") for name in one.attributes)
    style = page.find("style")[0].words
    assert "@import" not in style
    assert "url(" not in style
    (policy,) = page.find("meta", **{"http-equiv": "Content-Security-Policy"})
    assert policy.attributes["content"].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy.attributes["content"]


def test_the_page_is_small(text):
    assert len(text.encode()) < 6e6


@pytest.mark.slow
def test_the_same_input_gives_the_same_page(fitted, train, test_rows, text):
    assert report_html(fitted, train=train, test=test_rows) == text


# --- Its numbers --------------------------------------------------------------------------------


def test_the_decision_table_is_the_decision_curves(fitted, test_rows, page):
    models = {"tailored model": fitted, "standard Bayes": fitted.standard_}
    curve = tb.decision_curve(test_rows.y, models, X=test_rows.X)
    place = 1
    found = table(page.section("performance"), "Decisions at 30%")
    for m, row in enumerate(found):
        assert row["Treated"] == per_1000(curve.test_pos_rate[m, place])
        assert row["True positives"] == per_1000(curve.tp_rate[m, place])
        assert row["False positives"] == per_1000(curve.fp_rate[m, place])
        value, low, high = (
            per_1000(v[m, place]) for v in (curve.net_benefit, curve.low, curve.high)
        )
        assert row["Net benefit (95% interval)"] == f"{value} ({low} to {high})"
    assert found[0]["Policy"] == "tailored model"
    assert [row["Policy"] for row in found[2:]] == ["treat all", "treat none"]


def test_the_difference_is_the_librarys(fitted, test_rows, page):
    models = {"tailored model": fitted, "standard Bayes": fitted.standard_}
    record = tb.net_benefit_difference(
        test_rows.y, models, against="standard Bayes", X=test_rows.X, random_state=0
    )
    found = table(page.section("performance"), "Net benefit of the tailored model less")
    assert [row["Threshold"] for row in found] == ["20%", "30%", "50%"]
    columns = (record.difference, record.standard_error, record.low, record.high)
    for row, *numbers in zip(found, *(column[0] for column in columns), strict=True):
        value, error, low, high = map(per_1000, numbers)
        assert row["Difference (95% bootstrap interval)"] == f"{value} ({low} to {high})"
        assert row["Standard error"] == error


def test_apparent_and_cross_validated_numbers_are_labelled_and_the_librarys(fitted, train, page):
    section = page.section("performance")
    assert [one.attributes["id"] for one in section.find("h3")] == [
        "external",
        "cross-validated",
        "apparent",
    ]
    captions = [one.words for one in section.find("caption")]
    labels = ("external)", "cross-validated)", "apparent)")
    assert all(words.endswith(labels) for words in captions)
    decided = [words for words in captions if words.startswith("Decisions at")]
    assert [words.split("(")[1] for words in decided] == [
        "external)",
        "cross-validated)",
        "apparent)",
    ]
    held_out = held_out_curve(fitted)
    apparent = tb.decision_curve(train.y, {"TB": fitted}, X=train.X)
    tables = [
        one for one in section.find("table") if one.find("caption")[0].words.startswith("Decisions")
    ]
    for one, value in zip(
        tables[1:], (held_out.net_benefit[0, 1], apparent.net_benefit[0, 1]), strict=True
    ):
        first = one.find("tbody")[0].find("tr")[0]
        assert first.find("td")[4].words.startswith(per_1000(value))


def test_calibration_and_discrimination_are_the_librarys(fitted, test_rows, page):
    models = {"tailored model": fitted.models_[T], "standard Bayes": fitted.standard_}
    scores = tb.discrimination(test_rows.y, models, X=test_rows.X).scores
    auc = scores["tailored model"]["auc"]
    found = table(page.section("performance"), "Discrimination")[0]
    assert found["tailored model"] == f"{auc.value:.4f} ({auc.low:.4f} to {auc.high:.4f})"
    record = tb.calibration(test_rows.y, models, X=test_rows.X, threshold=T)
    slope = record.models["standard Bayes"].slope
    shown = {row["Measure"]: row for row in table(page.section("performance"), "Calibration")}
    assert shown["slope (Cox)"]["standard Bayes"] == (
        f"{slope.value:.3f} ({slope.low:.3f} to {slope.high:.3f})"
    )
    assert any("near" in name or "within" in name for name in shown)


def test_the_explorer_holds_the_librarys_numbers_and_those_of_its_table(fitted, test_rows, page):
    models = {"tailored model": fitted, "standard Bayes": fitted.standard_}
    curve = tb.decision_curve(test_rows.y, models, X=test_rows.X)
    (data,) = page.find("script", id="explorer-data")
    given = json.loads(data.words)
    assert given["t"] == fitted.thresholds_.tolist()
    listed = table(page.section("explorer"), "All thresholds")
    shares = uncertain_shares(fitted, test_rows.X, fitted.thresholds_)
    for i, t in enumerate(given["t"]):
        of_t = [row for row in listed if row["Threshold"] == given["thresholds"][i]]
        for m, values in enumerate(given["values"][i][:3]):
            assert values[1] == per_1000(curve.tp_rate[m, i])
            assert values[2] == per_1000(curve.fp_rate[m, i])
            assert values[5] == f"{10 * curve.interventions_avoided[m, i]:.1f}".replace(
                "-0.0", "0.0"
            ).replace("-", "−")
            assert list(of_t[m].values())[3:9] == values
        assert of_t[0]["Uncertain decisions"] == given["uncertain"][i] == f"{100 * shares[i]:.1f}%"
        assert float(given["accepted"][i]) == pytest.approx((1 - t) / t, rel=0.01)
    drawn = next(iter(given["chart"]["datasets"].values()))
    for row in drawn:
        if row["model"] == "tailored model":
            place = given["t"].index(row["t"])
            assert row["nb"] == pytest.approx(1000 * curve.net_benefit[0, place])


def test_the_formula_can_be_copied_in_full_precision(fitted, page):
    copies = [one for one in page.section("model").find("pre")]
    assert len(copies) == 3
    for one, model in zip(copies, fitted.models_.values(), strict=True):
        raw = "".join(piece.text for piece in one.inside)
        pairs = [line.split("\t") for line in raw.strip().split("\n")]
        assert [name for name, _ in pairs] == ["intercept", "age", "nodes"]
        assert [float(value) for _, value in pairs] == model.draws_.mean.tolist()
    shown = table(page.section("model"), "Coefficients at 30%")
    summary = fitted.models_[T].summary(0.9)
    assert [row["Coefficient"] for row in shown] == [
        f"{value:.4f}".replace("-", "−") for value in summary["mean"]
    ]


@pytest.mark.slow
def test_patients_in_doubt_are_listed_by_their_names(fitted, test_rows):
    named = tb.Sample(test_rows.X, test_rows.y, ids=[f"P-{i}" for i in range(200)])
    page = Page(report_html(fitted, test=named))
    record = tb.patients(fitted, test_rows.X, T)
    least = np.argsort(record.certainty_of_decision, kind="stable")[0]
    found = table(page.section("patients"), "Patients whose decision")
    assert found[0]["Patient"] == f"P-{least}"
    assert found[0]["Certainty"] == f"{100 * record.certainty_of_decision[least]:.1f}%"
    assert f"{int(record.uncertain.sum())} have a decision" in page.section("patients").words
    alike = tb.Sample(test_rows.X, test_rows.y, ids=["same"] * 200)
    found = table(Page(report_html(fitted, test=alike)).section("patients"), "Patients whose")
    assert found[0]["Patient"] == f"same (row {least + 1})"


@pytest.mark.slow
def test_the_data_and_where_all_came_from(fitted, train, test_rows, page, tmp_path):
    found = table(page.section("data"), "Patients")
    events = int(train.y.sum())
    assert found[0]["With the event"] == f"{events} ({100 * events / 300:.1f}%)"
    assert found[1]["Source"] == "test.csv"
    fitted.save(tmp_path / "model.nc")
    page = Page(report_html(fitted, train=train, model_file=tmp_path / "model.nc"))
    made = {row["What"]: row["Value"] for row in table(page.section("reproducibility"), "What")}
    assert made["Training data, SHA-256"] == "ab" * 32
    assert re.fullmatch("[0-9a-f]{64}", made["Model file, SHA-256"])
    assert "numpy" in made["Model made with"]


@pytest.mark.slow
def test_risks_that_do_not_fit_the_rows_are_a_limitation(fitted, test_rows):
    sick = tb.Sample(test_rows.X, np.arange(200) % 10 > 0)  # nine of ten have the event
    limits = Page(report_html(fitted, test=sick)).section("limitations").words
    models = {"tailored model": fitted.models_[T]}
    record = tb.calibration(sick.y, models, X=sick.X, threshold=T).models["tailored model"]
    assert record.near.observed.low > T
    assert f"Overall {record.observed_expected.value:.2f} times as many events" in limits
    assert "the risks are too low for these patients" in limits
    assert f"given a risk of 30%, {100 * record.near.observed.value:.1f}%" in limits


# --- What it says of what it was not given ------------------------------------------------------


def test_the_model_file_alone_tells_what_the_search_told(alone, fitted):
    section = alone.section("performance")
    assert [one.words for one in section.find("h3")] == ["Cross-validated results"]
    gain = table(section, "Net benefit of the tailored model less")
    paths = tb.prospects(fitted).searches
    assert [row["Difference (95% normal interval)"].split()[0] for row in gain] == [
        per_1000(path.gain) for path in paths.values()
    ]
    assert "not supplied" in alone.section("patients").words
    assert "There are no external data" in alone.section("limitations").words
    assert "flatter" in alone.section("limitations").words


def test_a_given_discount_and_no_rows_leave_the_model_alone():
    page = Page(report_html(family(discount=4)))
    assert "not supplied" in page.section("summary").words
    assert not page.find("section", id="explorer")
    assert not page.find("script")
    assert "nothing can be said of the model's performance" in page.section("limitations").words


@pytest.mark.slow
def test_what_only_the_authors_can_say_is_asked_for(page, fitted, train):
    wanting = sum(one.words == "not supplied" for one in page.find("em"))
    assert wanting == len(FACTS)
    told = Page(report_html(fitted, train=train, facts={"setting": "Two <b>clinics</b>, 1999"}))
    assert "Two <b>clinics</b>, 1999" in told.section("purpose").words
    assert sum(one.words == "not supplied" for one in told.find("em")) == len(FACTS) - 1
    with pytest.raises(ValueError, match=r"facts must be some of setting, .* got 'settings'"):
        report_html(fitted, facts={"settings": "here"})


def test_the_checklist_claims_no_compliance(page):
    section = page.section("checklist")
    status = [row["Status"] for row in table(section, "Items")]
    assert len(status) == 27
    assert set(status) == {
        "filled here",
        "filled here; the rest needs the author",
        "needs the author",
    }
    assert "not a statement of compliance" in section.words


@pytest.mark.slow
def test_every_finding_is_said_in_plain_words():
    assert ADVICE.keys() == CODES.keys()
    assert all(means.endswith(".") and do.endswith(".") for means, do in ADVICE.values())
    model = quietly(
        tb.TailoredLogisticRegression(0.3, discount_grid=[1, 2], draws=400, random_state=0),
        *rows(80, 5),
    )
    page = Page(report_html(model))
    codes = {one.words for one in page.section("findings").find("code")}
    assert codes == {finding.code for finding in model.findings_}
    assert "rare-events" in codes


# --- Other models -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_single_model_is_judged_at_a_grid_that_holds_its_threshold(test_rows):
    model = quietly(
        tb.TailoredLogisticRegression(0.37, discount=6, draws=400, random_state=0), *rows(300, 1)
    )
    page = Page(report_html(model, test=test_rows))
    given = json.loads(page.find("script", id="explorer-data")[0].words)
    assert 0.37 in given["t"]
    assert given["t"] == sorted(given["t"])
    assert 10 < len(given["t"]) <= 45
    assert given["start"] == given["t"].index(0.37)
    assert "holds no standard Bayesian model" in page.section("limitations").words


@pytest.mark.slow
def test_a_family_of_one_threshold_and_one_without_tailoring(test_rows):
    one = family(thresholds=[0.3], discount=6)
    page = Page(report_html(one, test=test_rows))
    assert table(page.section("performance"), "Net benefit of the tailored model less")
    plain = quietly(
        tb.TailoredLogisticRegression(0.3, discount=0, draws=400, random_state=0), *rows(300, 1)
    )
    page = Page(report_html(plain, test=test_rows))
    assert table(page.section("performance"), "Decisions at 30%")[0]["Policy"] == "standard Bayes"
    assert "the model is not tailored: it is standard Bayes" in page.section("summary").words
    assert "was tailored to" not in page.find("main")[0].words


@pytest.mark.slow
def test_one_outcome_only_in_the_test_rows(fitted, test_rows):
    events = test_rows.y
    one = tb.Sample(test_rows.X[events], test_rows.y[events])
    page = Page(report_html(fitted, test=one))
    assert "All patients have the same outcome" in page.section("performance").words


@pytest.mark.slow
def test_weighted_rows(fitted, test_rows):
    weight = np.where(test_rows.y, 2.0, 1.0)
    page = Page(report_html(fitted, test=tb.Sample(test_rows.X, test_rows.y, weight)))
    curve = tb.decision_curve(test_rows.y, {"TB": fitted}, X=test_rows.X, sample_weight=weight)
    found = table(page.section("performance"), "Decisions at 30%")[0]
    assert found["True positives"] == per_1000(curve.tp_rate[0, 1])


@pytest.mark.slow
def test_arrays_without_names():
    x, y = rows(300, 1)
    model = quietly(tb.TailoredLogisticRegression(0.3, draws=400, random_state=0), x.to_numpy(), y)
    page = Page(report_html(model, train=tb.Sample(x.to_numpy(), y)))
    assert [row["Predictor"] for row in table(page.section("data"), "Predictors")] == ["1", "2"]


# --- Text from data -----------------------------------------------------------------------------


def test_hostile_names_stay_text():
    names = ["age", "nodes", *HOSTILE, "very " * 60]
    model = family(names, thresholds=[0.3, 0.5], discount=6)
    sample = tb.Sample(
        *rows(150, 2, names), ids=[f"<img src=x onerror=alert({i})>" for i in range(150)]
    )
    text = report_html(
        model, test=sample, title="<script>alert('title')</script>", facts={"users": "</p><b>"}
    )
    page = Page(text)
    scripts = page.find("script")
    assert len(scripts) == 3
    assert "alert(" not in " ".join(one.words for one in scripts[:1])
    assert not page.find("img")
    assert not page.find("b")
    assert page.find("h1")[0].words == "<script>alert('title')</script>"
    shown = [row["Predictor"] for row in table(page.section("model"), "Coefficients at 30%")]
    assert shown[3:7] == HOSTILE
    drawn = " ".join(one.words for one in page.section("model").find("text"))
    assert "cost $x$" in drawn


@pytest.mark.slow
def test_strange_letters_can_be_drawn():
    names = ["age", "nodes", "😀 mood", "größe"]
    page = Page(report_html(family(names, thresholds=[0.3], discount=6)))
    drawn = " ".join(one.words for one in page.section("model").find("text"))
    assert "😀 mood" in drawn


# --- The file -----------------------------------------------------------------------------------


def test_the_file_appears_whole_or_not_at_all(fitted, tmp_path):
    out = tmp_path / "report.html"
    assert tb.write_report(fitted, out) == out
    before = out.read_bytes()
    assert before.startswith(b"<!DOCTYPE html>")
    with pytest.raises(OSError, match="cannot write"):
        tb.write_report(fitted, tmp_path / "no" / "report.html")
    with pytest.raises(ValueError, match="threshold must be one that the model was fitted for"):
        tb.write_report(fitted, out, threshold=0.4)
    assert out.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_what_is_no_fitted_model_is_refused(tmp_path):
    with pytest.raises(TypeError, match="model must be a fitted TailoredLogisticRegression"):
        tb.write_report(tb.TailoredFamily(), tmp_path / "report.html")
    x, y = rows(300, 1)
    model = quietly(
        tb.TailoredLogisticRegression(0.3, discount=2, draws=400, random_state=0),
        x,
        np.where(y, "dead", "alive"),
    )
    other = tb.Sample(x, np.where(y, "d", "a"))
    with pytest.raises(ValueError, match="y must hold the model's labels"):
        tb.write_report(model, tmp_path / "report.html", test=other)


@pytest.mark.slow
def test_a_recipe_tells_the_columns_and_catches_another_file(fitted, train, test_rows):
    model = family(thresholds=[0.3], discount=6)
    number = {"kind": "number", "low": 0.1, "high": 0.9, "mean": 0.5, "sd": 0.2, "missing": 3}
    grade = {"kind": "category", "levels": ["II", "<III>"], "counts": [200, 100], "missing": 0}
    model.recipe_ = {
        "outcome": "died",
        "labels": ["alive", "dead"],
        "weights": "wt",
        "reference_risk": "score",
        "missing": "impute",
        "threshold": 0.3,
        "call": "tailoredbayes fit 'a & b.csv'",
        "columns": [{"name": "age", **number}, {"name": "grade", **grade}],
        "data": {"file": "a & b.csv", "sha256": "00" * 32, "rows": 300, "events": 111},
        "notes": ["read with ; between columns"],
    }
    counted = tb.Sample(test_rows.X, test_rows.y, missing={"age": 7})
    page = Page(report_html(model, train=train, test=counted))
    section = page.section("data")
    assert [row["Values in training"] for row in table(section, "Predictors")] == [
        "0.1 to 0.9, mean 0.5, SD 0.2",
        "II (200), <III> (100)",
    ]
    assert [row["Missing in the external data"] for row in table(section, "Predictors")] == [
        "7",
        "0",
    ]
    assert table(section, "Patients")[0]["With the event"].startswith("111 ")
    assert "read with ; between columns" in section.words
    assert page.find("h1")[0].words == "Predicting died, to decide at a risk of 30%"
    assert "the event is “died” = “dead”" in page.section("purpose").words
    settings = {row["Setting"]: row["Value"] for row in table(page.section("model"), "How")}
    assert settings["Row weights"].startswith("column “wt”")
    terms = {row["Term"]: row["What it is"] for row in table(page.section("model"), "What each")}
    assert terms["grade[<III>]"] == "1 if grade is <III>, else 0"
    assert "compared with: grade II." in page.section("model").words
    limits = page.section("limitations").words
    assert "not the file that the model was fitted to" in limits
    assert "Missing values were filled in" in limits
    made = {row["What"]: row["Value"] for row in table(page.section("reproducibility"), "What")}
    assert made["Call"] == "tailoredbayes fit 'a & b.csv'"
