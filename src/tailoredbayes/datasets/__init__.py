"""Bundled data with their licences: three breast-cancer cohorts and a score, without a network.

Each loader gives a `sklearn.utils.Bunch`, as scikit-learn's own loaders do. Nothing is recoded: a
loader of a cohort selects columns and rows, and says which. ``SOURCES.md`` beside the files holds
their sources and terms.

========================  =====  ========  ======================================
loader                     rows    events  outcome
========================  =====  ========  ======================================
`load_wisconsin`            699       241  the biopsy is malignant
`load_rotterdam`           2944       922  recurrence or death within three years
`load_gbsg`                 555       224  recurrence or death within three years
========================  =====  ========  ======================================

`load_breast_prognosis` gives the last two together, to learn from one and judge by the other, in
one coding: it alone recodes. `load_euroscore` gives a published equation: operative mortality in
cardiac surgery.
"""

from collections.abc import Sequence
from importlib.resources import files
from typing import Literal, NamedTuple, overload

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from tailoredbayes.checks import check_number

__all__ = [
    "TrainTest",
    "load_breast_prognosis",
    "load_euroscore",
    "load_gbsg",
    "load_rotterdam",
    "load_wisconsin",
]

# The convention that reproduces the published counts: with 365 days, two women of the GBSG
# trial whose watch ended on day 1095 would count as three years free of an event.
DAYS_PER_YEAR = 365.25


class _Source(NamedTuple):
    """A data file with what must be said of it."""

    file: str
    features: tuple[str, ...]
    description: str
    source: str
    licence: str

    def read(self) -> pd.DataFrame:
        with (files(__name__) / self.file).open("r", encoding="utf-8") as lines:
            return pd.read_csv(lines)


_ROYSTON_ALTMAN = (
    "P. Royston and D. G. Altman, 'External validation of a Cox prognostic model: principles and "
    "methods', BMC Medical Research Methodology 2013, 13:33; read from the R package survival"
)
_SUPPLEMENT = (
    "Published supplement of an open-access paper. Name the paper (Royston and Altman 2013) and "
    "the R package survival."
)

_WISCONSIN = _Source(
    file="wisconsin.csv",
    features=(
        "clump_thickness",
        "cell_size_uniformity",
        "cell_shape_uniformity",
        "marginal_adhesion",
        "epithelial_cell_size",
        "bare_nuclei",
        "bland_chromatin",
        "normal_nucleoli",
        "mitoses",
    ),
    description="""\
Breast Cancer Wisconsin (Original): 699 fine-needle biopsies, 241 malignant.

Nine cytology scores, whole numbers from 1 (nearest to benign) to 10: clump_thickness,
cell_size_uniformity, cell_shape_uniformity, marginal_adhesion, epithelial_cell_size,
bare_nuclei (missing, NaN, for 16 biopsies), bland_chromatin, normal_nucleoli, mitoses.
Target: malignant (1) or benign (0).
`id` is in `frame` only: it is no covariate, and it repeats for some biopsies.
""",
    source=(
        "W. H. Wolberg, University of Wisconsin Hospitals, 'Breast Cancer Wisconsin (Original)', "
        "UCI Machine Learning Repository; read from the R package MASS (biopsy)"
    ),
    licence="CC BY 4.0. Name the donor (W. H. Wolberg) and the UCI Machine Learning Repository.",
)

_ROTTERDAM = _Source(
    file="rotterdam.csv",
    features=("age", "meno", "size", "grade", "nodes", "pgr", "er", "hormon", "chemo"),
    description="""\
Rotterdam tumour bank: 2982 women with primary breast cancer, operated on 1978 to 1993.

age     years at surgery
meno    0 premenopausal, 1 postmenopausal
size    tumour size in classes, text: "<=20", "20-50", ">50" (mm)
grade   differentiation grade, 2 or 3 (there is no grade 1)
nodes   number of positive lymph nodes (0 to 34, heavy-tailed)
pgr     progesterone receptors, fmol/l (0 to 5004, heavy-tailed)
er      oestrogen receptors, fmol/l (0 to 3275, heavy-tailed)
hormon  hormonal treatment, 0 no, 1 yes
chemo   chemotherapy, 0 no, 1 yes

Target: recurrence or death within the given years (365.25 days each). Women whose watch for
recurrence ended earlier without an event are left out, which raises the share of events.
`frame` also holds pid, year (of surgery), rtime and recur (days to recurrence or end of its
watch), dtime and death (days to death or end of watch).
""",
    source=_ROYSTON_ALTMAN + " (rotterdam)",
    licence=_SUPPLEMENT,
)

_GBSG = _Source(
    file="gbsg.csv",
    features=("age", "meno", "size", "grade", "nodes", "pgr", "er", "hormon"),
    description="""\
German Breast Cancer Study Group trial, 1984 to 1989: 686 women, all node-positive.

age     years
meno    0 premenopausal, 1 postmenopausal
size    tumour size in mm (rotterdam has classes)
grade   tumour grade, 1 to 3
nodes   number of positive lymph nodes (1 to 51, heavy-tailed)
pgr     progesterone receptors, fmol/l (0 to 2380, heavy-tailed)
er      oestrogen receptors, fmol/l (0 to 1144, heavy-tailed)
hormon  hormonal treatment, 0 no, 1 yes

Target: recurrence or death within the given years (365.25 days each). Women whose watch ended
earlier without an event are left out, which raises the share of events.
`frame` also holds pid, rfstime (days to recurrence, death or end of watch) and status.
""",
    source=_ROYSTON_ALTMAN + " (gbsg)",
    licence=_SUPPLEMENT,
)

_EUROSCORE = _Source(
    file="euroscore.csv",
    features=("term", "beta"),
    description="""\
The logistic EuroSCORE (2003): the risk of death about cardiac surgery,

    risk = expit(intercept + sum of beta x),

x = 1 for each risk factor that a patient has. For age, x = max(1, age - 58): 1 below 60 years, and
1 more for each year from then on.
""",
    source=(
        "F. Roques, P. Michel, A. R. Goldstone and S. A. M. Nashef, 'The logistic EuroSCORE', "
        "European Heart Journal 2003, 24(9):881-882"
    ),
    licence="Published coefficients. Name the paper (Roques and others 2003).",
)


@overload
def load_wisconsin(
    *, columns: Sequence[str] | None = ..., dropna: bool = ..., return_X_y: Literal[False] = ...
) -> Bunch: ...
@overload
def load_wisconsin(
    *, columns: Sequence[str] | None = ..., dropna: bool = ..., return_X_y: Literal[True]
) -> tuple[pd.DataFrame, pd.Series]: ...
def load_wisconsin(
    *, columns: Sequence[str] | None = None, dropna: bool = False, return_X_y: bool = False
) -> Bunch | tuple[pd.DataFrame, pd.Series]:
    """Wisconsin breast cancer, original: benign or malignant biopsies.

    Nine cytology scores from 1 (nearest to benign) to 10 for 699 fine-needle biopsies, 241 of
    them malignant. `bare_nuclei` is missing for 16 and stays NaN unless you drop those rows.

    Parameters
    ----------
    columns : sequence of str, optional
        Which covariates ``data`` holds, in this order; all by default.
    dropna : bool, default False
        Leave out the 16 biopsies without `bare_nuclei`: 683 rows, 239 malignant.
    return_X_y : bool, default False
        Return ``(data, target)`` in place of the Bunch.

    Returns
    -------
    sklearn.utils.Bunch
        ``data`` (DataFrame), ``target`` (Series of 0 and 1), ``frame`` (every column of the
        file), ``feature_names``, ``target_names``, ``DESCR``, ``source``, ``licence``.

    Notes
    -----
    CC BY 4.0: W. H. Wolberg, UCI Machine Learning Repository. The column `id` repeats for some
    biopsies and is no covariate; it is in ``frame`` only.

    Examples
    --------
    >>> X, y = load_wisconsin(dropna=True, return_X_y=True)
    >>> X.shape, int(y.sum())
    ((683, 9), 239)
    """
    frame = _WISCONSIN.read()
    if dropna:
        frame = frame.dropna().reset_index(drop=True)
    return _bunch(_WISCONSIN, frame, "malignant", ["benign", "malignant"], columns, return_X_y)


@overload
def load_rotterdam(
    years: float = ...,
    *,
    columns: Sequence[str] | None = ...,
    return_X_y: Literal[False] = ...,
) -> Bunch: ...
@overload
def load_rotterdam(
    years: float = ..., *, columns: Sequence[str] | None = ..., return_X_y: Literal[True]
) -> tuple[pd.DataFrame, pd.Series]: ...
def load_rotterdam(
    years: float = 3, *, columns: Sequence[str] | None = None, return_X_y: bool = False
) -> Bunch | tuple[pd.DataFrame, pd.Series]:
    """Rotterdam tumour bank: recurrence or death within some years of surgery.

    At three years: 2944 women, 922 events. With T = 365.25 `years` days a woman

    - has the event if she had a recurrence by T (``recur == 1`` and ``rtime <= T``) or died by T
      (``death == 1`` and ``dtime <= T``);
    - is left out if neither is so and the watch for recurrence ended before T (``rtime < T``):
      nobody knows whether the cancer had come back;
    - is free of the event otherwise.

    Parameters
    ----------
    years : float, default 3
        The horizon, in years of 365.25 days. Three suits both this cohort and `load_gbsg`: the
        longer the horizon, the more women are left out, and all of those were free of an event.
    columns : sequence of str, optional
        Which covariates ``data`` holds, in this order; all by default.
    return_X_y : bool, default False
        Return ``(data, target)`` in place of the Bunch.

    Returns
    -------
    sklearn.utils.Bunch
        ``data`` (DataFrame), ``target`` (Series of 0 and 1, named ``event``), ``frame`` (every
        column of the file, and ``event``), ``feature_names``, ``target_names``, ``DESCR``,
        ``source``, ``licence``.

    Notes
    -----
    `size` is text in three classes, no tumour has grade 1, and `nodes`, `pgr` and `er` are
    heavy-tailed: nothing is recoded here. For 43 women the watch for recurrence ended before
    their recorded death; deaths by T count all the same, and the six who died after T with the
    watch ended before T are left out. Published with [RoystonAltman2013]; read from the R
    package survival.

    Examples
    --------
    >>> cohort = load_rotterdam()
    >>> cohort.data.shape, int(cohort.target.sum())
    ((2944, 9), 922)
    """
    days = _horizon(years)
    women = _ROTTERDAM.read()
    recurred = (women["recur"] == 1) & (women["rtime"] <= days)
    died = (women["death"] == 1) & (women["dtime"] <= days)
    event = recurred | died
    return _cohort(
        _ROTTERDAM, women, event, event | (women["rtime"] >= days), years, columns, return_X_y
    )


@overload
def load_gbsg(
    years: float = ...,
    *,
    columns: Sequence[str] | None = ...,
    return_X_y: Literal[False] = ...,
) -> Bunch: ...
@overload
def load_gbsg(
    years: float = ..., *, columns: Sequence[str] | None = ..., return_X_y: Literal[True]
) -> tuple[pd.DataFrame, pd.Series]: ...
def load_gbsg(
    years: float = 3, *, columns: Sequence[str] | None = None, return_X_y: bool = False
) -> Bunch | tuple[pd.DataFrame, pd.Series]:
    """German Breast Cancer Study Group trial: recurrence or death within some years.

    At three years: 555 women, 224 events. With T = 365.25 `years` days a woman has the event if
    ``status == 1`` and ``rfstime <= T``, is left out if ``status == 0`` and ``rfstime < T``, and
    is free of the event otherwise.

    Parameters
    ----------
    years : float, default 3
        The horizon, in years of 365.25 days. The trial's watch was short: at five years 406
        women are left, 285 of them with an event, a share of .70 that says more about who was
        left out than about the trial.
    columns : sequence of str, optional
        Which covariates ``data`` holds, in this order; all by default.
    return_X_y : bool, default False
        Return ``(data, target)`` in place of the Bunch.

    Returns
    -------
    sklearn.utils.Bunch
        ``data`` (DataFrame), ``target`` (Series of 0 and 1, named ``event``), ``frame`` (every
        column of the file, and ``event``), ``feature_names``, ``target_names``, ``DESCR``,
        ``source``, ``licence``.

    Notes
    -----
    Every woman is node-positive, `size` is in mm (in classes in `load_rotterdam`), and there is
    no `chemo`. Published with [RoystonAltman2013]; read from the R package survival.

    Examples
    --------
    >>> trial = load_gbsg()
    >>> trial.data.shape, int(trial.target.sum())
    ((555, 8), 224)
    """
    days = _horizon(years)
    women = _GBSG.read()
    event = (women["status"] == 1) & (women["rfstime"] <= days)
    return _cohort(
        _GBSG, women, event, event | (women["rfstime"] >= days), years, columns, return_X_y
    )


class TrainTest(NamedTuple):
    """Rows to learn from and rows to judge by: ``X, y, X_test, y_test = ...`` unpacks them."""

    X: pd.DataFrame
    y: pd.Series
    X_test: pd.DataFrame
    y_test: pd.Series


def load_breast_prognosis(years: float = 3, *, features: str = "raw") -> TrainTest:
    """Rotterdam to learn from and the GBSG trial to judge by, in the covariates that both tell.

    age, meno, size (0, 1, 2 for up to 20, up to 50 and more mm: Rotterdam's classes), grade3 (1
    for grade 3: Rotterdam has no grade 1), nodes, pgr, er, hormon. Rotterdam's chemo is left out,
    as the trial does not tell it. age, nodes, pgr and er are centred and divided by the standard
    deviation, both of the Rotterdam women.

    Parameters
    ----------
    years : float, default 3
        The horizon, as in `load_rotterdam` and `load_gbsg`.
    features : {"raw", "log"}
        How the heavy-tailed nodes, pgr and er enter: as they are, or as log(1 + x).

    Returns
    -------
    TrainTest
        ``X`` and ``y`` (2944 women, 922 events at three years), ``X_test`` and ``y_test`` (555
        and 224).

    Notes
    -----
    The external validation of [RoystonAltman2013]. The trial's women are another population: all
    node-positive, 40% with the event by three years against 31%.

    Examples
    --------
    >>> X, y, X_test, y_test = load_breast_prognosis()
    >>> X.shape, int(y.sum()), X_test.shape, int(y_test.sum())
    ((2944, 8), 922, (555, 8), 224)
    """
    if features not in ("raw", "log"):
        raise ValueError(f"features must be 'raw' or 'log', got {features!r}")
    train, test = load_rotterdam(years), load_gbsg(years)
    X, X_test = (_common(women.data, features == "log") for women in (train, test))
    scaled = ["age", *_HEAVY_TAILED]
    mean, sd = X[scaled].mean(), X[scaled].std(ddof=0)
    X[scaled], X_test[scaled] = (X[scaled] - mean) / sd, (X_test[scaled] - mean) / sd
    return TrainTest(X, train.target, X_test, test.target)


_HEAVY_TAILED = ["nodes", "pgr", "er"]
_SIZES = {"<=20": 0.0, "20-50": 1.0, ">50": 2.0}


def _common(women: pd.DataFrame, log: bool) -> pd.DataFrame:
    """Return the covariates that both cohorts have, in one coding.

    >>> trial = pd.DataFrame({"age": [50], "meno": [1], "size": [21], "grade": [1], "nodes": [3],
    ...                       "pgr": [0], "er": [7], "hormon": [0]})
    >>> _common(trial, log=False).iloc[0].tolist()
    [50.0, 1.0, 1.0, 0.0, 3.0, 0.0, 7.0, 0.0]
    """
    size = women["size"]
    if pd.api.types.is_numeric_dtype(size):
        size = pd.Series(np.searchsorted([20.0, 50.0], size, side="left"), index=women.index)
    else:
        size = size.map(_SIZES)
    grade3 = women["grade"] == 3
    columns = ["age", "meno", "size", "grade3", *_HEAVY_TAILED, "hormon"]
    X = women.assign(size=size, grade3=grade3)[columns].astype(np.float64)
    if log:
        X[_HEAVY_TAILED] = np.log1p(X[_HEAVY_TAILED])
    return X


def load_euroscore() -> Bunch:
    """Logistic EuroSCORE: the published equation of operative mortality in cardiac surgery.

        risk = expit(intercept + sum of beta x)

    with x = 1 for each risk factor present and, for age, x = max(1, age - 58).

    Returns
    -------
    sklearn.utils.Bunch
        ``coef`` (Series of beta by risk factor), ``intercept`` (float), ``frame`` (the file),
        ``DESCR``, ``source``, ``licence``.

    Notes
    -----
    Published in [Roques2003].

    Examples
    --------
    A man of 50 with no risk factor: x = 1 for age.

    >>> import math
    >>> score = load_euroscore()
    >>> eta = score.intercept + score.coef["age"]
    >>> round(1 / (1 + math.exp(-eta)), 4)
    0.0088
    """
    frame = _EUROSCORE.read()
    beta = frame.set_index("term")["beta"]
    return Bunch(
        coef=beta.drop("intercept"),
        intercept=float(beta["intercept"]),
        frame=frame,
        DESCR=_told(_EUROSCORE),
        source=_EUROSCORE.source,
        licence=_EUROSCORE.licence,
    )


def _horizon(years: float) -> float:
    """Days of a horizon given in years."""
    advice = "3 is the horizon that suits both cohorts"
    return DAYS_PER_YEAR * check_number(years, "years", above=0, advice=advice)


def _cohort(
    source: _Source,
    women: pd.DataFrame,
    event: pd.Series,
    known: pd.Series,
    years: float,
    columns: Sequence[str] | None,
    return_X_y: bool,
) -> Bunch | tuple[pd.DataFrame, pd.Series]:
    """Keep the women whose outcome at the horizon is known."""
    frame = women.assign(event=event.astype("int64"))[known].reset_index(drop=True)
    if frame["event"].nunique() < 2:
        raise ValueError(
            f"years must leave women with and women without an event in {source.file}, got "
            f"{years!r}, which leaves {len(frame)} women of one kind; try a horizon of 1 to 5"
        )
    return _bunch(source, frame, "event", ["event-free", "event"], columns, return_X_y)


def _bunch(
    source: _Source,
    frame: pd.DataFrame,
    target: str,
    names: list[str],
    columns: Sequence[str] | None,
    return_X_y: bool,
) -> Bunch | tuple[pd.DataFrame, pd.Series]:
    """Shape a table as scikit-learn's loaders do."""
    features = _chosen(source, columns)
    data, outcome = frame[features].copy(), frame[target].copy()
    if return_X_y:
        return data, outcome
    return Bunch(
        data=data,
        target=outcome,
        frame=frame,
        feature_names=features,
        target_names=names,
        DESCR=_told(source),
        source=source.source,
        licence=source.licence,
    )


def _chosen(source: _Source, columns: Sequence[str] | None) -> list[str]:
    """Return the covariates asked for."""
    if columns is None:
        return list(source.features)
    if not isinstance(columns, Sequence):
        raise TypeError(
            f"columns must be names of covariates of {source.file}, got {columns!r}; there are "
            f"{', '.join(source.features)}"
        )
    features = [columns] if isinstance(columns, str) else list(columns)
    unknown = [name for name in features if name not in source.features]
    if unknown or not features or len(set(features)) < len(features):
        raise ValueError(
            f"columns must be different covariates of {source.file}, got {columns!r}; there are "
            f"{', '.join(source.features)}"
        )
    return features


def _told(source: _Source) -> str:
    """All that must be said of a file."""
    return f"{source.description}\nSource: {source.source}.\nTerms: {source.licence}\n"
