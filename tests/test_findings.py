import re
import warnings
from pathlib import Path

import pytest

from tailoredbayes.findings import CODES, Finding, TailoringWarning, tell

PAGE = Path(__file__).parent.parent / "docs" / "findings.md"


def test_every_code_is_explained_on_the_page_and_nothing_else_is():
    assert set(re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), re.M)) == set(CODES)


def test_every_code_says_what_it_means_and_what_to_do():
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:]:
        code, text = section.split("\n", 1)
        meaning, _, advice = text.partition("**What to do.** ")
        assert len(meaning.split()) > 10, code
        assert len(advice.split()) > 3, code


def test_a_finding_links_to_its_section():
    assert Finding("k-hat", "Too large.", 0.9).link == "docs/findings.md#k-hat"


def test_an_unknown_code_is_refused():
    with pytest.raises(ValueError, match="unknown finding code 'k_hat'; known: "):
        Finding("k_hat", "Too large.", 0.9)


def test_findings_are_told_one_warning_each():
    found = [Finding("k-hat", "Too large.", 0.9), Finding("r-hat", "Apart.", 1.1)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tell(found)
    assert [str(w.message) for w in told] == [str(finding) for finding in found]
    assert {w.category for w in told} == {TailoringWarning}
