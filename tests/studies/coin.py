"""A study for the tests of the runner: nothing to learn, quick to run, slow enough to be killed."""

import sys
import time
from dataclasses import dataclass
from itertools import product

from tailoredbayes.studies.contract import Claim, Exhibit, Study, setting, stream


@dataclass(frozen=True)
class CoinSettings:
    n: tuple[int, ...] = setting((10, 100), "tosses")
    repetitions: int = setting(20, "repetitions")
    label: str = setting("coin", "a word")
    fails: bool = setting(False, "whether a cell fails")
    pause: float = setting(0.0, "seconds that a cell takes")
    seed: int = setting(1, "seed")


def cells(settings):
    for n, repetition in product(settings.n, range(settings.repetitions)):
        yield {"n": n, "repetition": repetition}


def cell(settings, at):
    time.sleep(settings.pause)
    if settings.fails and at["repetition"] == 1:
        raise ZeroDivisionError("the coin fell off the table")
    rng = stream(settings.seed, at)
    tosses = [{"toss": toss, "heads": rng.random()} for toss in range(3)]
    return {"tosses": tosses, "share": [{"share": rng.binomial(at["n"], 0.5) / at["n"]}]}


def shares(results):
    return results["share"].groupby("n")["share"].agg(["mean", "sem"]).reset_index()


def claims(results):
    error = float((results["share"]["share"] - 0.5).abs().mean())
    yield Claim("section 1", "Half of the tosses are heads.", f"{error:.3f} off", error < 0.2)
    yield Claim("section 2", "All of them are.", "They are not.", False)


def exhibits(results):
    import matplotlib.pyplot as plt

    table = shares(results)

    def draw():
        _, ax = plt.subplots(figsize=(2, 2))
        ax.plot(table["n"], table["mean"])
        return ax

    yield Exhibit("share", "Share of heads.", table, draw, shows="Figure 1")
    yield Exhibit("spread", "Its spread.", table[["n", "sem"]])


def about(results):
    return f"A {results.settings.label} is tossed."


STUDY = Study(
    name="coin",
    title="Tossing a coin",
    settings=CoinSettings,
    cells=cells,
    cell=cell,
    claims=claims,
    exhibits=exhibits,
    about=about,
    shows=("Figure 1",),
)


if __name__ == "__main__":
    # A run to be killed: it says when it begins and when a cell has been kept.
    import coin  # not __main__: processes find the cell by the name of its module

    from tailoredbayes.studies.runner import run_study
    from tailoredbayes.studies.store import Store

    keep = Store.add

    def keep_and_say(self, *cell):
        keep(self, *cell)
        print("kept", flush=True)

    Store.add = keep_and_say
    print("begun", flush=True)
    run_study(
        coin.STUDY,
        coin.CoinSettings(pause=0.01),
        folder=sys.argv[1],
        n_jobs=int(sys.argv[2]),
        verbose=0,
    )
