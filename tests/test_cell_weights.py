"""Weight columns for discounts x thresholds x folds: a plain loop says what they are."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailoredbayes.posterior import TailoredPosterior
from tailoredbayes.weighting import NEVER, CellWeights

N, REPEATS, FOLDS = 37, 2, 3


def cell_weights(seed=0, *, sample_weight=True, never=True):
    """Columns in a random order: 2 distances x 4 discounts x 2 repeats x (3 folds or none)."""
    rng = np.random.default_rng(seed)
    folds = rng.integers(FOLDS, size=(N, REPEATS)).astype(np.int16)
    if never:
        folds[rng.random(N) < 0.2] = NEVER
    keys = [
        (which, discount, repeat, fold)
        for which in range(2)
        for discount in (0.0, 2.5, 40.0, 300.0)
        for repeat in range(REPEATS)
        for fold in range(-1, FOLDS)
    ]
    which, discounts, repeats, held_out = zip(*rng.permutation(keys), strict=True)
    return CellWeights(
        distances=rng.random((N, 2)) ** 2,
        which=np.array(which, dtype=np.intp),
        discounts=np.array(discounts),
        repeats=np.array(repeats, dtype=np.intp),
        held_out=np.array(held_out, dtype=np.intp),
        folds=folds,
        sample_weight=rng.integers(4, size=N).astype(float) if sample_weight else None,
    )


def by_loop(cells):
    """What the docstring says, one row and one column at a time."""
    n, m = cells.shape
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            fold = cells.folds[i, cells.repeats[j]]
            if fold == cells.held_out[j] or fold == NEVER:
                continue
            weight = math.exp(-cells.discounts[j] * cells.distances[i, cells.which[j]])
            out[i, j] = weight if cells.sample_weight is None else cells.sample_weight[i] * weight
    return out


@pytest.mark.parametrize("sample_weight", [False, True])
@pytest.mark.parametrize("never", [False, True])
def test_all_columns_equal_a_plain_loop(sample_weight, never):
    cells = cell_weights(sample_weight=sample_weight, never=never)
    assert cells.shape == (N, 64)
    block = cells.block(slice(0, N), None)
    assert block == pytest.approx(by_loop(cells), rel=1e-14, abs=0)


@given(
    columns=st.lists(st.integers(0, 63), min_size=1, max_size=80),
    start=st.integers(0, N),
    stop=st.integers(0, N),
    step=st.sampled_from([None, 1, 3]),
    seed=st.integers(0, 3),
)
def test_any_columns_of_any_rows_are_those_of_the_loop(columns, start, stop, step, seed):
    # In any order, some twice, none of them where the slice is empty.
    cells, rows = cell_weights(seed), slice(start, stop, step)
    block = cells.block(rows, np.array(columns))
    assert block == pytest.approx(by_loop(cells)[rows][:, columns], rel=1e-14, abs=0)


def test_a_row_that_never_takes_part_weighs_nothing_even_where_no_fold_is_held_out():
    cells = cell_weights(sample_weight=False)
    never = cells.folds[:, 0] == NEVER
    block = cells.block(slice(None), None)
    assert never.any()
    assert (block[never] == 0).all()
    alone = (cells.held_out == -1) & (cells.discounts == 0)
    assert (block[~never][:, alone] == 1).all()


def test_design_rows_of_a_split_are_not_held_out_by_fold_0():
    # Stage 1 numbers the rows it learns from -1 and those it predicts 0.
    cells = CellWeights(
        distances=np.zeros((3, 1)),
        which=np.zeros(1, dtype=np.intp),
        discounts=np.zeros(1),
        repeats=np.zeros(1, dtype=np.intp),
        held_out=np.zeros(1, dtype=np.intp),
        folds=np.array([[-1], [0], [-1]], dtype=np.int16),
    )
    assert cells.block(slice(None), None)[:, 0].tolist() == [1, 0, 1]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_posterior_sees_the_same_sums_as_under_the_matrix_itself(threads):
    cells = cell_weights(never=True)
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(N, 2)), rng.random(N) < 0.4
    theta = 0.3 * rng.normal(size=(3, 64))
    lazily = TailoredPosterior(x, y, threads=threads).reweighted(cells).evaluate(theta)
    matrix = TailoredPosterior(x, y, weights=by_loop(cells)).evaluate(theta)
    assert lazily.value == pytest.approx(matrix.value, rel=1e-12)
    assert lazily.gradient == pytest.approx(matrix.gradient, rel=1e-10, abs=1e-10)
    assert lazily.curvature == pytest.approx(matrix.curvature, rel=1e-10, abs=1e-10)
