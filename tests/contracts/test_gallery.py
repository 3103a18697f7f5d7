"""The gallery: every figure, each from at most three lines, those shown being those that ran."""

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


def test_each_picture_is_drawn_by_at_most_three_short_lines(gallery):
    for picture in pictures(gallery):
        lines = picture.code.splitlines()
        assert 1 <= len(lines) <= 3, picture.name
        assert len(ast.parse(picture.code).body) == len(lines), picture.name
        assert max(map(len, lines)) <= 100, picture.name


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
