import re

import coin
import pytest

from tailoredbayes.studies.page import index, markdown_table, write_index, write_page
from tailoredbayes.studies.paper import ITEMS
from tailoredbayes.studies.registry import find_studies, find_study
from tailoredbayes.studies.runner import load_results, run_study
from tailoredbayes.studies.store import StudyError

SETTINGS = coin.CoinSettings(repetitions=4)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    return run_study(coin.STUDY, SETTINGS, folder=folder, n_jobs=1, verbose=0)


@pytest.fixture(scope="module")
def page(results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    return write_page(coin.STUDY, results, folder)


def test_the_page_sets_claims_beside_what_was_found(page):
    text = page.read_text()
    assert text.startswith("# Tossing a coin\n\nA coin is tossed.\n")
    assert re.search(
        r"^\| section 1 \| Half of the tosses are heads\. \| 0\.\d+ off \| yes \|$", text, re.M
    )
    assert "| section 2 | All of them are. | They are not. | **no** |" in text


def test_figures_lie_beside_the_page_with_their_numbers(page, results):
    text = page.read_text()
    assert "![Figure 1: share](figures/coin-share.png)" in text
    assert "([numbers](figures/coin-share.csv))" in text
    assert (page.parent / "figures/coin-share.png").read_bytes().startswith(b"\x89PNG")
    assert (page.parent / "figures/coin-share.csv").read_text().startswith("n,mean,sem\n10,")
    assert "## Spread\n\nIts spread.\n\n| n | sem |" in text
    assert not list(page.parent.rglob(".*part"))


def test_the_page_says_how_it_was_run(page):
    text = page.read_text()
    assert "`tailoredbayes study run coin`: 8 cells in" in text
    assert "(processes, 1 at a time; 0 s of processor time in all)" in text
    assert "| `--n` | 10, 100 |" in text
    assert "numpy 2" in text


def test_the_same_results_write_the_same_bytes(page, results, tmp_path):
    again = write_page(coin.STUDY, results, tmp_path)
    for file in page.parent.rglob("*.*"):
        assert (again.parent / file.relative_to(page.parent)).read_bytes() == file.read_bytes()


def test_half_a_study_has_no_page(tmp_path):
    failing = coin.CoinSettings(repetitions=3, fails=True)
    with pytest.raises(StudyError, match="failed"):
        run_study(coin.STUDY, failing, folder=tmp_path, n_jobs=1, verbose=0)
    with pytest.raises(StudyError, match=r"5 of the 6 cells of coin are missing"):
        write_page(coin.STUDY, load_results(coin.STUDY, tmp_path), tmp_path)


def test_a_page_that_cannot_be_written_says_so(results, tmp_path):
    (tmp_path / "figures").touch()
    with pytest.raises(StudyError, match="cannot write the page of coin"):
        write_page(coin.STUDY, results, tmp_path)


def test_the_index_names_every_item_of_the_paper(tmp_path):
    (tmp_path / "coin.md").touch()
    text = write_index({"coin": coin.STUDY}, tmp_path).read_text()
    assert [line.split(" | ")[0][2:] for line in text.splitlines() if " | " in line][
        2 : 2 + len(ITEMS)
    ] == list(ITEMS)
    assert f"| Figure 1 | {ITEMS['Figure 1']} | [coin](coin.md) |" in text
    assert f"| Figure 2 | {ITEMS['Figure 2']} | not yet |" in text
    assert "`tailoredbayes study run coin`" in index({"coin": coin.STUDY}, [])


def test_bars_in_a_table_do_not_end_a_cell():
    import pandas as pd

    assert markdown_table(pd.DataFrame({"risk": ["P(y | x)"]})).endswith("| P(y \\| x) |")


def test_studies_are_found_by_their_module():
    studies = find_studies()
    assert "sim1" in studies
    for name, study in studies.items():
        assert study.cell.__module__ == f"tailoredbayes.studies.{name}"
        assert set(study.shows) <= set(ITEMS)
        study.settings(**study.for_page)
    with pytest.raises(ValueError, match=r"study must be one of .*sim1.*, got 'sim9'"):
        find_study("sim9")
