"""The README's Python runs as it stands."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent.parent / "README.md"


@pytest.mark.filterwarnings("ignore::tailoredbayes.TailoringWarning")
def test_the_python_in_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, str(README), "exec"), {})
    assert "net benefit 0." in capsys.readouterr().out
