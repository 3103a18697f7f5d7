"""Breast cancer prognosis: section 4.1 of [Karapanagiotis2021], on cohorts that are public.

Rotterdam trains and the German trial tests: :func:`~tailoredbayes.datasets.load_breast_prognosis`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailoredbayes.checks import check_number
from tailoredbayes.datasets import TrainTest, load_breast_prognosis
from tailoredbayes.estimators import TailoredFamily, TailoredLogisticRegression
from tailoredbayes.evaluation.differences import ResplitDifference
from tailoredbayes.evaluation.patients import Patients, patients
from tailoredbayes.evaluation.posteriors import posterior_overlap
from tailoredbayes.evaluation.prospects import prospects
from tailoredbayes.evaluation.splitting import data_splitting
from tailoredbayes.predictive import risk_draws
from tailoredbayes.selection import DEFAULT_RULE
from tailoredbayes.studies.cohorts import (
    check_common,
    difference_rows,
    fit_quietly,
    prospects_from,
    resplit_from,
    search_rows,
    settled,
    signed,
    splitting_from,
    tailored_name,
)
from tailoredbayes.studies.contract import (
    Claim,
    Coordinates,
    Exhibit,
    Results,
    Study,
    Tables,
    setting,
    stream,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FEATURES", "STUDY", "BreastSettings", "check_features"]

Floats = NDArray[np.float64]

FEATURES = ("raw", "log")
_CHEMOTHERAPY = (0.14, 0.23)  # where it is discussed, section 4.1


@dataclass(frozen=True)
class BreastSettings:
    """Settings of the breast cancer study; ``design`` and ``selection`` go in pairs."""

    thresholds: tuple[float, ...] = setting(
        (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5), "target thresholds"
    )
    splits: int = setting(5, "splits of the training women into design and development")
    years: float = setting(3.0, "horizon of recurrence or death, in years")
    features: tuple[str, ...] = setting(
        FEATURES, "how heavy-tailed covariates enter: raw, log; the first is the paper's way"
    )
    design: tuple[str, ...] = setting(
        ("split", "crossfit"), "stage 1 of each procedure: split (20/80), crossfit"
    )
    selection: tuple[str, ...] = setting(
        ("max", DEFAULT_RULE),
        "rule for the discount of each procedure: max, one_se, smooth, guarded",
    )
    exemplar: float = setting(0.15, "threshold of the posteriors and weights shown")
    discount: float = setting(20.0, "a discount whose posterior is shown beside the chosen ones'")
    patient_risk: float = setting(0.345, "mean risk of the two patients shown")
    sampler: str = setting("auto", "auto, importance, nuts, metropolis (the paper's), laplace")
    draws: int = setting(4000, "posterior draws")
    seed: int = setting(2021, "seed of everything")

    def __post_init__(self) -> None:
        check_common(
            self.thresholds,
            self.design,
            self.selection,
            self.sampler,
            splits=self.splits,
            draws=self.draws,
        )
        check_features(self.features)
        check_number(
            self.patient_risk,
            "patient_risk",
            above=0,
            below=1,
            advice="the paper shows 34% and 35%",
        )
        check_number(self.discount, "discount", above=0, advice="20 shows what tailoring does")
        if self.exemplar not in self.thresholds:
            raise ValueError(
                f"exemplar must be one of the thresholds {', '.join(map(str, self.thresholds))}, "
                f"got {self.exemplar}"
            )


def check_features(features: Sequence[str]) -> None:
    """Raise ``ValueError`` unless these are ways to code the covariates."""
    unknown = [one for one in features if one not in FEATURES]
    if unknown or not features:
        raise ValueError(
            f"features must be some of {', '.join(FEATURES)}, got {','.join(features) or 'none'}"
        )


# --- A cell: one split ------------------------------------------------------------------------


def cells(settings: BreastSettings) -> Iterator[Coordinates]:
    """Give every split."""
    yield from ({"split": split} for split in range(settings.splits))


def cell(settings: BreastSettings, at: Coordinates) -> Tables:
    """Fit every procedure with every coding of the covariates, and judge it on the trial."""
    import pandas as pd

    ts = settings.thresholds
    differences: list[dict[str, Any]] = []
    overlaps: list[pd.DataFrame] = []
    by_coding: dict[str, Floats] = {}
    extra: dict[str, Any] = {}
    for features in settings.features:
        women = load_breast_prognosis(settings.years, features=features)
        families = {
            tailored_name(design, selection): fit_quietly(
                _family(settings, at, design, selection), women.X, women.y
            )
            for design, selection in zip(settings.design, settings.selection, strict=True)
        }
        standard = next(iter(families.values())).standard_
        risks = {name: family.risks(women.X_test) for name, family in families.items()}
        plain = standard.risk(women.X_test)
        rows = difference_rows(women.y_test, {"SB": plain, **risks}, ts, "SB")
        for row in rows:
            model = families[row["model"]].models_[row["threshold"]]
            row |= {"discount": model.discount_, "share": float(model.weights_.mean())}
        differences += [{"features": features, **row} for row in rows]
        by_coding[f"SB {features}"] = plain
        by_coding |= {f"{name} {features}": risk for name, risk in risks.items()}
        shown = {name: family.models_[settings.exemplar] for name, family in families.items()}
        shown[f"TB (λ = {settings.discount:g})"] = fit_quietly(
            _fixed(settings, at), women.X, women.y
        )
        for name, model in shown.items():
            table = posterior_overlap(standard, model).to_frame()
            overlaps.append(table.assign(features=features, model=name, discount=model.discount_))
        if at["split"] == 0 and features == settings.features[0]:
            extra = _shown_once(settings, standard, shown, next(iter(families.values())), women)
    against = f"SB {settings.features[0]}"
    return {
        "difference": differences,
        "features": difference_rows(women.y_test, by_coding, ts, against)
        if len(by_coding) > 1
        else [],
        "overlap": pd.concat(overlaps, ignore_index=True),
        **extra,
    }


def _family(
    settings: BreastSettings, at: Coordinates, design: str, selection: str
) -> TailoredFamily:
    return TailoredFamily(
        settings.thresholds,
        design=design,
        selection=selection,
        sampler=settings.sampler,
        draws=settings.draws,
        random_state=stream(settings.seed, at),
    )


def _fixed(settings: BreastSettings, at: Coordinates) -> TailoredLogisticRegression:
    return TailoredLogisticRegression(
        settings.exemplar,
        discount=settings.discount,
        sampler=settings.sampler,
        draws=settings.draws,
        random_state=stream(settings.seed, at),
    )


def _shown_once(
    settings: BreastSettings,
    standard: TailoredLogisticRegression,
    shown: dict[str, TailoredLogisticRegression],
    family: TailoredFamily,
    women: TrainTest,
) -> dict[str, Any]:
    """Return what is shown of one split: draws, reference risks, searches, how rows were split."""
    import pandas as pd

    draws = [
        pd.DataFrame(model.draws_.flat, columns=list(model.draws_.names)).assign(model=name)
        for name, model in {"SB": standard, **shown}.items()
    ]
    model = family.models_[settings.exemplar]
    risk = model.reference_risk_
    assert risk is not None
    return {
        "draws": pd.concat(draws, ignore_index=True),
        "reference": pd.DataFrame({"risk": risk[~np.isnan(risk)]}),
        "search": search_rows(prospects(family)),
        "parts": data_splitting(model, len(women.y_test), external=True).to_frame().fillna(""),
    }


# --- What was found ---------------------------------------------------------------------------


def _procedures(results: Results) -> list[str]:
    settings = results.settings
    return list(map(tailored_name, settings.design, settings.selection))


def _resplit(results: Results, features: str) -> list[ResplitDifference]:
    table = results["difference"]
    table = table[table["features"] == features]
    return [resplit_from(table, name, "SB") for name in _procedures(results)]


def _draws(results: Results, model: str) -> tuple[Floats, list[str]]:
    table = results["draws"]
    names = [name for name in table.columns if name not in ("split", "model")]
    return table.loc[table["model"] == model, names].to_numpy(), names


def _two_patients(results: Results) -> Patients:
    """Return the trial's women, with the draws of two of like risk and unlike spread."""
    settings = results.settings
    women = load_breast_prognosis(settings.years, features=settings.features[0])
    draws = risk_draws(women.X_test.to_numpy(), _draws(results, "SB")[0])
    mean, sd = draws.mean(axis=1), draws.std(axis=1, ddof=1)
    like = np.abs(mean - settings.patient_risk) <= 0.01
    if like.sum() < 2:
        like = np.argsort(np.argsort(np.abs(mean - settings.patient_risk))) < 2  # the nearest two
    place = np.flatnonzero(like)
    two = [int(place[np.argmax(sd[place])]), int(place[np.argmin(sd[place])])]
    return patients(draws, threshold=settings.exemplar, predictive=two)


def claims(results: Results) -> Iterator[Claim]:
    """Give what section 4.1, the discussion and section S9.1 say."""
    settings = results.settings
    main = settings.features[0]
    paper, ours = _resplit(results, main)[0], _resplit(results, main)[-1]
    yield _most_thresholds(paper, ours)
    yield from _at_exemplar(results, paper)
    yield _where_chemotherapy(paper)
    yield from _posteriors(results)
    yield _two(results)
    yield _flat_search(results, paper)


def _most_thresholds(paper: ResplitDifference, ours: ResplitDifference) -> Claim:
    won = [int((one.difference > 0).sum()) for one in (paper, ours)]
    number = len(paper.thresholds)
    clear = int((paper.difference > 2 * _own(paper)).sum())
    return Claim(
        "section 4.1, Figure 7",
        "TB outperforms SB for most target thresholds.",
        f"{paper.models[0]}, as in the paper, is ahead at {won[0]} of {number} thresholds (at "
        f"{clear} by two standard errors of the test set), {ours.models[0]} at {won[1]}.",
        False if won[0] <= number / 2 else True if clear > number / 2 else None,
    )


def _own(record: ResplitDifference) -> Floats:
    assert record.sampling_error is not None
    return record.sampling_error


def _at_exemplar(results: Results, paper: ResplitDifference) -> Iterator[Claim]:
    t = results.settings.exemplar
    place = int(np.abs(paper.thresholds - t).argmin())
    gain, own = float(paper.difference[0, place]), float(_own(paper)[0, place])
    best = int(paper.difference[0].argmax())
    yield Claim(
        "section 4.1",
        "Tailoring achieves up to 3.6 more net true positives per 1000 (at t = 0.15).",
        f"At t = {t:g} {signed(gain)} per 1000 (standard error {1000 * own:.1f}, test set); at "
        f"best {signed(float(paper.difference[0, best]))}, at t = {paper.thresholds[best]:g} "
        f"({1000 * float(_own(paper)[0, best]):.1f}).",
        settled(gain, own),
    )
    error = paper.standard_error[0]
    some = error > 0
    ratio = float(np.median(_own(paper)[0, some] / error[some])) if some.any() else np.nan
    yield Claim(
        "Figure 7, caption",
        "The error bars are one standard error over the splits.",
        "They leave out the test set's own sampling, whose standard error is "
        f"{ratio:.1f} times as large (median over thresholds): Figure 7 cannot tell whether "
        "tailoring helps.",
        None,
    )


def _where_chemotherapy(paper: ResplitDifference) -> Claim:
    t = paper.thresholds
    inside = (t >= _CHEMOTHERAPY[0]) & (t <= _CHEMOTHERAPY[1])
    if not inside.any() or inside.all():
        return Claim("section 4.1", "…especially between 14% and 23%.", "Not looked at.", None)
    within = float(paper.difference[0, inside].mean())
    outside = float(paper.difference[0, ~inside].mean())
    return Claim(
        "section 4.1",
        "…especially where decisions about chemotherapy are made (14% to 23%).",
        f"{signed(within)} per 1000 there, {signed(outside)} elsewhere.",
        within > 0 and within > outside,
    )


def _overlaps(results: Results) -> pd.DataFrame:
    """Return overlap and width by coefficient and model, averaged over the splits."""
    table = results["overlap"]
    table = table[(table["features"] == results.settings.features[0])]
    table = table[table["coefficient"] != "intercept"]
    groups = table.groupby(["model", "coefficient"], sort=False)
    return groups.agg(
        overlap=("overlap", "mean"),
        least=("overlap", "min"),
        most=("overlap", "max"),
        width_ratio=("width_ratio", "mean"),
        shift_in_sd=("shift_in_sd", "mean"),
        shift=("shift", "mean"),
        discounts=("discount", lambda found: ", ".join(f"{one:.3g}" for one in found)),
    ).reset_index()


def _posteriors(results: Results) -> Iterator[Claim]:
    table, name = _overlaps(results), _procedures(results)[0]
    fixed = f"TB (λ = {results.settings.discount:g})"
    paper, shown = table[table["model"] == name], table[table["model"] == fixed]
    yield Claim(
        "section 4.1, Figure 8",
        "Tailored posteriors have a wider spread than standard ones.",
        f"Their 90% intervals are {paper['width_ratio'].min():.2f} to "
        f"{paper['width_ratio'].max():.2f} times as wide ({name}; discounts chosen: "
        f"{paper['discounts'].iloc[0]}), {shown['width_ratio'].min():.2f} to "
        f"{shown['width_ratio'].max():.2f} times at λ = {results.settings.discount:g}.",
        bool((paper["width_ratio"] > 1).all()),
    )
    yield Claim(
        "Table 1",
        "The posteriors of the number of nodes overlap least.",
        f"Those of {_least(paper)} do ({name}), and those of {_least(shown)} at λ = "
        f"{results.settings.discount:g}.",
        _least(paper) == "nodes",
    )
    yield Claim(
        "Table 1",
        "Posterior overlap ranges from 3% to 70%.",
        f"From {paper['overlap'].min():.0%} to {paper['overlap'].max():.0%} ({name}); at λ = "
        f"{results.settings.discount:g} from {shown['overlap'].min():.0%} to "
        f"{shown['overlap'].max():.0%}.",
        bool(paper["overlap"].min() < 0.1 and paper["overlap"].max() < 0.8),
    )
    moved = float(shown.loc[shown["coefficient"] == "nodes", "shift_in_sd"].iloc[0])
    chosen = float(paper.loc[paper["coefficient"] == "nodes", "shift_in_sd"].iloc[0])
    yield Claim(
        "section 4.1",
        "Under tailoring the number of nodes has a stronger positive association with risk.",
        f"Its median moves by {chosen:+.1f} standard deviations of the standard posterior ({name})"
        f", by {moved:+.1f} at λ = {results.settings.discount:g}.",
        chosen > 0,
    )


def _least(table: pd.DataFrame) -> str:
    return str(table.loc[table["overlap"].idxmin(), "coefficient"])


def _two(results: Results) -> Claim:
    found = _two_patients(results)
    one, other = (int(np.flatnonzero(found.index == i)[0]) for i in found.predictive)
    return Claim(
        "section 5, Figure 11",
        "Two patients of mean risk 34% and 35% have standard deviations of 6.9% and 2.8%.",
        f"Two of mean risk {found.risk[one]:.0%} and {found.risk[other]:.0%} have "
        f"{found.sd[one]:.1%} and {found.sd[other]:.1%}, "
        f"{found.sd[one] / found.sd[other]:.1f} times as much.",
        bool(found.sd[one] > 2 * found.sd[other]),
    )


def _flat_search(results: Results, paper: ResplitDifference) -> Claim:
    """Compare what the searches promised with what came of it, over thresholds and splits."""
    table = results["difference"]
    table = table[
        (table["features"] == results.settings.features[0]) & (table["model"] == paper.models[0])
    ]
    flat = table[table["discount"] == 0]
    gain, other = flat["difference"].mean(), table[table["discount"] > 0]["difference"].mean()
    return Claim(
        "section S9.1, Figure S9",
        "Where net benefit does not rise with the discount, TB will probably not improve on SB.",
        f"{len(flat)} of {len(table)} searches chose 0; their models gained {signed(gain)} per "
        f"1000 on the test set, those that chose more {signed(other)}.",
        bool(gain < other) if len(flat) and len(flat) < len(table) else None,
    )


def exhibits(results: Results) -> Iterator[Exhibit]:
    """Give the figures and tables of section 4.1, the discussion and sections S4 and S9.1."""
    from tailoredbayes import plots

    settings = results.settings
    yield from _differences(results)
    yield from _shown_posteriors(results)
    yield _patients(results)
    parts = splitting_from(results["parts"])
    yield Exhibit(
        "figure-s1",
        f"How the women are split by {_procedures(results)[0]}. Standard Bayes takes all of the "
        "training women.",
        parts.to_frame(),
        lambda: plots.data_splitting(parts),
        "Figure S1",
    )
    yield from _before_fitting(results, settings)


def _differences(results: Results) -> Iterator[Exhibit]:
    import pandas as pd

    from tailoredbayes import plots

    for number, features in enumerate(results.settings.features):
        records = _resplit(results, features)
        yield Exhibit(
            "figure-7" if number == 0 else f"difference-{features}",
            "Net benefit of tailored less standard Bayes on the test women, "
            f"covariates {features}. Thick bars: one standard error over the splits, as in the "
            "paper. Thin lines: one standard error of the test set. Shaded: where chemotherapy is "
            "discussed.",
            pd.concat([one.to_frame() for one in records], ignore_index=True),
            partial(plots.net_benefit_difference, records, shade=_CHEMOTHERAPY),
            "Figure 7",
        )
    if len(results.settings.features) > 1:
        yield _features(results)


def _features(results: Results) -> Exhibit:
    import pandas as pd

    from tailoredbayes import plots

    table, first = results["features"], results.settings.features[0]
    name = _procedures(results)[-1]
    wanted = [f"{name} {first}"]
    wanted += [f"{who} {f}" for f in results.settings.features[1:] for who in ("SB", name)]
    records = [resplit_from(table, model, f"SB {first}") for model in wanted]
    return Exhibit(
        "better-features",
        f"What tailoring and what better features add to standard Bayes with {first} covariates. "
        "Bars as above.",
        pd.concat([one.to_frame() for one in records], ignore_index=True),
        lambda: plots.net_benefit_difference(records, shade=_CHEMOTHERAPY),
    )


def _shown_posteriors(results: Results) -> Iterator[Exhibit]:
    import pandas as pd

    from tailoredbayes import plots

    settings = results.settings
    fixed = f"TB (λ = {settings.discount:g})"
    standard, names = _draws(results, "SB")
    for place, model in enumerate([_procedures(results)[0], fixed]):
        record = posterior_overlap(standard, _draws(results, model)[0], names=names)
        chosen = results["overlap"]
        chosen = chosen[(chosen["model"] == model) & (chosen["split"] == 0)]["discount"].iloc[0]
        yield Exhibit(
            "figure-8" if place == 0 else "posteriors-at-a-discount",
            f"Posteriors of standard Bayes and {model}, how far they overlap in brackets. "
            f"First split, t = {settings.exemplar:g}, discount {chosen:.3g}.",
            record.to_frame(),
            partial(
                plots.posterior_densities,
                record,
                coefficients=[name for name in names if name != "intercept"],
            ),
            "Figure 8" if place == 0 else "",
        )
    table = _overlaps(results)
    models = [*_procedures(results), fixed]
    wide = {
        model: table[table["model"] == model].set_index("coefficient").sort_values("overlap")
        for model in models
    }
    order = wide[models[0]].index
    yield Exhibit(
        "table-1",
        "Posterior overlap with standard Bayes, mean over the splits (range). Discounts chosen, "
        "split by split: "
        + "; ".join(f"{model}: {wide[model]['discounts'].iloc[0]}" for model in models)
        + ". Even at discount 0 the paper's procedure overlaps by less than 100%: it fits on "
        "the development women only.",
        pd.DataFrame(
            {"coefficient": order}
            | {
                model: [
                    f"{row.overlap:.0%} ({row.least:.0%} to {row.most:.0%})"
                    for row in wide[model].loc[order].itertuples()
                ]
                for model in models
            }
        ),
        shows="Table 1",
    )


def _patients(results: Results) -> Exhibit:
    from tailoredbayes import plots

    found = _two_patients(results)
    return Exhibit(
        "figure-11",
        "Standard Bayes' risk of two women of the trial, numbered by row. Of those within one "
        f"percentage point of a mean risk of {results.settings.patient_risk:.1%}, the one known "
        "worst and the one known best.",
        found.density_frame(),
        lambda: plots.patients(found),
        "Figure 11",
    )


def _before_fitting(results: Results, settings: BreastSettings) -> Iterator[Exhibit]:
    from tailoredbayes import plots

    risk = results["reference"]["risk"].to_numpy()
    one = prospects_from(risk, [settings.exemplar])
    all_of_them = prospects_from(risk, settings.thresholds, results["search"])
    yield Exhibit(
        "figure-s6",
        "Weight against the reference risk, development women of the first split. "
        f"t = {settings.exemplar:g}.",
        one.weight_frame(),
        lambda: plots.weights(one),
        "Figure S6",
    )
    yield Exhibit(
        "figure-s8",
        "What each discount leaves of the development women.",
        all_of_them.ess_frame(),
        lambda: plots.effective_sample(all_of_them),
        "Figure S8",
    )
    yield Exhibit(
        "figure-s9",
        "Cross-validated net benefit along the discount, first split. Diamond: the one chosen; "
        "above each panel, its gain over discount 0 with its paired standard error.",
        all_of_them.search_frame(),
        lambda: plots.discount_search(all_of_them),
        "Figure S9",
    )


def about(results: Results) -> str:
    """Say what was done, and what better features are worth."""
    settings = results.settings
    women = load_breast_prognosis(settings.years, features=settings.features[0])
    parts = [
        f"**The paper's cohort is private; this is a stand-in.** The paper predicts death within "
        "ten years in 4718 women and tests on 3810. Here the Rotterdam tumour bank trains "
        f"({len(women.y)} women, {women.y.sum()} events) and the German Breast Cancer Study Group "
        f"trial tests ({len(women.y_test)} women, {women.y_test.sum()} events) "
        f"[RoystonAltman2013]; the event is recurrence or death within {settings.years:g} years. "
        "Women whose watch ended earlier are left out. The test women are few, and another "
        f"population: all node-positive, {women.y_test.mean():.0%} with the event against "
        f"{women.y.mean():.0%}.",
        f"Covariates are what both cohorts tell: {', '.join(women.X.columns)}; size in "
        "Rotterdam's three classes, grade 3 against less, no chemotherapy (not told by the "
        "trial). `raw` covariates enter as they are, as in the paper; `log` takes log(1 + x) of "
        "the heavy-tailed nodes, pgr and er.",
        f"{_procedures(results)[0]} is the paper's procedure: 20% of the training women for the "
        f"reference risk, the rest for the model, {settings.splits} times; standard Bayes takes "
        "them all. The other procedure is the library's default, cross-fitted.",
    ]
    if len(settings.features) > 1:
        parts.append(_worth(results))
    return "\n\n".join(parts)


def _worth(results: Results) -> str:
    table = results["features"]
    first, second = results.settings.features[:2]
    name = _procedures(results)[-1]

    def mean(model: str) -> float:
        return float(table.loc[table["model"] == model, "difference"].mean())

    features, tailored = mean(f"SB {second}"), mean(f"{name} {first}")
    both = mean(f"{name} {second}")
    verdict = "beats" if features > tailored else "does not beat"
    return (
        f"**Better features against tailoring.** Averaged over the thresholds, taking logarithms "
        f"gains standard Bayes {signed(features)} net true positives per 1000; tailoring with "
        f"{first} covariates ({name}) gains {signed(tailored)}, with {second} covariates and "
        f"tailoring together {signed(both)}. A better feature {verdict} tailoring here."
    )


STUDY = Study(
    name="breast",
    title="Breast cancer prognosis: Rotterdam trains, the German trial tests",
    settings=BreastSettings,
    cells=cells,
    cell=cell,
    claims=claims,
    exhibits=exhibits,
    about=about,
    shows=(
        "Figure 7",
        "Figure 8",
        "Table 1",
        "Figure 11",
        "Figure S1",
        "Figure S6",
        "Figure S8",
        "Figure S9",
    ),
)
