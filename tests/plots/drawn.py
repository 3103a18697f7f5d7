"""What a picture shows: the data of its artists."""

import numpy as np

__all__ = ["bars", "bins", "lines", "segments", "shades"]


def lines(ax):
    """The labelled lines of some axes: {label: (x, y)}."""
    return {
        line.get_label(): tuple(np.asarray(d, dtype=float) for d in line.get_data())
        for line in ax.get_lines()
        if not line.get_label().startswith("_")
    }


def bars(ax):
    """The labelled error bars of some axes: {label: (x, y, low, high)}."""
    found = {}
    for container in ax.containers:
        line, _, (ends,) = container.lines
        x, y = line.get_data()
        low, high = np.array([segment[:, 1] for segment in ends.get_segments()]).T
        found[container.get_label()] = tuple(np.asarray(d, float) for d in (x, y, low, high))
    return found


def shades(ax):
    """Lower and upper edges of each shaded band, at its x: [(x, low, high)]."""
    found = []
    for band in ax.collections:
        if type(band).__name__ == "FillBetweenPolyCollection":
            corners = band.get_paths()[0].vertices
            n = (len(corners) - 3) // 2
            low, high = corners[1 : n + 1], corners[n + 2 : -1][::-1]
            found.append((low[:, 0], low[:, 1], high[:, 1]))
    return found


def segments(collection):
    """The ends of the segments of a collection of lines, (segments, 2, 2)."""
    return np.array(collection.get_segments())


def bins(ax):
    """The labelled step patches of some axes: {label: (edges, values)}."""
    return {
        patch.get_label(): (patch.get_data().edges, patch.get_data().values)
        for patch in ax.patches
        if type(patch).__name__ == "StepPatch"
    }
