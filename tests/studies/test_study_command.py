import coin
import pytest
from typer.testing import CliRunner

from tailoredbayes.studies import registry
from tailoredbayes.studies.command import app

FEW = ["--n", "10,20", "--repetitions", "3"]


@pytest.fixture(autouse=True)
def only_coin(monkeypatch):
    monkeypatch.setattr(registry, "find_studies", lambda: {"coin": coin.STUDY})


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_run_writes_results_page_and_index(tmp_path):
    done = call("run", "coin", *FEW, "--out", tmp_path, "--n-jobs", 1)
    assert done.exit_code == 0, done.output
    assert "6 cells" in done.output
    assert "Half of the tosses" in done.output
    assert {path.name for path in tmp_path.iterdir()} == {
        "coin.sqlite",
        "coin.md",
        "README.md",
        "figures",
    }
    assert "| `--n` | 10, 20 |" in (tmp_path / "coin.md").read_text()


def test_run_again_runs_nothing_and_other_settings_are_refused(tmp_path):
    first = call("run", "coin", *FEW, "--out", tmp_path, "--n-jobs", 1)
    again = call("run", "coin", *FEW, "--out", tmp_path, "--n-jobs", 1)
    assert first.exit_code == again.exit_code == 0
    page = (tmp_path / "coin.md").read_text()
    other = call("run", "coin", "--repetitions", 3, "--out", tmp_path)
    assert other.exit_code == 1
    assert "--n 10,20 (now 10,100)" in other.stderr
    assert (tmp_path / "coin.md").read_text() == page
    forced = call("run", "coin", "--repetitions", 3, "--out", tmp_path, "--n-jobs", 1, "--force")
    assert forced.exit_code == 0
    assert "| `--n` | 10, 100 |" in (tmp_path / "coin.md").read_text()


def test_every_setting_is_a_flag_with_its_default(tmp_path):
    text = call("run", "coin", "--help").output
    for flag in ("--n ", "--repetitions", "--label", "--pause", "--seed", "--scheduler", "--force"):
        assert flag in text
    assert "[default: 10,100]" in text


def test_a_flag_that_cannot_be_read_says_what_was_expected(tmp_path):
    wrong = call("run", "coin", "--n", "10;20", "--out", tmp_path)
    assert wrong.exit_code == 2
    assert "--n must be ints with commas between, got '10;20'; for example 10,100" in wrong.stderr


def test_a_failing_cell_ends_with_one(tmp_path):
    failed = call("run", "coin", "--fails", "--out", tmp_path, "--n-jobs", 1, "--quiet")
    assert failed.exit_code == 1
    assert "repetition = 1 failed: ZeroDivisionError" in failed.stderr


def test_show_tells_claims_and_list_tells_studies(tmp_path):
    missing = call("show", "coin", "--out", tmp_path)
    assert missing.exit_code == 1
    assert "run `tailoredbayes study run coin` first" in missing.stderr
    call("run", "coin", *FEW, "--out", tmp_path, "--n-jobs", 1, "--quiet")
    shown = call("show", "coin", "--out", tmp_path)
    assert shown.exit_code == 0
    assert "All of them are." in shown.output
    assert "Tossing a coin" in call("list").output
    assert call("show", "sim9").exit_code == 2


def test_all_runs_every_study_with_the_settings_of_its_page(tmp_path, monkeypatch):
    from dataclasses import replace

    short = replace(coin.STUDY, for_page={"repetitions": 2})
    monkeypatch.setattr(registry, "find_studies", lambda: {"coin": short})
    done = call("run", "all", "--out", tmp_path, "--n-jobs", 1)
    assert done.exit_code == 0, done.output
    assert "| `--repetitions` | 2 |" in (tmp_path / "coin.md").read_text()
    assert call("run", "sim9").exit_code == 2


def test_a_run_that_is_interrupted_says_what_is_kept(tmp_path, monkeypatch):
    from tailoredbayes.studies import runner

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run_study", interrupted)
    stopped = call("run", "coin", "--out", tmp_path)
    assert stopped.exit_code == 130
    assert "the cells that ended are kept" in stopped.stderr
