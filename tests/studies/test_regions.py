"""Integrals over a rule's region: areas known by hand, whatever the boundary's direction."""

import numpy as np
import pytest

from tailoredbayes.studies.regions import integrate_region

SQUARE = ((-1.0, 1.0), (-2.0, 1.0))


def area(rule, cells=60):
    return integrate_region(rule, lambda x1, x2: x2 + 2.0, SQUARE, cells)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (lambda x: x[:, 0] > -2, 6.0),
        (lambda x: x[:, 0] > 2, 0.0),
        (lambda x: x[:, 0] <= 0.123, 3 * 1.123),
        (lambda x: x[:, 0] >= 0.123, 3 * 0.877),
        (lambda x: x[:, 1] >= 0.456, 2 * 0.544),
        (lambda x: x[:, 1] <= 0.456, 2 * 2.456),
        (lambda x: x[:, 0] + x[:, 1] >= 0, 2.0),
        (lambda x: (x**2).sum(axis=1) <= 0.64, 0.64 * np.pi),
        (lambda x: (x**2).sum(axis=1) >= 0.64, 6 - 0.64 * np.pi),
        (lambda x: (np.abs(x[:, 0]) - 0.5) ** 2 + x[:, 1] ** 2 <= 0.1, 0.2 * np.pi),
    ],
    ids=["all", "none", "left", "right", "above", "below", "slanted", "disc", "hole", "two discs"],
)
def test_areas_by_hand(rule, expected):
    assert area(rule) == pytest.approx(expected, abs=2e-5)


def test_the_error_of_a_smooth_boundary_falls_as_the_fourth_power():
    errors = [abs(area(lambda x: (x**2).sum(axis=1) <= 0.64, k) - 0.64 * np.pi) for k in (20, 80)]
    assert errors[1] < errors[0] / 100


def test_integrands_that_vary():
    # x1^2 x2 over the half-disc x1 >= 0 of radius 0.8, shifted up by 0.1: 0.1 * 0.8^4 pi / 8
    value = integrate_region(
        lambda x: (x[:, 0] >= 0) & (x[:, 0] ** 2 + (x[:, 1] - 0.1) ** 2 <= 0.64),
        lambda x1, x2: x1**2 * (x2**2 - 4) / 2,
        SQUARE,
        cells=120,
    )
    assert value == pytest.approx(0.1 * 0.8**4 * np.pi / 8, abs=2e-5)
