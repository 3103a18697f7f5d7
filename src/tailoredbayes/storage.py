"""Save and load fitted models: one NetCDF file, no pickle.

xarray and ArviZ read the file without us (docs/format.md lists what is where). It is written from
the records of a fit, and a model is loaded by handing the records back to its estimator: nothing
is fitted, and no code is run that the file brings.

An estimator that can be stored is marked :func:`storable`, gives its fits by name (``_fits``) and
takes them back (``_restore``). Behind the NetCDF bytes stands a seal, the digest of all before it:
readers of HDF5 pass over it, and :func:`load` lets nothing damaged near the HDF5 library.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import platform
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from tailoredbayes.findings import Finding
from tailoredbayes.fitting import Search, TailoredFit
from tailoredbayes.inference import Draws
from tailoredbayes.priors import Laplace, Normal, StudentT
from tailoredbayes.reference import Recalibration, Reference
from tailoredbayes.selection import Candidates, Choice, Tally

__all__ = [
    "FORMAT_VERSION",
    "NotStored",
    "Provenance",
    "check_all_stored",
    "load",
    "provenance",
    "save",
    "storable",
]

FORMAT = "tailoredbayes model"
FORMAT_VERSION = 1

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_SEAL = b"\ntailoredbayes sha256 "
_SEAL_LENGTH = len(_SEAL) + 64 + 1  # the digest in hexadecimal, a newline
_PRIORS: dict[str, type] = {prior.__name__: prior for prior in (Laplace, Normal, StudentT)}
# Smaller arrays gain nothing from compression.
_WORTH_COMPRESSING = 1024


class Storable(Protocol):
    """What is asked of an estimator that can be stored."""

    classes_: NDArray[Any]
    n_features_in_: int
    _positive: int

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """As in scikit-learn."""

    def _fits(self) -> dict[str, TailoredFit]:
        """Return the fits by the name of their group; "" is the file's root."""

    def _restore(self, fits: dict[str, TailoredFit]) -> None:
        """Take the fits back, and set what follows from them."""


_Model = TypeVar("_Model", bound=Storable)
_KINDS: dict[str, Any] = {}


def storable(kind: type[_Model]) -> type[_Model]:
    """Mark a class of estimators as one that can be stored."""
    _KINDS[kind.__name__] = kind
    return kind


# --- The two public functions -----------------------------------------------------------------


def save(model: Storable, path: str | os.PathLike[str]) -> None:
    """Save a fitted model to one NetCDF file; see :func:`load`.

    The file appears, or takes the place of an older one, as a whole or not at all.

    Parameters
    ----------
    model : TailoredLogisticRegression or TailoredFamily
        Fitted.
    path : str or Path
        Any name; ``.nc`` tells others that it is NetCDF.

    Raises
    ------
    OSError
        If the file cannot be written; one that was there before is then unchanged.
    """
    kind = type(model).__name__
    if _KINDS.get(kind) is not type(model):
        raise TypeError(
            f"model must be one of {', '.join(sorted(_KINDS))} to be saved, got {kind}: other "
            "models cannot be stored without pickle (joblib.dump stores them, with it)"
        )
    if not hasattr(model, "findings_"):
        raise NotFittedError(f"this {kind} is not fitted yet, so there is nothing to save; fit it")
    target = _target(path)
    fits = model._fits()
    root = Group()
    root.attributes.update(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        kind=kind,
        saved_at=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=json.dumps(_versions()),
        parameters=json.dumps(
            {name: _pack_parameter(value) for name, value in model.get_params(deep=False).items()}
        ),
        classes=json.dumps(_pack_labels(model.classes_)),
        positive=model._positive,
        n_features_in=model.n_features_in_,
    )
    if hasattr(model, "feature_names_in_"):
        root.variables["feature_names"] = (("feature",), model.feature_names_in_)
    if hasattr(model, "recipe_"):  # a variable: attributes end at 64 kB
        recipe = json.dumps(model.recipe_, allow_nan=False)
        root.variables["recipe"] = ((), np.array(recipe, dtype=object))
    # Fits that stand together share their reference.
    references = [fit.reference for fit in fits.values() if fit.reference is not None]
    if references:
        root.groups["reference"] = _pack_reference(references[0])
    for name, fit in fits.items():
        if fit.reference is not None and fit.reference is not references[0]:
            raise ValueError("the model's fits must share one reference to be saved together")
        place = root if name == "" else root.groups.setdefault(name, Group())
        _pack_fit(fit, place)
    _write_whole(target, _sealed(_netcdf(root)))


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that ``model.save(path)`` has written.

    Its predictions and tables are those of the saved model, to the bit. Parameters that a file
    without pickle cannot hold (a model given as ``reference``, a callable, a random generator, a
    splitter) come back as a note of what they were: predicting does not need them, and ``fit``
    asks for them.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    TailoredLogisticRegression or TailoredFamily

    Raises
    ------
    OSError
        If there is no such file, or it cannot be read.
    ValueError
        If it is damaged, not one of ours, or of a newer format.

    Examples
    --------
    >>> import tempfile
    >>> import tailoredbayes as tb
    >>> X, y = np.linspace(-2, 2, 80)[:, None], np.tile([0, 1, 0, 1, 1], 16)
    >>> model = tb.TailoredLogisticRegression(0.5, discount=0, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.nc")
    ...     again = tb.load(f"{folder}/model.nc")
    >>> bool((again.risk(X) == model.risk(X)).all())
    True
    """
    place = _path(path)
    root = _groups(_checked_bytes(place))
    attributes = root.attributes
    try:
        reference = None
        if "reference" in root.groups:
            reference = _unpack_reference(root.groups["reference"])
        names = [name for name, group in root.groups.items() if "posterior" in group.groups]
        fits = {name: _unpack_fit(root.groups[name], reference) for name in names}
        if "posterior" in root.groups:
            fits[""] = _unpack_fit(root, reference)
        parameters = json.loads(attributes["parameters"])
        model = _KINDS[attributes["kind"]](
            **{name: _unpack_parameter(value) for name, value in parameters.items()}
        )
        model.classes_ = _unpack_labels(json.loads(attributes["classes"]))
        model._positive = int(attributes["positive"])
        model.n_features_in_ = int(attributes["n_features_in"])
        if "feature_names" in root.variables:
            model.feature_names_in_ = root.array("feature_names")
        if "recipe" in root.variables:
            model.recipe_ = json.loads(root.array("recipe").item())
        model._restore(fits)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        theirs = json.loads(attributes.get("versions", "{}")).get("tailoredbayes", "unknown")
        raise ValueError(
            f"{place} is intact, but this tailoredbayes ({_own_version()}) cannot make a model of "
            f"it ({type(error).__name__}: {error}); it was saved by tailoredbayes {theirs}: "
            "install that version, or fit and save the model again"
        ) from error
    return model


@dataclass(frozen=True)
class Provenance:
    """When a model was saved and with what; the digest of its file."""

    saved_at: str
    versions: Mapping[str, str]
    sha256: str


def provenance(path: str | os.PathLike[str]) -> Provenance:
    """Return where the file of a saved model comes from; it raises what :func:`load` raises."""
    import h5netcdf

    place = _path(path)
    netcdf = _checked_bytes(place)
    with h5netcdf.File(io.BytesIO(netcdf), "r") as file:
        versions = json.loads(file.attrs["versions"])
        saved_at = str(file.attrs["saved_at"])
    return Provenance(saved_at, versions, hashlib.sha256(place.read_bytes()).hexdigest())


# --- Parameters: JSON, and a note of what it cannot hold ----------------------------------------


@dataclass(frozen=True)
class NotStored:
    """Stands in a loaded model for a parameter that could not be stored.

    Parameters
    ----------
    was
        Its repr, when the model was saved.
    """

    was: str

    def __repr__(self) -> str:
        return f"<not stored: {self.was}>"


def check_all_stored(parameters: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if a parameter of a loaded model was not stored.

    >>> check_all_stored({"threshold": 0.3, "reference": NotStored("GaussianNB()")})
    Traceback (most recent call last):
        ...
    ValueError: reference was GaussianNB() when this model was saved, which a file cannot hold ...
    """
    for name, value in parameters.items():
        if isinstance(value, NotStored):
            raise ValueError(
                f"{name} was {value.was} when this model was saved, which a file cannot hold "
                f"without pickle; say set_params({name}=...) before fitting it again"
            )


class _CannotStoreError(Exception):
    """A parameter has no form in JSON."""


def _pack_parameter(value: Any) -> Any:
    try:
        return _pack(value)
    except _CannotStoreError:
        return {"not_stored": " ".join(repr(value).split())}


def _pack(value: Any) -> Any:
    """Return ``value`` in JSON's terms; what JSON lacks becomes an object that names its kind.

    Types are compared exactly: of a subclass we would not know what else it holds.
    """
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [_pack(item) for item in value]
    if kind is tuple:
        return {"tuple": [_pack(item) for item in value]}
    if kind is range:
        return {"range": [value.start, value.stop, value.step]}
    if kind is NotStored:
        return {"not_stored": value.was}
    if _PRIORS.get(kind.__name__) is kind:
        given = {part.name: _pack(getattr(value, part.name)) for part in fields(value) if part.init}
        return {"prior": kind.__name__, "with": given}
    if hasattr(value, "__array__"):  # other libraries' columns come back as NumPy arrays
        array = np.asarray(value)
        # Wider floats than Python's would lose digits.
        if array.dtype.kind in "biuU" or array.dtype.char in "efd":
            return {
                "array": array.ravel().tolist(),
                "dtype": array.dtype.str,
                "shape": array.shape,
                "scalar": isinstance(value, np.generic),
            }
    raise _CannotStoreError


def _unpack_parameter(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpack_parameter(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(_unpack_parameter(item) for item in value["tuple"])
    if "range" in value:
        return range(*value["range"])
    if "prior" in value:
        given = {name: _unpack_parameter(part) for name, part in value["with"].items()}
        return _PRIORS[value["prior"]](**given)
    if "array" in value:
        array = np.array(value["array"], dtype=value["dtype"]).reshape(value["shape"])
        return array[()] if value["scalar"] else array
    return NotStored(value["not_stored"])


def _pack_labels(labels: NDArray[Any]) -> Any:
    """Pack the classes, whose dtype counts; an array of objects is packed label by label."""
    try:
        return _pack(list(labels) if labels.dtype.kind == "O" else labels)
    except _CannotStoreError:
        raise TypeError(
            f"y's labels must be numbers, strings or booleans for the model to be saved, got "
            f"{labels.tolist()!r} of dtype {labels.dtype}"
        ) from None


def _unpack_labels(packed: Any) -> NDArray[Any]:
    labels = _unpack_parameter(packed)
    return np.array(labels, dtype=object) if isinstance(labels, list) else np.asarray(labels)


# --- Records to groups, and back ----------------------------------------------------------------


@dataclass
class Group:
    """A NetCDF group in memory: variables are their dimensions and values."""

    attributes: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, tuple[Sequence[str], NDArray[Any]]] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)

    def array(self, name: str) -> NDArray[Any]:
        """Values of a variable."""
        return self.variables[name][1]

    def optional(self, name: str) -> NDArray[Any] | None:
        """Values of a variable, None without it."""
        return self.array(name) if name in self.variables else None


def _pack_fit(fit: TailoredFit, group: Group) -> None:
    group.variables["weights"] = (("row",), fit.weights)
    group.attributes["tailored"] = int(fit.reference is not None)
    group.groups["search"] = _pack_search(fit.search, fit.reference)
    _pack_draws(fit.draws, group)
    _pack_findings(fit.findings, group)


def _unpack_fit(group: Group, reference: Reference | None) -> TailoredFit:
    own = reference if group.attributes["tailored"] else None
    return TailoredFit(
        search=_unpack_search(group.groups["search"], own),
        reference=own,
        weights=group.array("weights"),
        draws=_unpack_draws(group),
        findings=_unpack_findings(group),
    )


def _pack_draws(draws: Draws, group: Group) -> None:
    """Pack the draws in ArviZ's layout, and beside it what ArviZ has no place for."""
    chains, length, _ = draws.values.shape

    def indexed(variables: dict[str, tuple[Sequence[str], NDArray[Any]]]) -> Group:
        chain, draw = np.arange(chains), np.arange(length)
        made = {"inference_library": "tailoredbayes", "inference_library_version": _own_version()}
        return Group(made, {"chain": (("chain",), chain), "draw": (("draw",), draw), **variables})

    group.groups["posterior"] = indexed(
        {
            "coefficient": (("coefficient",), np.array(draws.names, dtype=object)),
            "coefficients": (("chain", "draw", "coefficient"), draws.values),
        }
    )
    if draws.statistics:
        statistics = {name: (("chain", "draw"), v) for name, v in draws.statistics.items()}
        group.groups["sample_stats"] = indexed(dict(statistics))
    facts = {name: _pack(value) for name, value in draws.facts.items()}
    sampling = {
        "sampler": draws.sampler,
        "requested_sampler": draws.requested,
        "facts": json.dumps(facts),
    }
    group.groups["sampling"] = Group(sampling)
    _pack_findings(draws.findings, group.groups["sampling"])


def _unpack_draws(group: Group) -> Draws:
    posterior, sampling = group.groups["posterior"], group.groups["sampling"]
    facts = json.loads(sampling.attributes["facts"])
    statistics = group.groups.get("sample_stats", Group()).variables
    return Draws(
        values=posterior.array("coefficients"),
        names=tuple(posterior.array("coefficient").tolist()),
        sampler=sampling.attributes["sampler"],
        requested=sampling.attributes["requested_sampler"],
        findings=_unpack_findings(sampling),
        facts={name: _unpack_parameter(value) for name, value in facts.items()},
        statistics={n: v for n, (_, v) in statistics.items() if n not in ("chain", "draw")},
    )


def _pack_reference(reference: Reference) -> Group:
    group = Group(
        {
            "source": reference.source,
            "design": reference.design,
            "recalibrated": int(reference.recalibrated),
        },
        {
            "risk": (("row",), reference.risk),
            "development": (("row",), reference.development),
        },
    )
    if reference.recalibration is not None:
        group.attributes["recalibration_intercept"] = reference.recalibration.intercept
        group.attributes["recalibration_slope"] = reference.recalibration.slope
    _pack_findings(reference.findings, group)
    return group


def _unpack_reference(group: Group) -> Reference:
    attributes, recalibration = group.attributes, None
    if "recalibration_slope" in attributes:
        recalibration = Recalibration(
            float(attributes["recalibration_intercept"]), float(attributes["recalibration_slope"])
        )
    return Reference(
        risk=group.array("risk"),
        development=group.array("development"),
        source=attributes["source"],
        design=attributes["design"],
        recalibration=recalibration,
        recalibrated=bool(attributes["recalibrated"]),
        findings=_unpack_findings(group),
    )


def _pack_search(search: Search, reference: Reference | None) -> Group:
    """Pack the search; the risks of a round are left out where they are stage 1's."""
    group = Group(
        {"threshold": search.threshold, "discount": search.discount, "round": search.round}
    )
    for round_, tally in enumerate(search.tallies):
        group.groups[_round(round_)] = _pack_tally(tally)
    for round_, risk in enumerate(search.round_risks):
        if reference is None or risk is not reference.risk:
            place = group.groups.setdefault(_round(round_), Group())
            place.variables["reference_risk"] = (("row",), risk)
    if search.choice is not None:
        group.attributes["rounds"] = len(search.round_risks)
        group.groups["choice"] = _pack_choice(search.choice)
    return group


def _unpack_search(group: Group, reference: Reference | None) -> Search:
    threshold, discount, round_ = (group.attributes[n] for n in ("threshold", "discount", "round"))
    search = Search(float(threshold), float(discount), None, int(round_))
    if reference is None:
        return search
    if "choice" not in group.groups:
        return replace(search, reference_risk=reference.risk)
    number = int(group.attributes["rounds"])
    rounds = [group.groups.get(_round(k), Group()) for k in range(number)]
    refined = (place.optional("reference_risk") for place in rounds)
    risks = tuple(reference.risk if risk is None else risk for risk in refined)
    tallies = tuple(_unpack_tally(place) for place in rounds if "net_benefit" in place.variables)
    return replace(
        search,
        reference_risk=risks[search.round],
        tallies=tallies,
        choice=_unpack_choice(group.groups["choice"], tallies),
        round_risks=risks,
    )


def _round(number: int) -> str:
    return f"round_{number}"


def _pack_tally(tally: Tally) -> Group:
    cell = ("discount", "repeat", "fold")
    group = Group(
        {"threshold": tally.threshold, "weight": tally.weight},
        {
            "discount": (("discount",), tally.discounts),
            "net_benefit": (cell, tally.net_benefit),
            "smooth": (cell, tally.smooth),
            "treated": (("row", "discount"), tally.treated),
            "gain": (("row",), tally.gain),
        },
    )
    if tally.risk is not None:
        group.variables["risk"] = (("row", "discount"), tally.risk)
    return group


def _unpack_tally(group: Group) -> Tally:
    return Tally(
        threshold=float(group.attributes["threshold"]),
        discounts=group.array("discount"),
        net_benefit=group.array("net_benefit"),
        smooth=group.array("smooth"),
        treated=group.array("treated"),
        gain=group.array("gain"),
        weight=float(group.attributes["weight"]),
        risk=group.optional("risk"),
    )


def _pack_choice(choice: Choice) -> Group:
    """Pack the choice; the rows of its candidates are those of the tallies."""
    candidates = choice.candidates
    table = {
        "round": candidates.rounds,
        "discount": candidates.discounts,
        "mean": candidates.mean,
        "smooth": candidates.smooth,
    }
    return Group(
        {"rule": choice.rule, "index": choice.index},
        {name: (("candidate",), column) for name, column in table.items()},
    )


def _unpack_choice(group: Group, tallies: Sequence[Tally]) -> Choice:
    index = int(group.attributes["index"])
    candidates = Candidates(
        threshold=tallies[0].threshold,
        rounds=group.array("round"),
        discounts=group.array("discount"),
        mean=group.array("mean"),
        smooth=group.array("smooth"),
        treated=np.concatenate([tally.treated for tally in tallies], axis=1),
        gain=tallies[0].gain,
        weight=tallies[0].weight,
        repeats=tallies[0].repeats,
    )
    return Choice(
        rule=group.attributes["rule"],
        round=int(candidates.rounds[index]),
        discount=float(candidates.discounts[index]),
        index=index,
        candidates=candidates,
    )


def _pack_findings(findings: Sequence[Finding], group: Group) -> None:
    if not findings:  # a dimension of length 0 would be NetCDF's word for "unlimited"
        return

    def column(values: Iterable[Any], dtype: Any) -> tuple[Sequence[str], NDArray[Any]]:
        return ("finding",), np.array(list(values), dtype=dtype)

    group.groups["findings"] = Group(
        variables={
            "code": column((finding.code for finding in findings), object),
            "message": column((finding.message for finding in findings), object),
            "value": column((finding.value for finding in findings), np.float64),
        }
    )


def _unpack_findings(group: Group) -> tuple[Finding, ...]:
    table = group.groups.get("findings")
    if table is None:
        return ()
    columns = (table.array(name).tolist() for name in ("code", "message", "value"))
    return tuple(Finding(*row) for row in zip(*columns, strict=True))


def _versions() -> dict[str, str]:
    others = ("numpy", "scipy", "scikit-learn", "h5netcdf", "h5py", "nutpie")
    return {
        "tailoredbayes": _own_version(),
        "python": platform.python_version(),
        **{name: version(name) for name in others},
    }


def _own_version() -> str:
    # Read where it stands: a source tree on the path has no installed metadata.
    return str(sys.modules["tailoredbayes"].__version__)


# --- Groups to NetCDF, and back -----------------------------------------------------------------


def _netcdf(root: Group) -> bytes:
    import h5netcdf

    buffer = io.BytesIO()
    with h5netcdf.File(buffer, "w") as file:
        _write_group(file, root, {})
    return buffer.getvalue()


def _write_group(place: Any, group: Group, above: Mapping[str, int]) -> None:
    import h5py

    lengths = dict(above)
    for name, value in group.attributes.items():
        place.attrs[name] = value
    for name, (dimensions, given) in group.variables.items():
        values, options = np.asarray(given), {}
        for dimension, length in zip(dimensions, values.shape, strict=True):
            if dimension not in lengths:
                place.dimensions[dimension] = lengths[dimension] = length
        is_bool = values.dtype == np.bool_
        if is_bool:  # NetCDF has none: xarray's way
            values = values.astype(np.int8)
        if values.dtype.kind in "OU":
            values, options["dtype"] = values.astype(object), h5py.string_dtype()
        elif values.nbytes >= _WORTH_COMPRESSING:
            options.update(compression="gzip", compression_opts=4, shuffle=True)
        variable = place.create_variable(name, tuple(dimensions), data=values, **options)
        if is_bool:
            variable.attrs["dtype"] = "bool"
    for name, inner in group.groups.items():
        _write_group(place.create_group(name), inner, lengths)


def _groups(raw: bytes) -> Group:
    import h5netcdf

    with h5netcdf.File(io.BytesIO(raw), "r", decode_vlen_strings=True) as file:
        return _read_group(file)


def _read_group(place: Any) -> Group:
    group = Group(dict(place.attrs))
    for name, variable in place.variables.items():
        values = np.asarray(variable[...])
        if variable.attrs.get("dtype") == "bool":
            values = values.astype(np.bool_)
        group.variables[name] = (variable.dimensions, values)
    for name, inner in place.groups.items():
        group.groups[name] = _read_group(inner)
    return group


# --- Bytes to a file, and back ------------------------------------------------------------------


def _sealed(netcdf: bytes) -> bytes:
    return netcdf + _SEAL + hashlib.sha256(netcdf).hexdigest().encode() + b"\n"


def _path(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise TypeError(f"path must be the name of a file, a str or a Path, got {path!r}")
    return Path(path)


def _target(path: str | os.PathLike[str]) -> Path:
    """Return the file to write, links followed, or say why it cannot be."""
    target = Path(os.path.realpath(_path(path)))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file in it, as model.nc")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to save {path} in; make it")
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is not a regular file, and cannot be replaced by one; rename yours")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"{path} is write-protected; choose another name or unprotect it")
    return target


def _write_whole(target: Path, content: bytes) -> None:
    """Write a file beside the target and move it there, so that none is ever seen half written."""
    beside = target.with_name(f".tailoredbayes-{secrets.token_hex(8)}.part")
    try:
        with _removed_on_failure(beside):
            with open(beside, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                beside.chmod(target.stat().st_mode & 0o777)
            os.replace(beside, target)
    except OSError as error:
        raise OSError(
            error.errno,
            f"cannot save to {target} ({error.strerror or error}); what was there, if anything, is "
            "unchanged; check that its folder may be written to and has room",
        ) from error
    with contextlib.suppress(OSError):  # the move itself, where folders can be synchronised
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextlib.contextmanager
def _removed_on_failure(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:  # an interrupt, too, leaves nothing behind
        path.unlink(missing_ok=True)
        raise


def _checked_bytes(path: Path) -> bytes:
    """Return the NetCDF bytes of a file of ours, or say what it is instead."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: load reads the one file of model.save")
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"there is no file {path}; check the name and the folder you are in"
        ) from None
    except OSError as error:
        raise OSError(
            error.errno, f"cannot read {path} ({error.strerror or error}); check its permissions"
        ) from error
    if not raw:
        raise ValueError(f"{path} is empty: load reads the file of model.save; save or copy again")
    if not raw.startswith(_HDF5_SIGNATURE):
        raise ValueError(
            f"{path} is not a tailoredbayes model: load reads the NetCDF (HDF5) file that "
            "model.save writes"
        )
    netcdf, seal = raw[:-_SEAL_LENGTH], raw[-_SEAL_LENGTH:]
    if not seal.startswith(_SEAL) and FORMAT.encode() not in raw:
        raise ValueError(
            f"{path} is a NetCDF or HDF5 file, but not a tailoredbayes model, or only the "
            "beginning of one: load reads what model.save writes; xarray and h5py open others"
        )
    if raw != _sealed(netcdf):
        raise ValueError(
            f"{path} is damaged: it is not, byte for byte, what model.save wrote (cut short, or "
            "changed since); copy it again from where it was saved, or save the model again"
        )
    theirs = _format_version(netcdf)
    if theirs > FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {theirs}; tailoredbayes {_own_version()} reads up to "
            f"{FORMAT_VERSION}: upgrade it (pip install --upgrade tailoredbayes)"
        )
    return netcdf


def _format_version(netcdf: bytes) -> int:
    import h5netcdf

    with h5netcdf.File(io.BytesIO(netcdf), "r") as file:
        return int(file.attrs["format_version"])
