"""The installed command, as a user has it: few runs, as each costs a start."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from commands import QUICK, patients

COMMAND = Path(sys.executable).with_name("tailoredbayes")
# Seconds of the processor, as others may keep it busy; the fastest of some starts.
STARTS, HELP_SECONDS = 3, 0.5


def tailoredbayes(*arguments, folder, **options):
    command = [str(COMMAND), *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, **options
    )


def test_from_a_csv_to_a_decision(tmp_path):
    patients(400).to_csv(tmp_path / "train.csv", index=False)
    patients(100, seed=1).to_csv(tmp_path / "new.csv", index=False)
    options = ("--outcome", "died", "--threshold", 0.3, "--id", "patient", *QUICK)
    fitted = tailoredbayes("fit", "train.csv", *options, "--out", "model.nc", folder=tmp_path)
    assert (fitted.returncode, fitted.stderr) == (0, "")
    assert fitted.stdout.splitlines()[-1] == "saved model.nc"
    done = tailoredbayes("predict", "model.nc", "new.csv", "--out", "r.csv", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    risks = pd.read_csv(tmp_path / "r.csv")
    assert (len(risks), risks["decision"].nunique()) == (100, 2)
    judged = tailoredbayes("evaluate", "model.nc", "new.csv", "--json", folder=tmp_path)
    assert json.loads(judged.stdout)["rows"] == 100
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "model.nc",
        "new.csv",
        "r.csv",
        "train.csv",
    ]


def test_errors_and_codes(tmp_path):
    done = tailoredbayes("predict", "none.nc", "none.csv", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: there is no file none.nc; check the name and the folder you are in\n"
    )
    usage = tailoredbayes("fit", folder=tmp_path)
    assert usage.returncode == 2
    assert len(usage.stderr.splitlines()) == 2
    assert usage.stderr.splitlines()[1] == "try: tailoredbayes fit --help"
    plain = tailoredbayes(folder=tmp_path)
    assert plain.returncode == 2
    assert "Commands:" in plain.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM to catch")
def test_a_command_that_is_ended_leaves_nothing(trained, tmp_path):
    table, folder = tmp_path / "new.csv", tmp_path / "out"
    folder.mkdir()
    head, *rows = (trained / "test.csv").read_text("utf-8").splitlines(keepends=True)
    table.write_text(head + "".join(rows) * 2000, "utf-8")  # seconds of work
    command = [str(COMMAND), "predict", str(trained / "model.nc"), str(table), "--out"]
    run = subprocess.Popen([*command, str(folder / "r.csv")], stderr=subprocess.PIPE, text=True)
    while run.poll() is None and not list(folder.iterdir()):
        time.sleep(0.01)
    run.terminate()
    _, said = run.communicate(timeout=60)
    assert (run.returncode, said) == (1, "error: stopped; nothing was written\n")
    assert not list(folder.iterdir())


def test_a_reader_that_has_read_enough(tmp_path):
    script = f"{COMMAND} study list | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1)


@pytest.mark.parametrize(
    "command",
    [
        (),
        *(("fit",), ("predict",), ("evaluate",), ("threshold",), ("report",), ("demo",)),
        *(("study",), ("study", "list"), ("study", "show"), ("study", "run")),
        ("study", "run", "sim1"),
    ],
)
def test_every_command_has_help_with_an_example(command, tmp_path):
    done = tailoredbayes(*command, "--help", folder=tmp_path, env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == 0
    start = (
        "Start with: tailoredbayes "
        if not command
        else f"Example: tailoredbayes {' '.join(command)}"
    )
    assert start in done.stdout
    assert "\x1b" not in done.stdout


def test_as_a_module_and_its_version(tmp_path):
    import tailoredbayes as tb

    done = subprocess.run(
        [sys.executable, "-m", "tailoredbayes", "--version"], capture_output=True, text=True
    )
    assert done.stdout == f"tailoredbayes {tb.__version__}\n"


def test_help_imports_nothing_heavy():
    script = (
        "import sys\n"
        "from tailoredbayes.cli import app\n"
        "try: app(['--help'], prog_name='tailoredbayes')\n"
        "except SystemExit: pass\n"
        "print({'numpy', 'scipy', 'sklearn', 'pandas', 'pyarrow'} & sys.modules.keys())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "set()", done.stderr


def test_help_answers_at_once(tmp_path):
    resource = pytest.importorskip("resource")
    seconds = []
    for _ in range(STARTS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        tailoredbayes("--help", folder=tmp_path)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < HELP_SECONDS
