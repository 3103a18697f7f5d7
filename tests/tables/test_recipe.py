"""From a table to a design: roles, categories, formulas, missing values, and the way back."""

from __future__ import annotations

import json

import formulaic
import numpy as np
import pandas as pd
import pytest

from tailoredbayes.tables import TableError, open_table
from tailoredbayes.tables.formula import FUNCTIONS, parse_formula
from tailoredbayes.tables.recipe import Recipe
from tailoredbayes.tables.training import Choices, plan, read_labelled, read_training

ROWS = 200


def frame(seed=0, **columns):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(60, 10, ROWS),
            "nodes": rng.poisson(2, ROWS),
            "grade": rng.choice([1, 2, 10], ROWS, p=[0.2, 0.5, 0.3]),
            "sex": rng.choice(["f", "m"], ROWS, p=[0.7, 0.3]),
            "died": rng.choice([0, 1], ROWS),
            **columns,
        }
    )


@pytest.fixture
def opened(tmp_path):
    def open_(data, name="t.csv"):
        if name.endswith(".parquet"):
            data.to_parquet(tmp_path / name)
        else:
            data.to_csv(tmp_path / name, index=False)
        return open_table(tmp_path / name)

    return open_


def read(table, **choices):
    return read_training(plan(table, Choices(**{"outcome": "died", **choices})))


def test_numbers_and_categories_become_the_design(opened):
    data = frame()
    found = read(opened(data), categorical=("grade",))
    # The most frequent level is the baseline; levels of numbers go by size, not by the alphabet.
    assert found.names == ("age", "nodes", "grade[1]", "grade[10]", "sex[m]")
    expected = [data["age"], data["nodes"], data["grade"] == 1, data["grade"] == 10]
    np.testing.assert_array_equal(found.x, np.stack([*expected, data["sex"] == "m"], axis=1))
    np.testing.assert_array_equal(found.y, data["died"] == 1)
    age = found.recipe.columns[0]
    assert (age.median, age.mean) == (np.median(data["age"]), np.mean(data["age"]))
    assert found.recipe.columns[2].counts == tuple(
        int((data["grade"] == level).sum()) for level in (2, 1, 10)
    )


def test_a_csv_and_a_parquet_file_give_the_same(opened):
    choices = {"categorical": ("grade",)}
    csv, parquet = (read(opened(frame(), name), **choices) for name in ("t.csv", "t.parquet"))
    np.testing.assert_array_equal(csv.x, parquet.x)
    assert csv.names == parquet.names
    one, other = csv.recipe.to_json(), parquet.recipe.to_json()
    assert one.pop("data")["sha256"] != other.pop("data")["sha256"]
    assert one == other


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"scale": True, "categorical": ("grade",), "ids": ("nodes",)},
        {"formula": "died ~ age + C(grade) + sex"},
        {"formula": "bs(age, df=4) + cs(nodes, df=3) + poly(age, 2) + scale(nodes):sex"},
        {"formula": "cr(age, df=4) + center(nodes) + log1p(nodes) + sqrt(abs(age)) + I(age**2)"},
    ],
)
def test_a_recipe_out_of_json_makes_the_same_design(opened, choices):
    found = read(opened(frame()), **choices)
    recipe = Recipe.from_json(json.loads(json.dumps(found.recipe.to_json(), allow_nan=False)))
    assert recipe.to_json() == found.recipe.to_json()
    again = read_labelled(opened(frame()), recipe, found.names, missing="refuse")
    np.testing.assert_array_equal(again.x, found.x)
    # Of a few rows, splines and scalings stay those of the fit.
    few = frame()[:7].assign(died=[0, 1, 0, 0, 0, 0, 0])
    part = read_labelled(opened(few, "few.csv"), recipe, found.names, missing="refuse")
    np.testing.assert_allclose(part.x, found.x[:7], rtol=1e-12)


def test_a_formula_is_formulaics(opened):
    data = frame()
    text = "bs(age, df=4) + log(nodes + 1) * sex + C(grade)"
    found = read(opened(data), formula=f"died ~ {text}")
    data["grade"] = pd.Categorical(data["grade"], categories=[2, 1, 10])
    expected = formulaic.model_matrix(text, data)
    assert list(found.names) == list(expected.columns[1:])
    np.testing.assert_allclose(found.x, expected.to_numpy(dtype=float)[:, 1:], rtol=1e-12)


def test_names_with_spaces_stand_in_backticks(opened):
    data = frame().rename(columns={"age": "age at diagnosis"})
    found = read(opened(data), formula="died ~ log(`age at diagnosis`) + `age at diagnosis`:nodes")
    np.testing.assert_allclose(found.x[:, 0], np.log(data["age at diagnosis"]))
    assert found.recipe.names == ("age at diagnosis", "nodes")


@pytest.mark.parametrize(
    "text",
    [
        "np.log(age)",
        "age.mean()",
        "__import__('os').system('true')",
        "{().__class__}",
        "open('x')",
        "I(lambda: 1)",
        "I([a for a in age])",
        "I(age if age else nodes)",
        "I(f'{age}')",
        "exec('1')",
        "Q('age')",
        "hashed(age, 3)",
        "C(age, contr.sum)",
        "I(age[0])",
        "I(age := 1)",
        "eval('age')",
    ],
)
def test_a_formula_brings_no_code(opened, text):
    for formula in (f"died ~ {text}", f"died ~ age + {text}"):
        with pytest.raises(TableError, match="formula"):
            plan(opened(frame()), Choices(formula=formula))
    recipe = read(opened(frame()), formula="died ~ age").recipe.to_json()
    recipe["formula"]["text"] = text
    with pytest.raises(TableError, match="formula"):
        Recipe.from_json(recipe)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("died ~", "names no column"),
        ("~ age", "names no outcome"),
        ("died ~ age - 1", "leaves the intercept out"),
        ("died ~ age | nodes", "several parts"),
        ("died ~ log(", "cannot be read"),
        ("died ~ size", "no column 'size'"),
        ("died ~ log(sex)", "cannot be computed"),
        ("died ~ died + age", "cannot be one of the columns"),
    ],
)
def test_formulas_that_do_not_fit(opened, formula, said):
    with pytest.raises(TableError, match=said):
        read(opened(frame()), formula=formula)


def test_every_function_of_formulas_works(opened):
    arguments = {"bs": "age, df=4", "cs": "age, df=3", "cr": "age, df=3", "cc": "age, df=3"}
    arguments |= {"poly": "age, 2", "C": "grade", "exp": "age / 100"}
    for function in FUNCTIONS:
        term = f"{function}({arguments.get(function, 'age')})"
        found = read(opened(frame()), formula=f"died ~ {term}")
        assert np.isfinite(found.x).all(), term
        assert parse_formula(term)[1].columns == found.recipe.names


def test_a_spline_met_beyond_its_ends_says_what_to_do(opened):
    found = read(opened(frame()), formula="died ~ bs(age, df=4)")
    far = opened(frame(age=200.0), "far.csv")
    with pytest.raises(TableError, match="extrapolation='clip'"):
        read_labelled(far, found.recipe, found.names, missing="refuse")
    clipped = read(opened(frame()), formula="died ~ bs(age, df=4, extrapolation='clip')")
    held = read_labelled(far, clipped.recipe, clipped.names, missing="refuse")
    assert np.isfinite(held.x).all()


def test_missing_values_dropped_and_imputed(opened):
    data = frame()
    data.loc[:9, "age"] = np.nan
    data.loc[5:14, "sex"] = None
    data.loc[190:, "died"] = np.nan
    with pytest.raises(TableError, match=r"age 10, sex 10|died 10") as error:
        read(opened(data))
    assert "200 rows" in str(error.value)
    dropped = read(opened(data), missing="drop")
    assert (len(dropped.y), dropped.left_out, dropped.imputed) == (175, 25, 0)
    np.testing.assert_array_equal(dropped.x[:, 0], data["age"][15:190])
    imputed = read(opened(data), missing="impute")
    # An outcome is never imputed; medians are those of the rows that go on.
    assert (len(imputed.y), imputed.left_out, imputed.imputed) == (190, 10, 20)
    np.testing.assert_array_equal(imputed.x[:10, 0], np.median(data["age"][10:190]))
    sex = list(imputed.names).index("sex[m]")
    assert not imputed.x[5:15, sex].any()
    again = read_labelled(opened(data), imputed.recipe, imputed.names, missing="impute")
    np.testing.assert_array_equal(again.x, imputed.x)


def test_weights_and_reference_risks(opened):
    weight, risk = np.arange(ROWS) / 10, np.linspace(0, 1, ROWS)
    found = read(opened(frame(w=weight, r=risk)), weights="w", reference_risk="r")
    np.testing.assert_array_equal(found.weights, weight)
    np.testing.assert_array_equal(found.reference_risk, risk)
    assert "w" not in found.names
    with pytest.raises(TableError, match=r"row 1 .*column 'r': 2 is not a risk"):
        read(opened(frame(r=risk + 2)), reference_risk="r")


@pytest.mark.parametrize(
    ("labels", "positive", "event"),
    [
        (("no", "yes"), None, "yes"),
        (("N", "Y"), None, "Y"),
        (("True", "False"), None, "True"),
        (("alive", "dead"), "dead", "dead"),
        (("alive", "dead"), "alive", "alive"),
        (("1", "2"), "2", "2"),
    ],
)
def test_labels_of_the_outcome(opened, labels, positive, event):
    died = np.random.default_rng(5).choice(labels, ROWS)
    found = read(opened(frame(died=died)), positive=positive)
    assert found.recipe.labels[1] == event
    np.testing.assert_array_equal(found.y, died == event)


def test_leakage_is_refused_unless_asked_for_by_name(opened):
    data = frame()
    data["stay"] = data["died"] * 100 + data["age"]
    with pytest.raises(TableError, match=r"column 'stay' separates .*leakage"):
        read(opened(data))
    found = read(opened(data), features=("age", "stay"))
    assert any("'stay' separates" in note for note in found.recipe.notes)
    # A pure category of few rows, and five events, say nothing.
    assert read(opened(data.assign(died=[1] * 4 + [0] * 196)), drop=("stay",)).y.sum() == 4


def test_values_in_rows_of_one_kind_alone_are_leakage(opened):
    data = frame()
    cause = np.where(data["died"] == 1, np.tile(["I21", "C50"], ROWS // 2), "")
    with pytest.raises(TableError, match=r"'cause' has values only in rows with the event"):
        read(opened(data.assign(cause=cause)), missing="impute")
    home = np.where(data["died"] == 0, np.arange(ROWS), np.nan)
    with pytest.raises(TableError, match=r"'home' has values only in rows without the event"):
        read(opened(data.assign(home=home)), missing="impute")
    # Two values may both be of patients with the event by chance.
    few = data["age"].where(np.isin(np.arange(ROWS), np.flatnonzero(data["died"])[:2]))
    assert read(opened(data.assign(few=few)), missing="impute").imputed == ROWS - 2


def test_only_what_is_used_is_looked_at(opened):
    data = frame(notes=[f"free text {i}" for i in range(ROWS)], seen="2020-01-01")
    assert read(opened(data), features=("age",)).names == ("age",)
    assert read(opened(data), formula="died ~ age").names == ("age",)
    assert "notes" not in read(opened(data), drop=("notes", "seen")).names


def test_a_column_name_stays_text(opened):
    name = "<script>alert('1')</script> 😀"
    found = read(opened(frame().rename(columns={"age": name})), features=(name,))
    assert found.names == (name,)
    assert json.loads(json.dumps(found.recipe.to_json()))["columns"][0]["name"] == name
