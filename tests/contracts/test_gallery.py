"""The gallery: every figure from bundled data in at most three lines, those shown being run."""

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

from tailoredbayes import plots

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "docs" / "gallery"
# What the paper and its supplement number.
PAPER = {str(n) for n in range(1, 12)} | {f"s{n}" for n in range(1, 13)}


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "examples" / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["gallery"] = module  # where its dataclasses look themselves up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["gallery"]


def pictures(gallery):
    return [picture for section in gallery.SECTIONS for picture in section.pictures]


def test_every_figure_of_the_paper_and_every_plot_is_there(gallery):
    names = [re.match(r"figure-(s?\d+)", picture.name) for picture in pictures(gallery)]
    assert {name[1] for name in names if name} >= PAPER
    code = "\n".join(picture.code for picture in pictures(gallery))
    drawn = set(re.findall(r"tb\.plots\.(\w+)", code))
    assert set(plots.__all__) - {"STYLES", "Style", "save", "svg"} == drawn


def test_each_picture_takes_at_most_three_short_lines_from_bundled_data_on(gallery):
    for picture in pictures(gallery):
        lines = picture.code.splitlines()
        assert 1 <= len(lines) <= 3, picture.name
        assert len(ast.parse(picture.code).body) == len(lines), picture.name
        assert max(map(len, lines)) <= 100, picture.name
        assert "tb.datasets.load_" in picture.code, picture.name
        assert ";" not in picture.code, picture.name


def test_what_is_random_has_a_seed(gallery):
    for picture in pictures(gallery):
        if "tb.Tailored" in picture.code:
            assert "random_state=0" in picture.code.replace('"random_state": ', "random_state="), (
                picture.name
            )


def test_nothing_but_imports_goes_before_the_lines(gallery):
    assert all(
        isinstance(one, ast.Import | ast.ImportFrom) for one in ast.parse(gallery.IMPORTS).body
    )
    used = {name for picture in pictures(gallery) for name in re.findall(r"\w+", picture.code)}
    for one in ast.parse(gallery.IMPORTS).body:
        assert {name.asname or name.name for name in one.names} <= used


def test_one_picture_can_be_drawn_alone(gallery, tmp_path):
    files = gallery.write(tmp_path, ["figure-3b"])
    assert [path.name for path in files] == ["figure-3b.png", "README.md"]


def test_the_committed_page_shows_the_lines_that_ran(gallery):
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == gallery.page()


def test_the_committed_pictures_are_those_of_the_page_and_small(gallery):
    files = {path.stem: path.stat().st_size for path in FOLDER.glob("*.png")}
    assert set(files) == {picture.name for picture in pictures(gallery)}
    assert max(files.values()) < 80_000


@pytest.mark.slow
def test_the_gallery_is_drawn_anew(gallery, tmp_path):
    files = gallery.write(tmp_path)
    assert {path.name for path in files} == {path.name for path in FOLDER.iterdir()}
    assert all(path.stat().st_size > 2000 for path in files)
