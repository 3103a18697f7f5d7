"""Row sources: any layout, any source and any number of threads give the same sums."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  # its BLAS is loaded before the first pass of any test looks
from threadpoolctl import ThreadpoolController

from tailoredbayes import Normal, ParquetRows, TailoredPosterior, find_modes
from tailoredbayes.rows import (
    MOST_SHARDS,
    ArrayRows,
    RowSource,
    available_threads,
    block_rows,
    one_blas_thread,
    sum_over_rows,
    summarise_rows,
    summarise_weights,
)


def data(n, d=3, columns=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    y = (rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    y[:2] = [0, 1]
    return x, y, rng.random((n, columns))


def gathered(rows, size=100, columns=None):
    """All rows of a source, put together again."""
    blocks = [b for shard in range(rows.n_shards) for b in rows.blocks(shard, size, columns)]
    assert all(len(b.x) <= size for b in blocks)
    return (np.concatenate([getattr(b, part) for b in blocks]) for part in ("x", "sign", "weights"))


def sums(block):
    return (
        block.weights.T @ (block.x * block.sign[:, None]),
        np.exp(block.x).sum(axis=0),
        np.array(float(len(block.x))),
    )


def many_shards(n=40_000):
    """Enough rows for every shard and enough work for threads."""
    rows = ArrayRows.from_arrays(*data(n))
    assert rows.n_shards == MOST_SHARDS
    return rows


# --- Summation --------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_the_sum_is_the_same_to_the_bit_for_any_number_of_threads(threads):
    rows = many_shards()
    run = partial(sum_over_rows, rows, sums, size=1000, cost_per_row=1000)
    for alone, together in zip(run(threads=1), run(threads=threads), strict=True):
        assert (alone == together).all()


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("k", [1, 5])
def test_the_posterior_is_the_same_to_the_bit_for_any_number_of_threads(order, k):
    x, y, weights = data(120_000, d=4, columns=k)
    theta = np.random.default_rng(0).normal(0, 0.5, (5, k))
    found = [
        TailoredPosterior(x, y, weights=weights, threads=threads).evaluate(theta, order=order)
        for threads in (1, 2, 3)
    ]
    for part in ("value", "gradient", "curvature")[: order + 1]:
        one, two, three = (getattr(f, part) for f in found)
        assert (one == two).all()
        assert (one == three).all()


def test_threads_are_used_when_there_is_work_for_them():
    seen = set()
    waiting = threading.Barrier(2, timeout=20)

    def function(block):
        seen.add(threading.get_ident())
        if len(seen) < 2:
            waiting.wait()  # one thread alone would wait for ever
        elif waiting.n_waiting:
            waiting.wait()
        return (np.ones(1),)

    sum_over_rows(many_shards(), function, size=3000, threads=2, cost_per_row=1000)
    assert len(seen) == 2


def test_little_work_stays_in_the_callers_thread():
    seen = set()

    def function(block):
        seen.add(threading.get_ident())
        return (np.ones(1),)

    sum_over_rows(many_shards(), function, size=3000, threads=2, cost_per_row=1)
    assert seen == {threading.get_ident()}


def test_other_ways_to_combine():
    x, y, _ = data(10_000)
    rows = ArrayRows.from_arrays(x, y)
    low, total = sum_over_rows(
        rows,
        lambda b: (b.x.min(axis=0), b.x.sum(axis=0)),
        size=100,
        combine=(np.minimum, np.add),
    )
    assert (low == x.min(axis=0)).all()
    np.testing.assert_allclose(total, x.sum(axis=0), rtol=1e-11)


@pytest.mark.parametrize("n", [1, 2, 17, 2047, 2048, 5000, 100_003])
@pytest.mark.parametrize("size", [1, 16, 1000, 10**6])
def test_every_row_comes_once_and_in_order(n, size):
    if n / size > 20_000:
        pytest.skip("blocks of one row are tried on fewer rows")
    x = np.arange(n, dtype=float)[:, None]
    rows = ArrayRows(x, np.ones(n, dtype=np.int8), np.ones((n, 1)))
    found, _, _ = gathered(rows, size)
    assert (found == x).all()


def test_an_exception_in_a_block_reaches_the_caller():
    def function(block):
        raise RuntimeError("a block that fails")

    for threads in (1, 2):
        with pytest.raises(RuntimeError, match="a block that fails"):
            sum_over_rows(many_shards(), function, size=1000, threads=threads, cost_per_row=1000)


def test_blocks_hold_about_the_numbers_asked_for():
    assert block_rows(4, 4000) == 1000
    assert block_rows(10**9) == 16
    assert block_rows(0) > 0
    assert available_threads() >= 1


# --- BLAS keeps to one thread meanwhile -----------------------------------------------------


def blas_threads():
    info = ThreadpoolController().select(user_api="blas").info()
    return [library["num_threads"] for library in info]


@pytest.fixture
def two_blas_threads():
    before = blas_threads()
    if not before or min(before) < 2:
        pytest.skip("this BLAS has one thread only")
    return before


def test_blas_has_one_thread_inside_a_pass_and_its_own_afterwards(two_blas_threads):
    inside = []
    rows = ArrayRows.from_arrays(*data(100))
    sum_over_rows(rows, lambda b: (inside.append(blas_threads()), (np.ones(1),))[1], size=50)
    assert {threads for library in inside for threads in library} == {1}
    assert blas_threads() == two_blas_threads


def test_the_limit_is_lifted_after_an_exception(two_blas_threads):
    def function(block):
        raise RuntimeError("a block that fails")

    for threads in (1, 2):
        with pytest.raises(RuntimeError, match="fails"):
            sum_over_rows(many_shards(), function, size=1000, threads=threads, cost_per_row=1000)
        assert blas_threads() == two_blas_threads


def test_passes_that_overlap_lift_the_limit_with_the_last(two_blas_threads):
    # Three times: a limit lifted by another thread than set it must leave no trace.
    for _ in range(3):
        first_in, second_in, first_out = (threading.Event() for _ in range(3))
        done, inside = threading.Event(), []

        def first(first_in=first_in, second_in=second_in, first_out=first_out, done=done):
            with one_blas_thread:
                first_in.set()
                assert second_in.wait(20)
            first_out.set()
            assert done.wait(20)  # alive while the other one lifts the limit

        def second(first_in=first_in, second_in=second_in, first_out=first_out, inside=inside):
            assert first_in.wait(20)
            with one_blas_thread:
                second_in.set()
                assert first_out.wait(20)
                inside.extend(blas_threads())  # the first has ended: its limit must not be lifted
            return blas_threads()

        with ThreadPoolExecutor(2) as pool:
            one, two = pool.submit(first), pool.submit(second)
            try:
                assert two.result(30) == two_blas_threads
            finally:
                done.set()
            one.result(30)
        assert set(inside) == {1}
        assert blas_threads() == two_blas_threads


def test_a_limit_of_the_users_own_stays(two_blas_threads):
    rows = many_shards()
    limit = ThreadpoolController().limit
    with limit(limits=2, user_api="blas"):
        sum_over_rows(rows, sums, size=1000)
        with limit(limits=1, user_api="blas"):
            sum_over_rows(rows, sums, size=1000)
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {2}
        with ThreadPoolExecutor(1) as pool:
            pool.submit(sum_over_rows, rows, sums, size=1000).result(30)
        assert set(blas_threads()) == {2}
    assert blas_threads() == two_blas_threads


def test_fits_in_several_threads_at_once_agree_and_lift_the_limit(two_blas_threads):
    x, y, weights = data(5000)
    alone = find_modes(TailoredPosterior(x, y, weights=weights)).theta

    def fit(_):
        return find_modes(TailoredPosterior(x, y, weights=weights)).theta

    with ThreadPoolExecutor(4) as pool:
        for theta in pool.map(fit, range(8)):
            assert (theta == alone).all()
    assert blas_threads() == two_blas_threads


# --- Arrays of any kind -----------------------------------------------------------------------


LAYOUTS = {
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "int8": lambda x: np.round(x).astype(np.int8),
    "uint64": lambda x: np.round(np.abs(x)).astype(np.uint64),
    "bool": lambda x: x > 0,
    "fortran": np.asfortranarray,
    "reversed": lambda x: x[::-1, ::-1][::-1, ::-1],
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every other column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "broadcast": lambda x: np.broadcast_to(x[:, :1], x.shape),
    "object": lambda x: x.astype(object),
    "big-endian": lambda x: x.astype(">f8"),
    "read-only": lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_any_layout_and_type_gives_the_sums_of_float64(layout):
    x, y, weights = data(3000)
    given = layout(x)
    plain = np.array(given, dtype=np.float64, order="C")
    prior = Normal(0, 2)
    theta = np.array([[0.1], [0.2], [-0.3], [0.4]])
    found = TailoredPosterior(given, y, weights=weights[:, 0], prior=prior).evaluate(theta)
    expected = TailoredPosterior(plain, y, weights=weights[:, 0], prior=prior).evaluate(theta)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-13)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.curvature, expected.curvature, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("layout", ["float32", "int8", "fortran", "every other row"])
def test_large_arrays_are_not_copied(layout):
    x, y, _ = data(3000)
    given = LAYOUTS[layout](x)
    assert np.shares_memory(ArrayRows.from_arrays(given, y).x, given)


def test_weights_of_any_layout():
    x, y, weights = data(3000, columns=4)
    theta = np.full((4, 4), 0.3)
    expected = TailoredPosterior(x, y, weights=weights).evaluate(theta).gradient
    layouts = [
        np.asfortranarray(weights),
        np.repeat(weights, 2, axis=0)[::2],
        weights.tolist(),
    ]
    for given in layouts:
        found = TailoredPosterior(x, y, weights=given).evaluate(theta).gradient
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    counts = np.round(10 * weights)
    as_integers = TailoredPosterior(x, y, weights=counts.astype(np.int16)).evaluate(theta)
    np.testing.assert_allclose(
        as_integers.value, TailoredPosterior(x, y, weights=counts).evaluate(theta).value
    )


class Lazy:
    """exp(-lambda h) for a grid of lambda, worked out block by block."""

    def __init__(self, h, grid):
        self.h, self.grid = h, np.asarray(grid)

    @property
    def shape(self):
        return len(self.h), len(self.grid)

    def block(self, rows, columns):
        grid = self.grid if columns is None else self.grid[columns]
        return np.exp(-np.multiply.outer(self.h[rows], grid))


def test_lazy_weights_equal_the_array():
    x, y, _ = data(6000)
    h = np.random.default_rng(1).random(6000)
    lazy = Lazy(h, [0, 1, 5, 10, 50])
    array = np.exp(-np.multiply.outer(h, lazy.grid))
    a = TailoredPosterior(x, y, weights=lazy)
    b = TailoredPosterior(x, y, weights=array)
    assert a.n_columns == 5
    np.testing.assert_allclose(a.weight_summary.weight, b.weight_summary.weight, rtol=1e-14)
    theta = np.random.default_rng(0).normal(0, 0.5, (4, 5))
    np.testing.assert_allclose(a.evaluate(theta).value, b.evaluate(theta).value, rtol=1e-14)
    one = a.log_density(theta[:, 3], 3)
    assert one == pytest.approx(b.log_density(theta[:, 3], 3), rel=1e-14)
    np.testing.assert_allclose(find_modes(a).theta, find_modes(b).theta, rtol=1e-12)
    np.testing.assert_allclose(
        a.thinned(7).evaluate(theta).value, b.thinned(7).evaluate(theta).value, rtol=1e-14
    )


def test_lazy_weights_of_another_length_are_refused():
    x, y, _ = data(100)
    with pytest.raises(ValueError, match=r"weights must have shape \(100,\) or \(100, columns\)"):
        TailoredPosterior(x, y, weights=Lazy(np.ones(99), [0, 1]))


# --- What one pass tells ----------------------------------------------------------------------


def test_the_summary_is_numpys():
    x, y, weights = data(5000, columns=3)
    weights[:100] = 0
    x = x * [1, 1e-3, 1e6] + [0, 1, 5]
    rows = ArrayRows.from_arrays(x, y, weights)
    s, w = summarise_rows(rows), summarise_weights(rows)
    assert (s.n_rows, s.events) == (5000, y.sum())
    np.testing.assert_allclose(s.mean, x.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(s.sd, x.std(axis=0), rtol=1e-8)  # one pass: 1e-3 beside 1
    np.testing.assert_array_equal(s.low, x.min(axis=0))
    np.testing.assert_array_equal(s.high, x.max(axis=0))
    np.testing.assert_allclose(w.weight, weights.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(w.events_weight, weights[y == 1].sum(axis=0), rtol=1e-12)
    assert (w.rows_used == 4900).all()
    assert (w.events_used == y[100:].sum()).all()


def test_a_bad_value_is_found_in_whichever_block_it_hides():
    for row in (0, 20_000, 39_999):
        x, y, weights = data(40_000)
        x[row, 2] = np.nan
        with pytest.raises(ValueError, match="X must be finite, got NaN in column 2"):
            summarise_rows(ArrayRows.from_arrays(x, y, weights))
        x, y, weights = data(40_000)
        weights[row, 1] = np.nan
        with pytest.raises(ValueError, match="weights must be finite and not negative, got NaN"):
            summarise_weights(ArrayRows.from_arrays(x, y, weights))


# --- Parquet ----------------------------------------------------------------------------------


@pytest.fixture
def parquet(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    def write(table, *, row_group_size=700):
        path = tmp_path / "rows.parquet"
        pq.write_table(pa.table(table), path, row_group_size=row_group_size)
        return path

    return write


def table(n=3000):
    x, y, weights = data(n)
    columns = {"age": x[:, 0], "size": x[:, 1].astype(np.float32), "nodes": x[:, 2]}
    return columns | {"died": y, "w0": weights[:, 0], "w1": weights[:, 1]}


def as_arrays(columns):
    x = np.column_stack([columns["age"], columns["size"], columns["nodes"]])
    return x, columns["died"], np.column_stack([columns["w0"], columns["w1"]])


def test_a_parquet_file_equals_the_arrays_it_holds(parquet):
    columns = table()
    rows = ParquetRows(parquet(columns), outcome="died", weights=["w0", "w1"])
    assert isinstance(rows, RowSource)
    assert rows.features == ("age", "size", "nodes")
    assert (rows.n_rows, rows.n_features, rows.n_columns, rows.n_shards) == (3000, 3, 2, 5)
    x, y, weights = as_arrays(columns)
    for found, expected in zip(gathered(rows), (x, 2 * y - 1, weights), strict=True):
        np.testing.assert_array_equal(found, expected)

    a, b = TailoredPosterior(rows), TailoredPosterior(x, y, weights=weights)
    assert a.names == ("intercept", "age", "size", "nodes")
    theta = np.random.default_rng(0).normal(0, 0.5, (4, 2))
    for part in ("value", "gradient", "curvature"):
        np.testing.assert_allclose(
            getattr(a.evaluate(theta), part), getattr(b.evaluate(theta), part), rtol=1e-11
        )
    np.testing.assert_allclose(find_modes(a).theta, find_modes(b).theta, rtol=1e-10)


def test_a_parquet_file_is_the_same_to_the_bit_for_any_number_of_threads(parquet):
    path = parquet(table(20_000), row_group_size=3000)
    rows = ParquetRows(path, outcome="died", weights=["w0", "w1"])
    theta = np.full((4, 1), 0.2)
    one, two = (TailoredPosterior(rows, threads=threads).evaluate(theta, 0) for threads in (1, 2))
    assert one.value == two.value
    assert (one.curvature == two.curvature).all()


def test_named_features_one_weight_and_none(parquet):
    columns = table()
    path = parquet(columns)
    rows = ParquetRows(path, outcome="died", features=["nodes", "age"])
    x, _, weights = gathered(rows)
    np.testing.assert_array_equal(x, np.column_stack([columns["nodes"], columns["age"]]))
    assert (weights == 1).all()
    assert weights.shape == (3000, 1)
    rows = ParquetRows(path, outcome="died", features=["age"], weights="w1")
    _, _, weights = gathered(rows)
    np.testing.assert_array_equal(weights[:, 0], columns["w1"])
    _, _, some = gathered(
        ParquetRows(path, outcome="died", weights=["w0", "w1"]), columns=np.array([1])
    )
    np.testing.assert_array_equal(some, weights)


def test_thinning_takes_whole_row_groups(parquet):
    rows = ParquetRows(parquet(table()), outcome="died", weights=["w0", "w1"])
    few = rows.thinned(2)
    assert few.n_shards == 3
    assert few.n_rows == 700 + 700 + 200
    assert rows.thinned(100).n_shards == 1


def test_outcomes_may_be_boolean_and_features_integer(parquet):
    columns = table()
    changed = columns | {
        "died": columns["died"].astype(bool),
        "age": np.round(columns["age"]).astype(int),
    }
    x, sign, _ = gathered(ParquetRows(parquet(changed), outcome="died", weights=["w0", "w1"]))
    np.testing.assert_array_equal(sign, 2 * columns["died"] - 1)
    np.testing.assert_array_equal(x[:, 0], np.round(columns["age"]))


def test_bad_parquet_files_are_refused(parquet, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no Parquet file at .*nowhere"):
        ParquetRows(tmp_path / "nowhere.parquet", outcome="died")
    columns = table()
    path = parquet(columns)
    with pytest.raises(ValueError, match="no column 'dead'; its columns are age, size"):
        ParquetRows(path, outcome="dead")
    with pytest.raises(ValueError, match="no column 'w2'"):
        ParquetRows(path, outcome="died", weights=["w0", "w2"])
    alone = parquet({"died": columns["died"], "w0": columns["w0"]})
    with pytest.raises(ValueError, match="has no covariates besides died, w0"):
        ParquetRows(alone, outcome="died", weights="w0")

    def refused(message, **changed):
        rows = ParquetRows(parquet(columns | changed), outcome="died", weights=["w0", "w1"])
        with pytest.raises(ValueError, match=message):
            TailoredPosterior(rows)

    missing = [None, *columns["age"][1:]]
    refused("column 'age' of .* has missing values", age=missing)
    refused("column 'died' of .* must hold 0 and 1 only, got 2", died=columns["died"] + 1)
    refused("column 'size' of .* must be numeric, got type string", size=["a"] * 3000)
    refused("X must be finite, got NaN in column 0", age=np.full(3000, np.nan))
    refused("weights must be finite and not negative, got -1", w1=np.full(3000, -1.0))
    refused("y must hold both classes, got no events", died=np.zeros(3000, dtype=int))
