"""The look that all figures share: one colour a model, one unit an axis, one size of type.

A model keeps its colour, line and marker in every figure: by the part it plays ("standard",
"tailored", "all", "none", "optimal", read from its name) or, for any other, by its place among the
names of the figure. To fix the look of a model of your own, put it into :data:`STYLES`.

Nothing here touches matplotlib's global settings: figures are drawn inside :func:`canvas` or
:func:`panels`, which put them back.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter
from matplotlib.transforms import offset_copy
from numpy.typing import ArrayLike

__all__ = [
    "EVENT",
    "FAINT",
    "INK",
    "NO_EVENT",
    "ROLES",
    "STYLES",
    "Style",
    "band",
    "canvas",
    "caption",
    "harm_benefit_axis",
    "key",
    "key_of_panels",
    "leftmost",
    "outer_labels",
    "panels",
    "per_1000",
    "per_1000_text",
    "percent",
    "percent_text",
    "pictures",
    "role",
    "save",
    "sequence",
    "settings",
    "shaded",
    "styles",
    "svg",
    "tint",
]

Target: TypeAlias = Axes | Figure
Panels: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
"""An array of Axes."""
Dashes: TypeAlias = str | tuple[int, tuple[float, ...]]

_LOOK: Any = {
    "axes.axisbelow": True,
    "axes.labelsize": 8,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 8,
    "font.size": 8,
    "hatch.linewidth": 0.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "xtick.labelsize": 7.5,
    "xtick.major.width": 0.7,
    "ytick.labelsize": 7.5,
    "ytick.major.width": 0.7,
}
# For files: text stays text, and the same figure gives the same bytes.
_FILES: Any = {"svg.fonttype": "none", "svg.hashsalt": "tailoredbayes"}

INK, FAINT = "0.25", "0.85"
EVENT, NO_EVENT = "#882255", "#8C9BA5"
"""Colours of rows with and without the event: none that a model has."""


# --- Who looks like what ----------------------------------------------------------------------


@dataclass(frozen=True)
class Style:
    """Colour, line and marker of one model; put it into `STYLES` under the model's name.

    Examples
    --------
    >>> Style("#009E73", "--").line["color"]
    '#009E73'
    """

    color: str
    linestyle: Dashes = "-"
    marker: str = "o"

    @property
    def line(self) -> dict[str, Any]:
        """Keyword arguments of a line without markers; broken lines lie above unbroken ones."""
        zorder = 2.9 if self.linestyle == "-" else 3.0
        return {"color": self.color, "linestyle": self.linestyle, "zorder": zorder}

    @property
    def points(self) -> dict[str, Any]:
        """Keyword arguments of a line with markers; paler inside, so that overlaps show."""
        inside = {"markerfacecolor": tint(self.color, 0.55), "markeredgewidth": 1.0}
        return {**self.line, "marker": self.marker, **inside}


# The colours of Okabe and Ito, told apart with any common colour vision. In grey they differ in
# lightness only so much: lines and markers differ as well.
ROLES: dict[str, Style] = {
    "tailored": Style("#D55E00", "-", "o"),
    "standard": Style("#0072B2", (0, (5, 1.6)), "s"),
    "optimal": Style("#000000", (0, (1, 1)), "D"),
    "all": Style("#767676", (0, (6, 1.5, 1, 1.5)), "x"),
    "none": Style("#000000", "-", "+"),
}
"""The look of each part a model may play."""
_OTHERS = (
    Style("#009E73", (0, (2.5, 1.2)), "^"),
    Style("#CC79A7", (0, (4, 1.2, 1, 1.2)), "v"),
    Style("#E69F00", (0, (6, 1.2, 1, 1.2, 1, 1.2)), "P"),
    Style("#56B4E9", (0, (8, 2)), "X"),
)
STYLES: dict[str, Style] = {}
"""Names whose look you fix for every figure: ``STYLES["our score"] = Style("#009E73", "--")``."""

_WORDS = {
    "tb": "tailored",
    "tailored": "tailored",
    "sb": "standard",
    "standard": "standard",
    "optimal": "optimal",
    "optimum": "optimal",
    "oracle": "optimal",
    "truth": "optimal",
    "observed": "optimal",
}
_WHOLE = {"all": "all", "treat all": "all", "none": "none", "treat none": "none"}


def role(name: str) -> str | None:
    """Return the part that a name says its model plays, if it says so.

    >>> role("TB, t = 0.15"), role("Standard Bayes"), role("treat_all"), role("EuroSCORE")
    ('tailored', 'standard', 'all', None)
    """
    words = re.findall(r"[a-z]+", name.lower())
    if (whole := " ".join(words)) in _WHOLE:
        return _WHOLE[whole]
    return next((_WORDS[word] for word in words if word in _WORDS), None)


def styles(names: Iterable[str]) -> dict[str, Style]:
    """Return the look of each name, the same for the same names in the same order.

    The role's own name ("TB"), or else the first name of a role, has the role's look; a second one
    of that role, and every name without one, the next look that is free.

    >>> found = styles(["TB", "SB", "EuroSCORE"])
    >>> found["TB"].color, found["SB"].color, found["EuroSCORE"].color
    ('#D55E00', '#0072B2', '#009E73')
    """
    distinct = list(dict.fromkeys(names))
    # "SB" looks like SB, also where "SB, right labels" was named before it.
    plays: dict[str, str] = {}
    for name in sorted(distinct, key=lambda one: one.lower() not in _WORDS):
        part = role(name)
        if part is not None and part not in plays.values():
            plays[name] = part
    found: dict[str, Style] = {}
    others = 0
    for name in distinct:
        if name in STYLES:
            found[name] = STYLES[name]
        elif name in plays:
            found[name] = ROLES[plays[name]]
        else:
            found[name] = _OTHERS[others % len(_OTHERS)]
            others += 1
    return found


def sequence(values: Iterable[Any]) -> dict[Any, Style]:
    """Return a look for each of some ordered values: light to dark, markers and lines in turn.

    >>> found = sequence([500, 1000])
    >>> found[500].marker, found[1000].marker
    ('o', 's')
    """
    ordered = list(dict.fromkeys(values))
    markers = "os^Dv"
    lines: tuple[Dashes, ...] = ("-", (0, (5, 1.6)), (0, (4, 1.2, 1, 1.2)), (0, (1.5, 1)))
    shades = mpl.colormaps["cividis_r"](np.linspace(0.35, 1.0, max(len(ordered), 2)))
    return {
        value: Style(mpl.colors.to_hex(shades[i]), lines[i % len(lines)], markers[i % len(markers)])
        for i, value in enumerate(ordered)
    }


def tint(color: str, share: float) -> tuple[float, float, float]:
    """Return a colour mixed with so great a share of white.

    >>> tint("#000000", 0.5)
    (0.5, 0.5, 0.5)
    """
    red, green, blue = (float(c + (1 - c) * share) for c in to_rgb(color))
    return red, green, blue


# --- What is drawn ----------------------------------------------------------------------------

P = ParamSpec("P")
Shown = TypeVar("Shown")


def pictures(
    *kinds: type, several: bool = False
) -> Callable[[Callable[P, Shown]], Callable[P, Shown]]:
    """Say which records a function draws: another is refused by name.

    ``several`` lets it draw a sequence of them, too.
    """

    def checked(draw: Callable[P, Shown]) -> Callable[P, Shown]:
        @wraps(draw)
        def drawn(*args: P.args, **more: P.kwargs) -> Shown:
            record: Any = args[0] if args else more.get("record")
            listed = several and isinstance(record, list | tuple)
            found = record if listed else [record]
            if not found or not all(isinstance(one, kinds) for one in found):
                expected = " or a ".join(kind.__name__ for kind in kinds)
                got = type(record).__name__
                if listed:
                    got += f" of {', '.join(type(one).__name__ for one in found) or 'nothing'}"
                raise TypeError(
                    f"record must be a {expected}, got a {got}; help(tb.plots.{draw.__name__}) "
                    "says which function makes it"
                )
            return draw(*args, **more)

        return drawn

    return checked


# --- Where it is drawn ------------------------------------------------------------------------


def leftmost(ax: Axes) -> bool:
    """Say whether an axis label to the left is this panel's own or stands for its row."""
    place = ax.get_subplotspec()
    return place is None or place.is_first_col()


def outer_labels(placed: Sequence[Axes]) -> None:
    """Leave the labels of axes that panels share to those at the left and at the bottom."""
    specs = [ax.get_subplotspec() for ax in placed]
    there = {(s.rowspan.start, s.colspan.start) for s in specs if s is not None}
    for ax, spec in zip(placed, specs, strict=True):
        if spec is None:
            continue
        row, column = spec.rowspan.start, spec.colspan.start
        above = (row + 1, column) in there
        ax.tick_params(axis="x", labelbottom=not above)
        ax.xaxis.label.set_visible(not above)
        ax.tick_params(axis="y", labelleft=column == 0)
        ax.yaxis.label.set_visible(column == 0)


@contextmanager
def settings(changed: dict[str, Any]) -> Iterator[None]:
    """Put some of matplotlib's settings in force.

    Only these are put back, not all as `matplotlib.rc_context` would: drawing the first figure
    loads the backend, and a notebook's then says that figures show by themselves. Taken back, no
    later figure of the notebook would be shown.
    """
    current: Any = mpl.rcParams  # its keys have types of their own
    before = {name: current[name] for name in changed}
    current.update(changed)
    try:
        yield
    finally:
        current.update(before)


@contextmanager
def canvas(ax: Axes | None, width: float = 4.6, height: float = 3.2) -> Iterator[Axes]:
    """Give the axes to draw on, a new figure's if there are none, with the look in force."""
    with settings(_LOOK):
        if ax is None:
            ax = plt.subplots(figsize=(width, height), layout="constrained")[1]
        yield ax


@contextmanager
def panels(
    axes: Any,
    number: int,
    *,
    columns: int = 3,
    width: float = 2.3,
    height: float = 2.0,
    narrowest: float = 1.6,
    sharex: bool = False,
    sharey: bool = False,
) -> Iterator[list[Axes]]:
    """Give the axes of several panels, a new figure's if there are none.

    ``axes`` may be an array or a list of Axes, at least as many as there are panels (the rest are
    hidden), or a Figure or SubFigure to put them in, in as many columns as it has room for:
    ``narrowest`` is what a panel with its labels needs, in inches.
    """
    with settings(_LOOK):
        if axes is None or hasattr(axes, "subplots"):
            across = math.ceil(number / math.ceil(number / columns))
            if axes is None:
                size = (width * across + 0.4, height * math.ceil(number / across) + 0.4)
                axes = plt.figure(figsize=size, layout="constrained")
            across = max(1, min(across, int(axes.bbox.width / axes.figure.dpi / narrowest)))
            down = math.ceil(number / across)
            across = math.ceil(number / down)  # four panels are two and two
            axes = axes.subplots(down, across, sharex=sharex, sharey=sharey, squeeze=False)
        flat = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(flat) < number:
            raise ValueError(
                f"axes must have room for {number} panels, got {len(flat)} Axes; pass None for a "
                "figure of the right shape"
            )
        for spare in flat[number:]:
            spare.set_visible(False)
        yield flat[:number]


# --- Axes in units that a clinician reads -----------------------------------------------------


def _tidy(value: float) -> str:
    """Write a number in few digits, with a true minus sign.

    >>> _tidy(-12.0), _tidy(0.30000000000000004), _tidy(-1e-17)
    ('−12', '0.3', '0')
    """
    text = f"{round(value, 10):g}"
    return "0" if text == "-0" else text.replace("-", "−")


def per_1000(axis: Any, label: str | None = None) -> None:
    """Show shares of the patients per 1000: the data stay shares, the ticks are multiplied."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: _tidy(1000 * value)))
    if label is not None:
        axis.set_label_text(label)


def percent(axis: Any, label: str | None = None) -> None:
    """Show shares in per cent: the data stay shares."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{_tidy(100 * value)}%"))
    if label is not None:
        axis.set_label_text(label)


def per_1000_text(share: float) -> str:
    """Write a share per 1000.

    >>> per_1000_text(0.00357), per_1000_text(-0.002)
    ('3.6', '−2')
    """
    return _tidy(round(1000 * share, 1))


def percent_text(share: float) -> str:
    """Write a share in per cent.

    >>> percent_text(0.9), percent_text(0.0305)
    ('90%', '3%')
    """
    return f"{100 * share:.0f}%"


# Thresholds whose harm:benefit ratio is round, those to keep first when there is little room.
_RATIOS: tuple[tuple[int, int], ...] = (
    (1, 1),
    (1, 4),
    (4, 1),
    (1, 9),
    (9, 1),
    (1, 2),
    (2, 1),
    (1, 19),
    (19, 1),
    (1, 99),
)
_RATIOS += ((1, 3), (3, 1), (3, 7), (7, 3), (1, 49), (1, 199), (1, 999), (99, 1), (1, 6), (1, 14))


def harm_benefit_axis(ax: Axes) -> None:
    """Add the harm-to-benefit ratio of each threshold, t = H / (H + B), along the top.

    Round ratios among the thresholds drawn are named, so many as there is room for.
    """
    low, high = ax.dataLim.intervalx
    kept: dict[float, str] = {}
    for harm, benefit in _RATIOS:
        t = harm / (harm + benefit)
        near = min((abs(t - other) for other in kept), default=math.inf)
        if low <= t <= high and near >= 0.13 * (high - low):
            kept[t] = f"{harm}:{benefit}"
    with settings(_LOOK):
        top = ax.secondary_xaxis("top")
        top.set_xticks(list(kept), labels=list(kept.values()))
        top.spines["top"].set_visible(True)
        top.set_xlabel("Harm : benefit", labelpad=3)


_KEY: dict[str, Any] = {
    "borderpad": 0,
    "borderaxespad": 0,
    "columnspacing": 1.2,
    "handletextpad": 0.5,
}
_MOST_COLUMNS = 4


def key(ax: Axes, *, above: float = 0.0, handles: Sequence[Any] | None = None) -> None:
    """Put the legend above the axes, in as many columns as there is room for.

    ``above`` keeps so many points free for what stands along the top; ``handles`` take the place
    of the axes' own labelled artists.
    """
    shown = list(handles) if handles is not None else ax.get_legend_handles_labels()[0]
    place, figure = ax.get_subplotspec(), _figure(ax)
    across = 1 if place is None else place.get_gridspec().ncols
    # Less what stands left of the axes: the names of its rows, or numbers and a label.
    names = [text.get_window_extent().width for text in ax.get_yticklabels() if text.get_text()]
    left = max(0.8 * figure.dpi, max(names, default=0.0) + 0.15 * figure.dpi)
    room = figure.bbox.width / across - left
    corner = offset_copy(ax.transAxes, figure, 0, 4 + above, units="points")
    for columns in range(min(len(shown), _MOST_COLUMNS), 0, -1):
        where: dict[str, Any] = {
            "loc": "lower left",
            "bbox_to_anchor": (0, 1),
            "bbox_transform": corner,
        }
        legend = ax.legend(handles=_by_rows(shown, columns), ncols=columns, **where, **_KEY)
        if legend.get_window_extent().width <= room:
            return


def _by_rows(handles: Sequence[Any], columns: int) -> list[Any]:
    """Order handles so that a legend, which is filled by columns, is read by rows.

    >>> _by_rows("abcde", 3)  # to be read as abc, de
    ['a', 'd', 'b', 'e', 'c']
    """
    return [handles[i] for first in range(columns) for i in range(first, len(handles), columns)]


def key_of_panels(
    placed: Sequence[Axes], *, above: float = 14.0, handles: Sequence[Any] | None = None
) -> None:
    """Put one legend above all panels: of their figure where it is theirs alone.

    Else it stands above the first panel, ``above`` keeping room for the panel's title.
    """
    shown = list(handles) if handles is not None else placed[0].get_legend_handles_labels()[0]
    parent = placed[0].figure
    alone = all(ax in placed for ax in parent.axes if ax.get_visible())
    if not alone or not isinstance(_figure(placed[0]).get_layout_engine(), ConstrainedLayoutEngine):
        key(placed[0], above=above, handles=shown)
        return
    for columns in range(min(len(shown), _MOST_COLUMNS), 0, -1):
        where: dict[str, Any] = {"loc": "outside upper left", **_KEY, "borderaxespad": 0.3}
        legend = parent.legend(handles=_by_rows(shown, columns), ncols=columns, **where)
        if legend.get_window_extent().width <= 0.94 * parent.bbox.width or columns == 1:
            return
        legend.remove()


def caption(ax: Axes, text: str) -> None:
    """Write a remark inside the axes' upper right corner; an empty one is none."""
    if text:
        place: dict[str, Any] = {"xycoords": "axes fraction", "ha": "right", "va": "top"}
        ax.annotate(text, (1, 1), color=INK, fontsize=7, **place)


def band(ax: Axes, x: ArrayLike, low: ArrayLike, high: ArrayLike, color: str, alpha: float) -> None:
    """Shade between two curves, with no edge, below the lines."""
    face = tint(color, 0.4)
    ax.fill_between(x, low, high, facecolor=face, alpha=alpha, linewidth=0, zorder=1.5)


def shaded(ax: Axes, shade: tuple[float, float] | None) -> None:
    """Shade a range of thresholds that matter, such as those that a guideline discusses."""
    if shade is not None:
        ax.axvspan(*shade, facecolor="0.9", edgecolor="none", zorder=0.5)


# --- Files ------------------------------------------------------------------------------------


def _figure(target: Any) -> Figure:
    if isinstance(target, Figure):
        return target
    first = target if isinstance(target, Axes) else np.ravel(np.asarray(target, dtype=object))[0]
    figure = first.get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure


def save(target: Any, path: str | PathLike[str], *, dpi: float = 150) -> Path:
    """Save the figure of some axes; in an SVG text stays text.

    Parameters
    ----------
    target
        A Figure, or what a plot function returned: Axes or an array of them.
    path
        Its ending says the format: .png, .svg, .pdf.
    dpi
        Dots per inch of a PNG.

    Returns
    -------
    Path
        Where the file lies. The same figure gives the same bytes.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Figure().subplots(), f"{folder}/empty.png").name
    'empty.png'
    """
    place = Path(path)
    figure = _figure(target)
    with settings(_FILES):
        dated = place.suffix.lower() in {".svg", ".pdf"}
        stamp: dict[str, Any] = {"CreationDate" if place.suffix.lower() == ".pdf" else "Date": None}
        figure.savefig(place, dpi=dpi, metadata=stamp if dated else None)
    return place


def svg(target: Any) -> str:
    """Return the figure of some axes as an SVG element, to stand inside an HTML page.

    Parameters
    ----------
    target
        A Figure, or what a plot function returned.

    Returns
    -------
    str
        From ``<svg`` to ``</svg>``: no XML declaration, no date.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> svg(Figure().subplots())[:4]
    '<svg'
    """
    with settings(_FILES):
        text = io.StringIO()
        _figure(target).savefig(text, format="svg", metadata={"Date": None})
    whole = text.getvalue()
    return whole[whole.index("<svg") :].strip()
