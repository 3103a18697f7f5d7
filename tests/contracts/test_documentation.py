"""The documentation keeps up: names, pages, code and findings that it leaves out fail here."""

import json
import re
from collections import deque
from operator import attrgetter
from pathlib import Path

import pytest

import tailoredbayes as tb
from tailoredbayes.selection import DEFAULT_RULE

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
# Pages of their own makers: the gallery's lines are tested with it, the studies' pages are results.
GENERATED = {"gallery/README", *(f"studies/{path.stem}" for path in DOCS.glob("studies/*.md"))}
PAGES = {
    str(path.relative_to(DOCS).with_suffix("")): path.read_text(encoding="utf-8")
    for path in DOCS.rglob("*.md")
    if "_build" not in path.parts
}
WRITTEN = sorted(set(PAGES) - GENERATED)
REFERENCE = "\n".join(text for page, text in PAGES.items() if page.startswith("reference/"))


# --- Reference --------------------------------------------------------------------------------


PUBLIC = [
    *(f"tailoredbayes.{name}" for name in tb.__all__ if name not in ("datasets", "plots")),
    *(f"tailoredbayes.plots.{name}" for name in tb.plots.__all__),
]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_in_the_reference(name):
    shown = rf"^\.\. auto(function|class|data|exception):: {re.escape(name)}$"
    assert re.search(shown, REFERENCE, re.MULTILINE), f"add {name} to a page of docs/reference"


@pytest.mark.parametrize("name", [*tb.__all__, *(f"plots.{name}" for name in tb.plots.__all__)])
def test_every_public_name_has_an_example_that_runs(name):
    found = attrgetter(name)(tb)
    if name in ("datasets", "plots", "plots.STYLES"):
        return  # modules, whose names have their own, and a plain dictionary
    # A figure's example is the lines beside it in the gallery, which draw it.
    drawn = "tb." + name + ("(" if found.__name__.islower() else ".")
    shown = name.startswith("plots.") and drawn in PAGES["gallery/README"]
    assert shown or ">>>" in found.__doc__, f"add an example to the docstring of {name}"


@pytest.mark.parametrize("module", ["datasets", "studies.generators", "studies.contract"])
def test_modules_whose_names_are_all_public_are_taken_in_whole(module):
    shown = rf"^\.\. automodule:: tailoredbayes\.{module}\n   :members:$"
    assert re.search(shown, REFERENCE, re.MULTILINE)


# --- Finding one's way ------------------------------------------------------------------------


def links(page):
    """Pages that a page leads to: by links, and by the entries of its lists of pages."""
    text, folder = PAGES[page], (DOCS / page).parent
    found = set(re.findall(r"\]\(([^)#\s]+)\.md(?:#[^)]*)?\)", text))
    for entries in re.findall(r"^```{toctree}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        found |= {line for line in entries.splitlines() if line and not line.startswith(":")}
    for link in found:
        target = (folder / link).resolve()
        if target.is_relative_to(DOCS):
            yield str(target.relative_to(DOCS))


def test_every_page_is_two_clicks_from_the_front_page_at_most():
    clicks, waiting = {"index": 0}, deque(["index"])
    while waiting:
        page = waiting.popleft()
        for target in links(page):
            if target in PAGES and target not in clicks:
                clicks[target] = clicks[page] + 1
                waiting.append(target)
    assert {page for page in WRITTEN if clicks.get(page, 9) > 2} == set()
    # Questions have their answers named, not only the folder in which they lie.
    named = set(re.findall(r"\]\(([^)#\s]+)\.md", PAGES["index"]))
    answers = ("tutorials/", "how-to/", "explanation/")
    assert {page for page in WRITTEN if page.startswith(answers)} - named == {
        f"{folder}index" for folder in answers
    }


# --- Code -------------------------------------------------------------------------------------

# Shown on a page and run elsewhere: by .ci/run, and by the page on saving and loading.
RUN_ELSEWHERE = {
    "pip install .",
    'xarray.open_datatree("model.nc", engine="h5netcdf")',
}


@pytest.mark.parametrize("page", WRITTEN)
def test_every_block_of_code_on_a_page_is_run(page):
    fenced = re.findall(r"^(?:```|~~~)([^\n]*)\n(.*?)^(?:```|~~~)$", PAGES[page], re.M | re.S)
    shown = [code for kind, code in fenced if not kind.startswith("{")]
    outside = re.sub(r"^(```|~~~).*?^\1$", "", PAGES[page], flags=re.M | re.S)
    shown += re.findall(r"(?:^\n)((?:^    .*\n)+)", outside, re.MULTILINE)
    assert {code.strip() for code in shown} <= RUN_ELSEWHERE
    if "{code-cell}" in PAGES[page]:
        assert PAGES[page].startswith("---\nfile_format: mystnb\n"), "cells would not be run"


# --- Coming from R ----------------------------------------------------------------------------

# The arguments of the two functions of the R package, version 0.1.0.
OF_R = (
    *("formula", "data", "lambda", "pi_u", "t", "distance_measure", "epsilon", "h_function"),
    *("initial", "warm_up", "burn_in", "n_mcmc", "tune", "iter_adapt", "user_prior_density"),
    *("prior_mean", "prior_sd", "proposal_function", "..."),
)


def test_every_argument_of_the_r_package_has_its_line():
    rows = re.findall(r"^\| ([^|]+) \|", PAGES["tutorials/from-r"], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert set(OF_R) <= named


# --- Benchmarks -------------------------------------------------------------------------------


def test_every_benchmark_has_its_line():
    folder = ROOT / "benchmarks"
    if not folder.is_dir():
        pytest.skip("the benchmarks are not in the source package")
    table = re.findall(r"^\| `(\w+)` \|", (folder / "README.md").read_text("utf-8"), re.MULTILINE)
    assert set(table) == {path.stem for path in folder.glob("cases/[a-z]*.py")}


# --- What pages say of results ----------------------------------------------------------------


def rows_of(page, heading):
    """Rows of the first table under a study page's heading, by column."""
    section = re.split(rf"\n## {heading}\n", PAGES[page], maxsplit=1)[1].split("\n## ", 1)[0]
    lines = re.findall(r"^\|(.*)\|$", section, re.MULTILINE)
    head, _, *rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    return [dict(zip(head, row, strict=True)) for row in rows]


@pytest.mark.skipif("studies/selection" not in PAGES, reason="the study has not been run")
def test_the_default_rule_is_what_the_pages_say_of_it():
    # docs/explanation/discount.md and docs/decisions/0002-estimators.md: change them with this.
    crossfit = [
        row for row in rows_of("studies/selection", "Combinations") if row["design"] == "crossfit"
    ]
    plain = {
        row["rule"]: row for row in crossfit if (row["rounds"], row["cv_repeats"]) == ("0", "1")
    }
    harmless = [row for row in plain.values() if row["clear harm"] == "0%"]
    default = max(harmless, key=lambda row: float(row["worst"]))
    assert default["rule"] == DEFAULT_RULE == "one_se"
    for rule in ("max", "smooth"):
        assert float(plain[rule]["gain (simulated)"]) > float(default["gain (simulated)"])
        assert float(plain[rule]["gain (real)"]) <= 0
        assert plain[rule]["clear harm (real)"] != "0%"


def test_what_simulation_3_is_said_to_show():
    # docs/explanation/when-it-helps.md, differences-from-the-paper.md and README.md
    rows = rows_of("studies/sim3", "Gap closed crossfit .*")
    gains = {
        (row["contamination"], float(row["t"])): float(row["n = 1000"].split()[0]) for row in rows
    }
    assert all(gain <= 0 for (share, _), gain in gains.items() if share == "0")
    lost = {key for key, gain in gains.items() if gain < -10}
    assert lost
    # Each lies above a threshold where, in the same data, tailoring gains more than 10 per 1000.
    for share, t in lost:
        assert any(gain > 10 for (s, u), gain in gains.items() if s == share and u < t)


def test_what_is_said_of_growth():
    # docs/explanation/engine.md
    folder = ROOT / "benchmarks" / "results"
    if not folder.is_dir():
        pytest.skip("the benchmarks are not in the source package")
    claims = json.loads((folder / "growth.json").read_text(encoding="utf-8"))["claims"]
    times = {claim["what"]: claim["value"] for claim in claims}
    assert times["time for 500 columns against 1"] < 500
    assert times["time for 100 covariates against 3"] < 100 / 3
