"""The benchmarks run from end to end; what they measure at small sizes means nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.slow
@pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="the benchmarks are not in the source package")
def test_a_quick_run_writes_results_table_and_figure(tmp_path):
    script = BENCHMARKS / "run.py"
    done = subprocess.run(
        [sys.executable, str(script), "--quick", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr

    cases = sorted(path.stem for path in (BENCHMARKS / "cases").glob("[a-z]*.py"))
    results = [json.loads(path.read_text("utf-8")) for path in sorted(tmp_path.glob("*.json"))]
    assert [result["name"] for result in results] == cases
    table = (tmp_path / "table.md").read_text("utf-8")
    for result in results:
        assert result["claims"]
        assert all(claim["what"] in table for claim in result["claims"])
    for figure in ("growth.png", "growth.svg"):
        assert (tmp_path / figure).stat().st_size > 1000
