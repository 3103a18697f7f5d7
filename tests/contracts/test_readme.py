"""The README holds what it promises: its code runs, its figures are measured, its links lead on."""

import importlib.util
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tailoredbayes.cli import app

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_ten_lines_of_python_run_without_a_warning(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    assert len([line for line in code.splitlines() if line]) <= 10
    exec(compile(code, "README.md", "exec"), {})
    assert re.fullmatch(r"net benefit 0\.\d{3}\n", capsys.readouterr().out)
    assert (tmp_path / "model.nc").exists()


def patients(rows, seed):
    rng = np.random.default_rng(seed)
    age, nodes = rng.normal(60, 10, rows).round(), rng.poisson(3, rows)
    died = rng.uniform(size=rows) < 1 / (1 + np.exp(2 - 0.05 * (age - 60) - 0.25 * nodes))
    names = [f"P{i:04d}" for i in range(rows)]
    columns = {"patient": names, "age": age, "nodes": nodes, "died": died.astype(int)}
    return pd.DataFrame(columns)


@pytest.mark.filterwarnings("ignore::tailoredbayes.TailoringWarning")
def test_the_commands_lead_from_a_csv_to_a_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(["patients", "new", "test"]):
        patients(400, seed).to_csv(f"{name}.csv", index=False)
    (lines,) = blocks("sh")
    commands = [shlex.split(line, comments=True) for line in lines.splitlines()]
    assert {command[0] for command in commands} == {"tailoredbayes"}
    for _, *words in commands:
        if words != ["demo"]:  # which `make demo` runs
            done = CliRunner().invoke(app, words)
            assert done.exit_code == 0, (words, done.stderr)
    written = {"model.nc", "risks.csv", "report.html"}
    assert written <= {path.name for path in tmp_path.iterdir()}
    assert len(pd.read_csv("risks.csv")) == 400


def test_the_table_of_benchmarks_is_the_one_last_measured(monkeypatch):
    folder = ROOT / "benchmarks"
    if not folder.is_dir():
        pytest.skip("the benchmarks are not in the source package")
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    spec = importlib.util.spec_from_file_location("bench_readme", folder / "readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    table = module.bars(module.read(folder / "results"))
    assert module.within_marks(README, table) == README, "run: python benchmarks/readme.py"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "benchmarks/README.md"])
def test_links_lead_to_files(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert links
    for link in links:
        assert ((ROOT / page).parent / link.partition("#")[0]).exists(), link


def test_every_target_of_make_that_is_named_is_there():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for page in ["README.md", "CONTRIBUTING.md", "benchmarks/README.md"]:
        text = (ROOT / page).read_text(encoding="utf-8")
        code = re.findall(r"`([^`\n]+)`|^    (.+)$", text, re.MULTILINE)
        named = [words for pair in code for words in pair if words.startswith("make ")]
        for words in named:
            # "make lint types  # a remark"; an assignment is none
            asked = words.partition("#")[0].split()[1:]
            assert {word for word in asked if "=" not in word} <= targets, words


def test_every_file_that_contributing_names_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code = "\n".join("".join(pair) for pair in re.findall(r"`([^`\n]+)`|^    (.+)$", text, re.M))
    package = ROOT / "src" / "tailoredbayes"
    named = set(re.findall(r"(?<![\w/.<])[\w./]+(?:/|\.py|\.md|\.pyi)(?![\w/])", code))
    assert len(named) > 20
    for name in named:
        assert any((place / name).exists() for place in (ROOT, package, package / "studies")), name


def test_the_picture_is_drawn_by_its_script(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("picture", ROOT / "examples" / "boundaries.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "TARGET", tmp_path / "images" / "boundaries.png")
    module.main()
    drawn = (tmp_path / "images" / "boundaries.png").stat().st_size
    committed = (ROOT / "docs" / "images" / "boundaries.png").stat().st_size
    assert abs(drawn - committed) < 0.1 * committed
