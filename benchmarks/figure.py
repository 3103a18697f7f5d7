"""The third stage: from growth.json to a figure of time against rows, covariates and columns."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

__all__ = ["draw_growth"]

# Colours of Okabe and Ito, told apart by the colour-blind; dark and light enough for grey, and
# markers and lines differ too.
_STYLES = (
    {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    {"color": "#D55E00", "marker": "s", "linestyle": "-."},
)
_GUIDE = {"color": "0.55", "linestyle": "--", "linewidth": 1.0, "zorder": 1}
_PANELS = (
    ("rows", "rows, n"),
    ("covariates", "covariates, d"),
    ("columns", "weight columns"),
)


def draw_growth(folder: Path) -> list[Path]:
    """Draw growth.png and growth.svg, or nothing where growth was not run."""
    source = folder / "growth.json"
    if not source.exists():
        return []
    series = json.loads(source.read_text(encoding="utf-8"))["raw"]["series"]
    settings = {"font.size": 10, "svg.hashsalt": "growth", "axes.spines.top": False}
    with mpl.rc_context({**settings, "axes.spines.right": False}):
        figure, panels = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
        for axes, (kind, label) in zip(panels, _PANELS, strict=True):
            chosen = {name: series[name] for name in series if name.startswith(kind)}
            _panel(axes, chosen)
            axes.set_xlabel(label)
        panels[0].set_ylabel("seconds: construct and find the modes")
        figure.suptitle("Time to the posterior mode (best of several runs)", fontsize=11)
        paths = [folder / "growth.png", folder / "growth.svg"]
        figure.savefig(paths[0], dpi=150)
        figure.savefig(paths[1], metadata={"Date": None})
        plt.close(figure)
    return paths


def _panel(axes: plt.Axes, chosen: dict[str, list[dict[str, float]]]) -> None:
    for style, (name, points) in zip(_STYLES, chosen.items(), strict=False):
        fixed = name.split(", ", 1)[1]  # 'rows, d = 3': d = 3
        size = np.array([point["size"] for point in points])
        best = np.array([point["best"] for point in points])
        axes.loglog(size, best, markersize=5, label=fixed, zorder=3, **style)
        # Anchored at the largest size: the curve above the guide is growth below proportion.
        axes.loglog(size, best[-1] * size / size[-1], **_GUIDE)
    axes.loglog([], [], label="in proportion (slope 1)", **_GUIDE)
    axes.grid(True, which="major", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * 4)  # room for the legend
