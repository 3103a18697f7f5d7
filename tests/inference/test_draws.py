"""The record of draws: its numbers are ArviZ's, its table and tree say what it holds."""

import arviz_stats.base as arviz
import numpy as np
import pytest

from tailoredbayes import Draws
from tailoredbayes.inference.draws import chain_count


@pytest.fixture
def draws():
    # Autocorrelated chains, one of them apart: R-hat and ESS have something to say.
    rng = np.random.default_rng(0)
    values = rng.standard_normal((4, 500, 3)).cumsum(axis=1) * 0.1 + rng.standard_normal(
        (4, 500, 3)
    )
    values[0, :, 1] += 1
    return Draws(
        values=values,
        names=("intercept", "age", "size"),
        sampler="nuts",
        requested="auto",
        facts={"k_hat": 0.3},
        statistics={"lp": rng.standard_normal((4, 500))},
    )


def by_arviz(function, draws, **options):
    return [
        float(function(np.ascontiguousarray(draws.values[:, :, j]), **options)) for j in range(3)
    ]


def test_statistics_are_arvizs(draws):
    one = arviz.array_stats
    axes = {"chain_axis": 0, "draw_axis": 1}
    expected = by_arviz(one.rhat, draws, **axes)
    assert draws.r_hat() == pytest.approx(expected)
    assert expected[1] > 1.02
    assert draws.ess("bulk") == pytest.approx(by_arviz(one.ess, draws, method="bulk", **axes))
    tails = [by_arviz(one.ess, draws, method="quantile", prob=q, **axes) for q in (0.05, 0.95)]
    assert draws.ess("tail") == pytest.approx(np.min(tails, axis=0))
    assert draws.mcse() == pytest.approx(by_arviz(one.mcse, draws, method="mean", **axes))
    for prob in (0.5, 0.9):
        for j in range(3):
            assert draws.hdi(prob)[j] == pytest.approx(one.hdi(draws.flat[:, j], prob=prob))


def test_monte_carlo_error_is_sd_over_root_ess(draws):
    one = arviz.array_stats
    ess = by_arviz(one.ess, draws, method="mean", chain_axis=0, draw_axis=1)
    assert draws.mcse() == pytest.approx(draws.sd / np.sqrt(ess), rel=1e-6)


def test_independent_draws_count_in_full():
    values = np.random.default_rng(1).standard_normal((4, 2500, 1))
    draws = Draws(values, ("b",), "laplace", "laplace")
    assert draws.ess("bulk")[0] == pytest.approx(10_000, rel=0.1)
    assert draws.r_hat()[0] == pytest.approx(1, abs=0.003)


def test_mean_sd_and_hdi_are_numpys(draws):
    flat = draws.values.reshape(2000, 3)
    np.testing.assert_array_equal(draws.flat, flat)
    np.testing.assert_allclose(draws.mean, flat.mean(axis=0))
    np.testing.assert_allclose(draws.sd, flat.std(axis=0, ddof=1))
    # The shortest window that holds 80% of the sorted draws.
    for j, (low, high) in enumerate(draws.hdi(0.8)):
        ordered = np.sort(flat[:, j])
        widths = ordered[1600:] - ordered[:-1600]
        assert high - low == pytest.approx(widths.min(), rel=0.01)


@pytest.mark.parametrize("prob", [0, 1, -0.1, 90, np.nan])
def test_a_bad_share_is_refused(draws, prob):
    with pytest.raises(ValueError, match="prob must be a finite number above 0 and below 1"):
        draws.hdi(prob)


def test_the_summary_has_a_row_a_coefficient(draws):
    table = draws.summary(prob=0.8)
    assert list(table.columns) == [
        "mean",
        "sd",
        "hdi_low",
        "hdi_high",
        "r_hat",
        "ess_bulk",
        "ess_tail",
        "mcse",
    ]
    assert list(table.index) == ["intercept", "age", "size"]
    np.testing.assert_array_equal(table["mean"], draws.mean)
    np.testing.assert_array_equal(table[["hdi_low", "hdi_high"]], draws.hdi(0.8))
    assert (table["hdi_low"] < table["mean"]).all()
    assert (table["mean"] < table["hdi_high"]).all()


def test_the_tree_keeps_draws_names_and_facts(draws):
    tree = draws.to_datatree()
    posterior = tree["posterior"]
    assert posterior["coefficients"].dims == ("chain", "draw", "coefficient")
    assert list(posterior["coefficient"].values) == ["intercept", "age", "size"]
    np.testing.assert_array_equal(posterior["coefficients"].values, draws.values)
    assert posterior.attrs["sampler"] == "nuts"
    assert posterior.attrs["requested_sampler"] == "auto"
    assert posterior.attrs["k_hat"] == 0.3
    np.testing.assert_array_equal(tree["sample_stats"]["lp"].values, draws.statistics["lp"])


def test_the_tree_survives_a_file(draws, tmp_path):
    import xarray as xr

    path = tmp_path / "draws.nc"
    draws.to_datatree().to_netcdf(path, engine="h5netcdf")
    with xr.open_datatree(path, engine="h5netcdf") as back:
        np.testing.assert_array_equal(back["posterior"]["coefficients"].values, draws.values)
        assert list(back["posterior"]["coefficient"].values) == list(draws.names)
        assert back["posterior"].attrs["sampler"] == "nuts"


@pytest.mark.parametrize("draws", [1, 2, 3, 5, 7, 12, 1000, 4001])
@pytest.mark.parametrize("most", [1, 4, 8])
def test_chains_share_the_draws_out_evenly(draws, most):
    chains = chain_count(draws, most)
    assert 1 <= chains <= most
    assert draws % chains == 0
