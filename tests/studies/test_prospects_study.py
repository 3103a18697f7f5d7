"""The study of the verdicts: the same rows whatever the workers, and a page that can be read."""

import pandas as pd
import pytest

from tailoredbayes.studies.prospects import ProspectsStudy, page, run, summarise

STUDY = ProspectsStudy(sizes=(300,), thresholds=(0.3,), real_thresholds=(0.3,), repetitions=1)


@pytest.mark.slow
def test_rows_come_out_the_same_and_make_a_page():
    frame = run(STUDY, n_jobs=1)
    pd.testing.assert_frame_equal(frame, run(STUDY, n_jobs=1))
    assert len(frame) == 8 + 3
    assert set(frame["verdict"]) <= {"likely", "possible", "unlikely"}
    table = summarise(frame)
    assert table["fits"].sum() == len(frame)
    assert set(table["data"]) == {
        "bundled data",
        *(f"simulation {number}" for number in (1, 2, 3)),
    }
    text = page(STUDY, table, 1.0)
    assert all(f"| {name} |" in text for name in table["data"])
    assert "nan" not in text
