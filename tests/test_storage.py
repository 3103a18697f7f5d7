"""A stored model is the model: equal to the bit, readable by others, safe from half a file."""

import hashlib
import json
import os
import pickle
import signal
import stat
import subprocess
import sys
import textwrap
import warnings
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path

import arviz_stats
import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

import tailoredbayes as tb
from tailoredbayes import storage
from tailoredbayes.storage import NotStored, provenance

N = 300
RNG = np.random.default_rng(1)
X = RNG.normal(size=(N, 2))
RISK = 1 / (1 + np.exp(-(X[:, 0] - 0.5 * X[:, 1] - 0.5)))
Y = RNG.uniform(size=N) < RISK
NEW = RNG.normal(size=(40, 2))
QUICK = {"sampler": "laplace", "draws": 200, "random_state": 0}


def fitted(kind=tb.TailoredLogisticRegression, x=X, y=Y, *, fit=None, **parameters):
    if kind is tb.TailoredLogisticRegression:
        parameters = {"threshold": 0.3, **parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tb.TailoringWarning)
        return kind(**{**QUICK, **parameters}).fit(x, y, **(fit or {}))


def there_and_back(model, folder):
    model.save(folder / "model.nc")
    return tb.load(folder / "model.nc")


def assert_same(a, b, where="model"):
    """Both are equal to the bit, in type, dtype and every field."""
    assert type(a) is type(b), where
    if is_dataclass(a):
        for part in fields(a):
            inside = f"{where}.{part.name}"
            assert_same(getattr(a, part.name), getattr(b, part.name), inside)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, where
        np.testing.assert_array_equal(a, b, err_msg=where)
    elif isinstance(a, dict):
        assert a.keys() == b.keys(), where
        for key in a:
            assert_same(a[key], b[key], f"{where}[{key!r}]")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for i, pair in enumerate(zip(a, b, strict=True)):
            assert_same(*pair, f"{where}[{i}]")
    elif isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_exact=True)
    elif isinstance(a, tb.TailoredLogisticRegression):
        assert_same(vars(a), vars(b), where)
    elif isinstance(a, float) and np.isnan(a):
        assert np.isnan(b), where
    else:
        assert a == b, where


def assert_predicts_the_same(a, b, new):
    for ask in ("predict_proba", "predict", "decision_function", "risk_draws", "risk_interval"):
        assert_same(getattr(a, ask)(new), getattr(b, ask)(new), ask)
    assert_same(a.decision_certainty(new), b.decision_certainty(new))
    assert_same(a.summary(0.8), b.summary(0.8))
    assert a.posterior_.equals(b.posterior_)  # created at another time
    assert repr(a) == repr(b)
    assert [f.message for f in a.findings_] == [f.message for f in b.findings_]


FRAME = pd.DataFrame(X, columns=["age", "größe"])
LABELS = np.where(Y, "well", "ill")
FOLDS = [(np.flatnonzero(np.arange(N) % 3 != k), np.arange(k, N, 3)) for k in range(3)]
MODELS = {
    "a frame's columns": {"x": FRAME},
    "a label that sorts first": {"y": LABELS, "pos_label": "ill"},
    "labels of a frame": {"y": pd.Series(LABELS, dtype=object)},
    "whole numbers": {"y": np.where(Y, 3, -1).astype(np.int8)},
    "floats": {"y": Y.astype(np.float32)},
    "a numpy label": {"y": np.where(Y, 3, -1), "pos_label": np.int64(3)},
    "no intercept": {"fit_intercept": False},
    "a design split": {"design": "split"},
    "a refinement round": {"rounds": 1},
    "no tailoring": {"discount": 0},
    "a given discount": {"discount": 7.5},
    "reference risks from outside": {
        "fit": {"reference_risk": RISK**1.5, "recalibrate": True},
    },
    "row weights": {"fit": {"sample_weight": np.linspace(0.5, 2, N)}},
    "a grid": {"discount_grid": np.array([3, 9]), "selection": "smooth", "cv_repeats": 2},
    "a grid in single precision": {"discount_grid": np.array([0.1, 9], dtype=np.float32)},
    "a range": {"discount_grid": range(0, 20, 5)},
    "a list": {"discount_grid": [1, 2.5], "cv": 3},
    "folds of one's own": {"cv": FOLDS},
    "a prior": {"prior": tb.Normal(0, [10.0, 2.0, 2.0])},
    "a prior of arrays": {"prior": tb.StudentT(4, sd=np.array([2.5, 1.0, 1.0]))},
    "a kinked prior": {"prior": tb.Laplace(0, 2), "sampler": "laplace"},
    "single precision": {"x": X.astype(np.float32)},
    "importance sampling": {"sampler": "importance"},
    "metropolis": {"sampler": "metropolis"},
    "a numpy threshold": {"threshold": np.float64(0.3), "draws": np.int64(100)},
}


@pytest.mark.parametrize("case", MODELS)
def test_a_loaded_model_is_the_model_to_the_bit(case, tmp_path):
    model = fitted(**MODELS[case])
    loaded = there_and_back(model, tmp_path)
    new = pd.DataFrame(NEW, columns=FRAME.columns) if hasattr(model, "feature_names_in_") else NEW
    assert_predicts_the_same(model, loaded, new)
    assert_same(vars(model), vars(loaded))


def test_nuts_statistics_come_back(tmp_path):
    model = fitted(sampler="nuts", draws=100, discount=0)
    loaded = there_and_back(model, tmp_path)
    assert model.draws_.statistics
    assert_same(model.fit_, loaded.fit_)


def test_a_loaded_model_fits_as_the_model_does(tmp_path):
    model = fitted()
    again = there_and_back(model, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tb.TailoringWarning)
        again.fit(X, Y)
    assert_predicts_the_same(model, again, NEW)


def test_a_loaded_model_can_be_saved_again(tmp_path):
    model = fitted(x=FRAME, reference=GaussianNB())
    once = there_and_back(model, tmp_path)
    assert_same(vars(once), vars(there_and_back(once, tmp_path)))


@pytest.mark.parametrize("more", [{}, {"rounds": 1}, {"discount": 0}], ids=str)
def test_a_family_comes_back_whole(more, tmp_path):
    family = fitted(tb.TailoredFamily, FRAME, thresholds=(0.5, 0.2), **more)
    loaded = there_and_back(family, tmp_path)
    new = pd.DataFrame(NEW, columns=FRAME.columns)
    assert_same(family.risks(new), loaded.risks(new))
    assert_same(family.decisions(new), loaded.decisions(new))
    assert_predicts_the_same(family.standard_, loaded.standard_, new)
    assert_same(vars(family), vars(loaded))
    assert repr(family) == repr(loaded)


def test_a_family_keeps_its_reference_once(tmp_path):
    loaded = there_and_back(fitted(tb.TailoredFamily, thresholds=[0.2, 0.5]), tmp_path)
    first, second = (model.fit_ for model in loaded.models_.values())
    assert first.reference is second.reference
    assert first.search.reference_risk is first.reference.risk
    with h5py.File(tmp_path / "model.nc") as file:
        found = []
        file.visit(lambda name: found.append(name) if name.endswith("development") else None)
    assert found == ["reference/development"]


# --- What a file without pickle cannot hold -----------------------------------------------------


def absolute(risk, threshold):
    return np.abs(risk - threshold)


LOST = {
    "reference": LogisticRegression(C=2.0),
    "distance": absolute,
    "prior": tb.LogDensity(lambda beta: -0.5 * float(beta @ beta)),
    "random_state": np.random.default_rng(3),
    "cv": StratifiedKFold(3),
}


@pytest.mark.parametrize("name", LOST)
def test_a_lost_parameter_is_named_and_must_be_given_again_to_fit(name, tmp_path):
    model = fitted(**{name: LOST[name]})
    loaded = there_and_back(model, tmp_path)
    assert_same(model.fit_, loaded.fit_)
    np.testing.assert_array_equal(model.predict_proba(NEW), loaded.predict_proba(NEW))
    lost = loaded.get_params()[name]
    assert isinstance(lost, NotStored)
    assert lost.was == " ".join(repr(LOST[name]).split())
    assert "<not stored: " in repr(loaded)
    assert loaded._repr_html_()
    for refit in (loaded, clone(loaded)):
        with pytest.raises(ValueError, match=rf"^{name} was .*set_params\({name}=\.\.\.\)"):
            refit.fit(X, Y)
    default = tb.TailoredLogisticRegression().get_params()[name]
    assert fitted(**clone(loaded).set_params(**{name: default}).get_params())


def test_a_family_refuses_to_fit_with_a_lost_parameter(tmp_path):
    family = fitted(tb.TailoredFamily, thresholds=[0.3], discount=0, distance=absolute)
    loaded = there_and_back(family, tmp_path)
    with pytest.raises(ValueError, match="distance was <function absolute"):
        loaded.fit(X, Y)


def test_a_column_of_another_library_comes_back_as_an_array(tmp_path):
    loaded = there_and_back(fitted(discount_grid=pd.Series([2.0, 4.0])), tmp_path)
    assert_same(loaded.discount_grid, np.array([2.0, 4.0]))


def test_other_models_are_refused(tmp_path):
    class Mine(tb.TailoredLogisticRegression):
        pass

    with pytest.raises(TypeError, match=r"TailoredFamily, TailoredLogisticRegression .* got Gauss"):
        storage.save(GaussianNB(), tmp_path / "model.nc")
    with pytest.raises(TypeError, match="got Mine"):
        fitted(Mine, threshold=0.3).save(tmp_path / "model.nc")
    with pytest.raises(NotFittedError, match="not fitted yet"):
        tb.TailoredLogisticRegression().save(tmp_path / "model.nc")
    model = fitted(discount=0)
    model.classes_ = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    with pytest.raises(TypeError, match="labels must be numbers, strings or booleans"):
        model.save(tmp_path / "model.nc")
    assert not list(tmp_path.iterdir())


# --- Others read it -----------------------------------------------------------------------------


def test_xarray_reads_it_without_us(tmp_path):
    model = fitted(x=FRAME, y=LABELS, sampler="metropolis", cv_repeats=2)
    model.save(tmp_path / "model.nc")
    tree = xr.open_datatree(tmp_path / "model.nc", engine="h5netcdf")
    tree.load()
    tree.close()
    assert tree.attrs["format"] == "tailoredbayes model"
    assert tree.attrs["format_version"] == 1
    assert tree.attrs["kind"] == "TailoredLogisticRegression"
    assert pd.Timestamp(tree.attrs["saved_at"]).tzinfo is not None
    assert json.loads(tree.attrs["versions"])["numpy"] == np.__version__
    assert json.loads(tree.attrs["parameters"])["threshold"] == 0.3
    assert tree["feature_names"].values.tolist() == ["age", "größe"]
    draws = tree["posterior/coefficients"]
    assert draws.dims == ("chain", "draw", "coefficient")
    np.testing.assert_array_equal(
        draws.sel(coefficient="größe"), model.posterior_["posterior/coefficients"][..., 2]
    )
    np.testing.assert_array_equal(tree["sample_stats/lp"], model.draws_.statistics["lp"])
    np.testing.assert_array_equal(tree["weights"], model.weights_)
    np.testing.assert_array_equal(tree["reference/risk"], model.reference_risk_)
    assert tree["reference/development"].dtype == bool
    table = tree["search/round_0"]
    assert set(table.data_vars) == {"net_benefit", "smooth", "treated", "gain"}
    assert table["net_benefit"].dims == ("discount", "repeat", "fold")
    mean = table["net_benefit"].mean(["repeat", "fold"])
    assert float(mean["discount"][mean.argmax("discount")]) == model.discount_


def test_arviz_reads_it_without_us(tmp_path):
    model = fitted(x=FRAME, draws=400)
    model.save(tmp_path / "model.nc")
    tree = xr.open_datatree(tmp_path / "model.nc")
    table = arviz_stats.summary(tree, round_to="none")
    tree.close()
    assert table.index.tolist() == [f"coefficients[{name}]" for name in model.draws_.names]
    np.testing.assert_allclose(table["mean"], model.summary()["mean"])


def test_the_file_is_small(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 3))
    y = rng.uniform(size=20_000) < 1 / (1 + np.exp(-x[:, 0]))
    model = fitted(x=x, y=y, draws=4000, cv=2)
    model.save(tmp_path / "model.nc")
    (tally,) = model.fit_.search.tallies
    must = model.draws_.values.nbytes + model.weights_.nbytes + model.reference_risk_.nbytes
    assert tally.treated.nbytes + tally.gain.nbytes > 400_000  # few values each: they compress well
    assert (tmp_path / "model.nc").stat().st_size < must + 150_000


def test_no_pickle_is_asked_for(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("pickle was used")

    model = fitted(reference=GaussianNB())
    for name in ("dump", "dumps", "load", "loads"):
        monkeypatch.setattr(pickle, name, refuse)
    there_and_back(model, tmp_path)
    assert b"sklearn.naive_bayes" not in (tmp_path / "model.nc").read_bytes()


# --- Files that are no models -------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "model.nc"
    fitted(discount=2).save(path)
    return path.read_bytes()


def refused(content, folder, match, error=ValueError):
    path = folder / "some file.nc"
    path.write_bytes(content)
    with pytest.raises(error, match=match) as caught:
        tb.load(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.nc; check the name"):
        tb.load(tmp_path / "none.nc")
    with pytest.raises(IsADirectoryError, match="is a folder: load reads the one file"):
        tb.load(str(tmp_path))
    for path in (None, 3, ""):
        with pytest.raises(TypeError, match="path must be the name of a file, a str or a Path"):
            tb.load(path)


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "model.nc").touch()
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(PermissionError, match=r"cannot read .*model\.nc \(Permission denied\)"):
        tb.load(tmp_path / "model.nc")


def test_what_is_not_hdf5_is_not_a_model(tmp_path):
    refused(b"", tmp_path, "is empty")
    for content in (b"\x89HD", RNG.bytes(10_000), b"a,b\n1,2\n", pickle.dumps([1])):
        refused(content, tmp_path, "is not a tailoredbayes model: load reads the NetCDF")
    refused(b"\x89HDF\r\n\x1a\n" + RNG.bytes(10_000), tmp_path, "but not a tailoredbayes model")


def test_a_file_cut_anywhere_is_refused(stored, tmp_path):
    for length in [*np.linspace(8, len(stored) - 1, 60, dtype=int), *range(-100, 0, 7)]:
        refused(stored[:length], tmp_path, "is damaged: |or only the beginning of one: ")
    refused(stored[: len(stored) // 2], tmp_path, "is damaged: .* copy it again")


def test_a_changed_byte_anywhere_is_damage(stored, tmp_path):
    for place in np.linspace(8, len(stored) - 1, 100, dtype=int):
        changed = bytearray(stored)
        changed[place] ^= 0x10
        refused(bytes(changed), tmp_path, "is damaged")
    refused(stored + b"\n", tmp_path, "is damaged")


def test_a_file_of_another_program_is_not_ours(tmp_path):
    xr.Dataset({"a": ("x", [1.0])}, attrs={"format": "theirs"}).to_netcdf(
        tmp_path / "theirs.nc", engine="h5netcdf"
    )
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["data"] = np.arange(3)
        file.attrs["format"] = [1, 2]
    for name in ("theirs.nc", "plain.h5"):
        with pytest.raises(ValueError, match=f"{name} is a NetCDF or HDF5 file, but not a tail"):
            tb.load(tmp_path / name)


def test_a_newer_format_asks_for_an_upgrade(tmp_path, monkeypatch):
    with monkeypatch.context() as later:
        later.setattr(storage, "FORMAT_VERSION", 2)
        fitted(discount=0).save(tmp_path / "model.nc")
    with pytest.raises(ValueError, match=r"has format version 2; .* reads up to 1: upgrade"):
        tb.load(tmp_path / "model.nc")


def test_an_intact_file_of_parts_unknown_says_who_wrote_it(tmp_path, monkeypatch):
    model = fitted(discount=0)
    with monkeypatch.context() as later:
        later.setattr(type(model), "get_params", lambda self, deep=True: {"novel": 1})
        model.save(tmp_path / "model.nc")
    with pytest.raises(ValueError, match=r"is intact, but .* saved by tailoredbayes .*install"):
        tb.load(tmp_path / "model.nc")


# --- Writing ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["model", "model.nc", "ein Modell.übung"])
def test_any_name_does_as_text_or_path(name, tmp_path, monkeypatch):
    model = fitted(discount=0)
    monkeypatch.chdir(tmp_path)
    model.save(name)
    np.testing.assert_array_equal(
        tb.load(tmp_path / name).predict_proba(NEW), model.predict_proba(NEW)
    )
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_places_that_cannot_be_written_are_named(tmp_path):
    model = fitted(discount=0)
    with pytest.raises(IsADirectoryError, match="is a folder: give the name of a file in it"):
        model.save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none to save .*; make it"):
        model.save(tmp_path / "none" / "model.nc")
    with pytest.raises(TypeError, match="path must be"):
        model.save(None)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="is not a regular file"):
            model.save(tmp_path / "pipe")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_protected_files_and_folders_stay(tmp_path, stored):
    model = fitted(discount=0)
    kept = tmp_path / "model.nc"
    kept.write_bytes(stored)
    kept.chmod(0o444)
    with pytest.raises(PermissionError, match="is write-protected"):
        model.save(kept)
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(PermissionError, match=r"cannot save to .*folder may be written to"):
            model.save(tmp_path / "other.nc")
    finally:
        tmp_path.chmod(0o755)
    assert kept.read_bytes() == stored


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize(
    "trouble", [PermissionError(13, "no"), OSError(28, "disk full"), KeyboardInterrupt()], ids=repr
)
def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    step, trouble, stored, tmp_path, monkeypatch
):
    path = tmp_path / "model.nc"
    path.write_bytes(stored)
    model = fitted(discount=0)

    def fail(*args):
        raise trouble

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(trouble)) as caught:
        model.save(path)
    if isinstance(trouble, OSError):
        assert caught.value.errno == trouble.errno
        assert str(path) in str(caught.value)
        assert "unchanged" in str(caught.value)
    assert path.read_bytes() == stored
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="modes and links are POSIX's")
def test_modes_and_links_are_kept(tmp_path):
    model = fitted(discount=0)
    model.save(tmp_path / "model.nc")
    (tmp_path / "other").touch()
    usual = stat.S_IMODE((tmp_path / "other").stat().st_mode)
    assert stat.S_IMODE((tmp_path / "model.nc").stat().st_mode) == usual
    (tmp_path / "model.nc").chmod(0o640)
    (tmp_path / "latest").symlink_to("model.nc")
    before = (tmp_path / "model.nc").stat().st_ino
    model.save(tmp_path / "latest")
    assert (tmp_path / "latest").is_symlink()
    after = (tmp_path / "model.nc").stat()
    assert after.st_ino != before
    assert stat.S_IMODE(after.st_mode) == 0o640


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that cannot be caught")
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_save_killed_halfway_leaves_the_old_model(step, tmp_path):
    path = tmp_path / "model.nc"
    old = fitted(discount=0)
    old.save(path)
    newer = fitted(discount=5)
    newer.save(tmp_path / "newer.nc")
    script = f"""
        import os, signal, sys
        import tailoredbayes as tb
        newer = tb.load(sys.argv[1])
        os.{step} = lambda *args: os.kill(os.getpid(), signal.SIGKILL)
        newer.save(sys.argv[2])
    """
    command = [sys.executable, "-c", textwrap.dedent(script), tmp_path / "newer.nc", path]
    source = str(Path(tb.__file__).parents[1])
    killed = subprocess.run(command, env={**os.environ, "PYTHONPATH": source}, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert_predicts_the_same(old, tb.load(path), NEW)
    newer.save(path)
    assert_predicts_the_same(newer, tb.load(path), NEW)


def test_a_table_recipe_travels_with_the_model(tmp_path):
    model = fitted(discount=0)
    model.save(tmp_path / "plain.nc")
    assert not hasattr(tb.load(tmp_path / "plain.nc"), "recipe_")
    # Longer than an attribute of an HDF5 file may be.
    model.recipe_ = {"levels": ["a é", "<b>", ""] * 20_000, "knots": [0.1, 1e-300], "ids": None}
    model.save(tmp_path / "model.nc")
    assert tb.load(tmp_path / "model.nc").recipe_ == model.recipe_


def test_provenance_says_when_a_file_was_saved_with_what_and_its_digest(tmp_path):
    model = fitted(discount=2)
    place = tmp_path / "model.nc"
    model.save(place)
    found = provenance(place)
    assert found.sha256 == hashlib.sha256(place.read_bytes()).hexdigest()
    assert found.versions["tailoredbayes"] == tb.__version__
    assert datetime.fromisoformat(found.saved_at) <= datetime.now(UTC)
    (tmp_path / "other.nc").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="not a tailoredbayes model"):
        provenance(tmp_path / "other.nc")
