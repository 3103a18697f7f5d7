"""Means over repetitions, with the paper's standard error, panel by panel."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import tailoredbayes as tb


def cells(seed=0):
    rng = np.random.default_rng(seed)
    rows = [
        {"q": q, "n": n, "threshold": t, "repetition": i}
        for q in (1.0, 0.5)
        for n in (1000, 500)
        for i in range(4)
        for t in (0.7, 0.1)
    ]
    frame = pd.DataFrame(rows)
    return frame.assign(tailored=rng.normal(size=len(frame)), standard=rng.normal(size=len(frame)))


def test_a_difference_has_the_papers_standard_error():
    frame = cells()
    found = tb.difference_grid(frame, panel="q", line="n").to_frame()
    for row in found.itertuples():
        where = (frame["q"] == row.panel) & (frame["n"] == row.line)
        part = frame[where & (frame["threshold"] == row.threshold)]
        d = (part["tailored"] - part["standard"]).to_numpy()
        assert_allclose(row.mean, d.sum() / 4, rtol=1e-12)
        error = np.sqrt(((d - d.mean()) ** 2).sum() / (4 * 3))
        assert_allclose(row.standard_error, error, rtol=1e-12)
        assert row.repetitions == 4


def test_it_agrees_with_the_difference_over_splits():
    frame = cells().query("q == 1 and n == 500")
    found = tb.difference_grid(frame, panel="q").to_frame()
    d = (frame["tailored"] - frame["standard"]).to_numpy().reshape(4, 2)
    other = tb.resplit_difference(d, [0.7, 0.1])
    assert_allclose(found["mean"], other.difference[0, ::-1])
    assert_allclose(found["standard_error"], other.standard_error[0, ::-1])


def test_panels_and_lines_stay_in_the_studys_order_and_thresholds_ascend():
    found = tb.difference_grid(cells(), panel="q", line="n").to_frame()
    assert found["panel"].tolist() == [1.0] * 4 + [0.5] * 4
    assert found["line"].tolist() == [1000, 1000, 500, 500] * 2
    assert found["threshold"].tolist() == [0.1, 0.7] * 4


def test_models_are_lines_in_the_order_given():
    names = {"SB": "standard", "TB": "tailored"}
    frame = cells()
    found = tb.net_benefit_grid(frame, names, panel="n").to_frame()
    assert found["line"].unique().tolist() == ["SB", "TB"]
    one = found[(found["panel"] == 500) & (found["line"] == "TB") & (found["threshold"] == 0.1)]
    expected = frame[(frame["n"] == 500) & (frame["threshold"] == 0.1)]["tailored"]
    assert_allclose(one["mean"], expected.mean())
    assert one["repetitions"].item() == 8


def test_one_repetition_has_no_standard_error():
    found = tb.difference_grid(cells().drop_duplicates(["q", "threshold"]), panel="q").to_frame()
    assert found["standard_error"].isna().all()
    assert (found["repetitions"] == 1).all()


def test_what_is_missing_is_named():
    with pytest.raises(ValueError, match="with the column 'prevalence', got q, n, threshold"):
        tb.difference_grid(cells(), panel="prevalence")
    with pytest.raises(ValueError, match="got list"):
        tb.difference_grid([], panel="q")
    with pytest.raises(ValueError, match="at least one row"):
        tb.difference_grid(cells().iloc[:0], panel="q")
    with pytest.raises(ValueError, match="models must map"):
        tb.net_benefit_grid(cells(), {}, panel="q")
