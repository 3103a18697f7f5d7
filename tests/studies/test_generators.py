"""The simulations: closed forms against independent quadrature, Monte Carlo and hand values."""

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad, quad
from scipy.special import expit
from scipy.stats import norm

from tailoredbayes.predictive import mean_risk
from tailoredbayes.studies.generators import (
    SIMULATIONS,
    Simulation,
    Simulation1,
    Simulation2,
    Simulation3,
)

EXACT = 1e-8  # what the closed forms promise
LARGEST_Z = 4.5  # a fair Monte Carlo comparison fails once in 150,000
ROWS = 1_000_000
SETTINGS = [
    Simulation1(0.1),
    Simulation1(0.5),
    Simulation1(1),
    Simulation1(4.0),
    Simulation2(0.1),
    Simulation2(0.3),
    Simulation2(0.5),
    Simulation3(0.2),
]
THRESHOLDS = np.array([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])
# (intercept, slope 1, slope 2): slanted either way, nearly along an axis or the truth, flat.
RULES = np.array(
    [
        [0.1, -1.0, 1.0],
        [-1.2, 2.0, 3.0],
        [-0.4, 2.0, 2.9],
        [0.3, -1.5, -0.5],
        [-2.0, 4.0, 0.01],
        [-0.9, 0.0, 2.0],
        [0.8, -2.0, 0.0],
        [0.0, 0.0, 0.0],
        [5.0, 0.1, 0.1],
        [-9.0, 0.1, 0.1],
    ]
)
every = pytest.mark.parametrize("simulation", SETTINGS, ids=repr)
kinds = pytest.mark.parametrize("simulation", [Simulation1(0.5), Simulation2(0.3), Simulation3()])
coefficients = st.floats(-30, 30)


def gain_density(simulation, x1, x2, t):
    """(theta - t) f at one point, from scipy's densities."""
    if isinstance(simulation, Simulation1):
        return simulation.q * x2 / (x1 + simulation.q * x2) - t
    if isinstance(simulation, Simulation3):
        return (1 / (1 + math.exp(-2 * x1 - 3 * x2)) - t) * density(x1) * density(x2)
    root, pi = math.sqrt(2), simulation.prevalence
    f1 = density(x1 - 1) * density(x2 / root) / root
    f0 = density(x1 / root) / root * density(x2 - 1)
    return (1 - t) * pi * f1 - t * (1 - pi) * f0


def density(z):
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def net_benefit_by_quadrature(simulation, t, lower, upper, kinks=()):
    """NB of treating where lower(x1) <= x2 <= upper(x1), which bend at the kinks."""
    low, high = (0.0, 1.0) if isinstance(simulation, Simulation1) else (-9.5, 9.5)
    edges = sorted({low, high, *(k for k in kinks if low < k < high)})

    def inside(f):
        return lambda x1: min(max(f(x1), low), high)

    total = sum(
        dblquad(
            lambda x2, x1: gain_density(simulation, x1, x2, t),
            a,
            b,
            inside(lower),
            inside(upper),
            epsabs=1e-10,
            epsrel=1e-10,
        )[0]
        for a, b in itertools.pairwise(edges)
    )
    return total / (1 - t)


# --- Against independent quadrature ------------------------------------------------------------


@pytest.mark.parametrize(
    "simulation", [Simulation1(0.1), Simulation1(1), Simulation2(0.3), Simulation3()], ids=repr
)
@pytest.mark.parametrize("rule", [[0.1, -1.0, 1.0], [-0.4, 2.0, 2.9], [0.3, -1.5, -0.5]])
def test_linear_rules_against_quadrature(simulation, rule):
    t = 0.3
    a, b1, b2 = rule
    cut = math.log(t / (1 - t))

    def line(x1):
        return (cut - a - b1 * x1) / b2

    low, high = (0, 1) if isinstance(simulation, Simulation1) else (-9.5, 9.5)
    kinks = [(cut - a - b2 * x2) / b1 for x2 in (low, high)]
    above, below = (line, lambda x1: 99.0), (lambda x1: -99.0, line)
    expected = net_benefit_by_quadrature(simulation, t, *(above if b2 > 0 else below), kinks)
    assert simulation.linear_net_benefit(a, [b1, b2], t) == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize("q", [0.01, 0.1, 1.0, 4.0])
@pytest.mark.parametrize("t", THRESHOLDS)
def test_oracle_of_simulation_1_against_quadrature(q, t):
    # E[(theta - t)+] is the integral of P(theta >= s) over s > t, and that is a triangle's area.
    def treated(s):
        slope = s / (1 - s) / q
        return 1 - slope / 2 if slope <= 1 else 1 / (2 * slope)

    diagonal = q / (1 + q)
    expected = quad(treated, t, 1, points=[diagonal], epsabs=1e-12)[0] / (1 - t)
    assert Simulation1(q).oracle_net_benefit(float(t)) == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize(("pi", "t"), [(0.3, 0.1), (0.3, 0.3), (0.3, 0.31), (0.1, 0.5), (0.5, 0.3)])
def test_oracle_of_simulation_2_against_quadrature(pi, t):
    c = math.log(t / (1 - t) / (pi / (1 - pi)))

    def root(x1):
        return math.sqrt(max(0.0, (x1 - 2) ** 2 + 4 * c))

    reach = 2 * math.sqrt(max(0.0, -c))
    kinks = [2 - reach, 2.0, 2 + reach]
    simulation = Simulation2(pi)
    expected = net_benefit_by_quadrature(
        simulation, t, lambda x1: -99.0, lambda x1: 2 - root(x1), kinks
    ) + net_benefit_by_quadrature(simulation, t, lambda x1: 2 + root(x1), lambda x1: 99.0, kinks)
    assert simulation.oracle_net_benefit(t) == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize("t", THRESHOLDS)
def test_oracle_of_simulation_3_against_quadrature(t):
    size = math.sqrt(13)
    start = math.log(t / (1 - t)) / size
    value = quad(lambda v: (expit(size * v) - t) * norm.pdf(v), start, 12, epsabs=1e-12)[0]
    assert Simulation3().oracle_net_benefit(float(t)) == pytest.approx(value / (1 - t), abs=EXACT)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-6, 1e-4, 1e-2, 0.1, math.pi])
@pytest.mark.parametrize("intercept", [0.0, 1.7])
def test_rules_of_simulation_3_near_the_truth(angle, intercept):
    # The integral the other way: along the rule's own direction u, where the rule is a step and
    # E[theta | u] a logistic-normal mean, smooth for small angles.
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    slopes = turn @ [2.0, 3.0]
    t, size = 0.7, math.sqrt(13)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    spread = size * abs(math.sin(angle))

    def gain(u):
        risk = expit(size * math.cos(angle) * u + spread * nodes) @ weights / weights.sum()
        return (risk - t) * density(u)

    start = (math.log(t / (1 - t)) - intercept) / size
    expected = quad(gain, start, 10, epsabs=1e-12, limit=200)[0] / (1 - t)
    value = Simulation3().linear_net_benefit(intercept, slopes, t)
    assert value == pytest.approx(expected, abs=EXACT)


# --- Against Monte Carlo -----------------------------------------------------------------------


def assert_agrees(per_row, expected):
    se = np.std(per_row) / math.sqrt(len(per_row))
    assert abs(np.mean(per_row) - expected) <= LARGEST_Z * se + 1e-15


@every
def test_monte_carlo(simulation):
    X, y = simulation.sample_test(ROWS, np.random.default_rng(20210607))
    assert X.shape == (ROWS, 2)
    assert set(np.unique(y)) == {0, 1}
    assert_agrees(y, simulation.prevalence)
    risk = simulation.risk(X)
    assert_agrees(risk, simulation.prevalence)
    for group in range(10):  # outcomes follow the risk
        here = (risk >= group / 10) & (risk < (group + 1) / 10)
        if here.sum() > 100:
            assert_agrees((y - risk)[here], 0.0)
    for t in (0.1, 0.5, 0.7):
        gain = y - (1 - y) * t / (1 - t)
        assert_agrees(gain * (risk >= t), simulation.oracle_net_benefit(t))
        values = simulation.linear_net_benefit(RULES[:, 0], RULES[:, 1:], t)
        for (a, *b), value in zip(RULES, values, strict=True):
            assert_agrees(gain * (a + X @ b >= math.log(t / (1 - t))), value)


# --- Identities and limits ---------------------------------------------------------------------


@every
@settings(max_examples=60)
@given(a=coefficients, b1=coefficients, b2=coefficients, t=st.floats(0.001, 0.999))
def test_the_oracle_is_at_least_as_good_as_any_linear_rule(simulation, a, b1, b2, t):
    oracle = simulation.oracle_net_benefit(t)
    linear = simulation.linear_net_benefit(a, [b1, b2], t)
    assert linear <= oracle + 1e-12 / (1 - t)
    assert 0 <= oracle <= simulation.prevalence + 1e-12
    assert linear >= (simulation.prevalence - 1) * t / (1 - t) - 1e-12


@every
@settings(max_examples=60)
@given(a=coefficients, b1=coefficients, b2=coefficients, t=st.floats(0.01, 0.99))
def test_a_rule_and_its_complement_share_out_treating_all(simulation, a, b1, b2, t):
    cut = math.log(t / (1 - t))
    parts = [
        simulation.linear_net_benefit(sign * (a - cut) + cut, [sign * b1, sign * b2], t)
        for sign in (1, -1)
    ]
    if max(abs(a - cut), abs(b1), abs(b2)) > 1e-6:  # otherwise ties, treated by both
        everyone = simulation.linear_net_benefit(50.0, [0.0, 0.0], t)
        assert sum(parts) == pytest.approx(everyone, abs=1e-9)


@every
@settings(max_examples=60)
@given(a=coefficients, b1=coefficients, b2=coefficients, power=st.integers(-200, 290))
def test_only_the_half_plane_matters_not_its_scale(simulation, a, b1, b2, power):
    # At t = 0.5 the cut is 0, so scaling all three coefficients changes nothing.
    scaled = np.array([a, b1, b2]) * 10.0**power
    value = simulation.linear_net_benefit(float(scaled[0]), scaled[1:], 0.5)
    expected = simulation.linear_net_benefit(a, [b1, b2], 0.5)
    tiny = max(abs(a), abs(b1), abs(b2)) < 1e-100  # scaled into the subnormal numbers
    assert tiny or value == pytest.approx(expected, abs=1e-9)


@every
@pytest.mark.parametrize("t", [0.1, 0.5, 0.9])
def test_constant_rules_treat_all_or_none(simulation, t):
    pi = simulation.prevalence
    everyone = pi - (1 - pi) * t / (1 - t)
    cut = math.log(t / (1 - t))
    for intercept in (cut + 1e-9, cut + 3, 1e300):
        value = simulation.linear_net_benefit(intercept, [0, 0], t)
        assert value == pytest.approx(everyone, abs=EXACT)
    for intercept in (cut - 1e-9, cut - 3, -1e300):
        assert simulation.linear_net_benefit(intercept, [0, 0], t) == pytest.approx(0, abs=1e-12)
    tie = simulation.linear_net_benefit(0.0, [0, 0], 0.5)
    assert tie == pytest.approx(2 * pi - 1, abs=EXACT)


@every
def test_rules_change_smoothly_into_degenerate_ones(simulation):
    tilts = np.array([0.0, 1e-300, 1e-12, -1e-12, 1e-10, -1e-10])
    for slopes in (
        np.column_stack([np.full(6, 2.0), tilts]),
        np.column_stack([tilts, np.full(6, -2.0)]),
    ):
        values = simulation.linear_net_benefit(np.full(6, 0.4), slopes, 0.6)
        assert np.ptp(values) < 1e-9


@every
def test_many_rules_are_the_single_rules(simulation):
    rules = np.tile(RULES, (8, 1))  # more than one block
    values = simulation.linear_net_benefit(rules[:, 0], rules[:, 1:], 0.3)
    single = [simulation.linear_net_benefit(float(a), b, 0.3) for a, *b in rules]
    assert values == pytest.approx(single, abs=1e-13)
    assert isinstance(single[0], float)


@every
def test_the_risk_on_the_boundary_is_the_threshold(simulation):
    x1 = np.linspace(0.01, 0.99, 50)
    for t in THRESHOLDS:
        for x2 in simulation.boundary(t, x1):
            on = ~np.isnan(x2)
            if isinstance(simulation, Simulation1):
                on &= x2 <= 1
            if on.any():
                points = np.column_stack([x1, x2])[on]
                assert simulation.risk(points) == pytest.approx(np.full(on.sum(), t))


@every
def test_the_oracle_takes_curves(simulation):
    curve = simulation.oracle_net_benefit(THRESHOLDS)
    assert curve.tolist() == [simulation.oracle_net_benefit(float(t)) for t in THRESHOLDS]
    assert (np.diff(curve) < 0).all()


# --- By hand -----------------------------------------------------------------------------------


def test_simulation_1_on_its_diagonal():
    # q = 1, t = 0.5: treat above the diagonal. NB = 2 E[theta; x2 > x1] - 1/2, and
    # E[theta; x2 > x1] = 1/2 (integral of 1 / (x + 1) over the top side) = log(2) / 2.
    simulation = Simulation1(1)
    expected = math.log(2) - 0.5
    assert simulation.boundary(0.5, [0.1, 0.7]).tolist() == [[0.1, 0.7]]
    assert simulation.oracle_net_benefit(0.5) == pytest.approx(expected, abs=1e-15)
    assert simulation.linear_net_benefit(0.0, [-7, 7], 0.5) == pytest.approx(expected, abs=1e-15)
    assert simulation.prevalence == 0.5


def test_linear_rules_reach_the_oracle_of_simulation_1_at_every_threshold():
    for q in (0.1, 0.5, 1.0):
        simulation = Simulation1(q)
        for t in THRESHOLDS:
            rule = math.log(t / (1 - t)), [-t / (1 - t), q]
            best = simulation.linear_net_benefit(*rule, t)
            assert best == pytest.approx(simulation.oracle_net_benefit(float(t)), abs=1e-14)


def test_prevalences_are_the_papers():
    values = [Simulation1(q).prevalence for q in (0.1, 0.5, 1)]
    assert values == pytest.approx([0.15, 0.36, 0.50], abs=0.01)


def test_the_oracle_of_simulation_2_is_symmetric():
    # Exchanging x1 with x2, y with 1 - y, pi with 1 - pi and t with 1 - t changes nothing, so
    # (1 - t) NB(t; pi) + t - pi is the gain of the untreated: t NB(1 - t; 1 - pi).
    for pi, t in [(0.5, 0.3), (0.1, 0.4), (0.3, 0.3), (0.3, 0.9)]:
        treated = (1 - t) * Simulation2(pi).oracle_net_benefit(t)
        untreated = t * Simulation2(1 - pi).oracle_net_benefit(1 - t)
        assert treated - untreated == pytest.approx(pi - t, abs=1e-12)


def test_branches_of_simulation_2():
    lower, upper = Simulation2(0.5).boundary(0.3, [2.0, 0.0])
    assert np.isnan([lower[0], upper[0]]).all()  # between the branches
    assert lower[1] + upper[1] == pytest.approx(4)


# --- Contamination -----------------------------------------------------------------------------


@pytest.mark.parametrize("psi", [0.0, 0.05, 0.1, 0.15, 0.2, 0.3])
def test_contaminated_rows_are_a_fraction_of_the_rows(psi):
    clean_X, clean_y = Simulation3(0).sample(1000, np.random.default_rng(4))
    X, y = Simulation3(psi).sample(1000, np.random.default_rng(4))
    replaced = (clean_X != X).any(axis=1)
    assert replaced.sum() == round(psi * 1000)
    assert (y[replaced] == 0).all()
    assert (y[~replaced] == clean_y[~replaced]).all()


def test_contaminated_covariates_lie_around_their_centre():
    size = 200_000
    clean, _ = Simulation3(0).sample(size, np.random.default_rng(5))
    for variance in (0.5, 0.25):
        simulation = Simulation3(0.5, contamination_variance=variance)
        X, _ = simulation.sample(size, np.random.default_rng(5))
        outliers = X[(clean != X).any(axis=1)]
        for column in outliers.T:
            assert_agrees(column, 1.5)
            assert_agrees((column - 1.5) ** 2, variance)
        assert_agrees((outliers - 1.5).prod(axis=1), 0.0)


def test_test_rows_and_the_mathematics_are_never_contaminated():
    simulation, clean = Simulation3(0.3), Simulation3(0)
    for dirty, pure in zip(
        simulation.sample_test(50, np.random.default_rng(6)),
        clean.sample(50, np.random.default_rng(6)),
        strict=True,
    ):
        assert (dirty == pure).all()
    assert simulation.oracle_net_benefit(0.3) == clean.oracle_net_benefit(0.3)
    assert simulation.prevalence == clean.prevalence


@every
def test_same_seed_same_rows(simulation):
    first, second = (simulation.sample(20, np.random.default_rng(7)) for _ in range(2))
    assert (first[0] == second[0]).all()
    assert (first[1] == second[1]).all()


# --- Risk functions of any shape ---------------------------------------------------------------


@every
def test_a_surface_finds_linear_rules(simulation):
    for a, *b in RULES:
        found = simulation.surface_net_benefit(lambda X, a=a, b=b: expit(a + X @ b), 0.3)
        expected = simulation.linear_net_benefit(float(a), b, 0.3)
        assert found.net_benefit == pytest.approx(expected, abs=1e-6)
        assert found.error < 1e-6


@every
def test_a_surface_finds_the_oracle(simulation):
    for t in (0.1, 0.5, 0.9):
        found = simulation.surface_net_benefit(simulation.risk, t)
        assert found.net_benefit == pytest.approx(simulation.oracle_net_benefit(t), abs=1e-6)
        assert found.error < 1e-6


@kinds
def test_a_surface_of_posterior_mean_risk_against_monte_carlo(simulation):
    rng = np.random.default_rng(8)
    draws = np.array([-0.5, -1.0, 2.0]) + rng.normal(size=(40, 3))
    t = 0.3

    def risk(X):
        return mean_risk(X, draws)

    found = simulation.surface_net_benefit(risk, t)
    assert found.error < 1e-6
    X, y = simulation.sample_test(200_000, rng)
    assert_agrees((y - (1 - y) * t / (1 - t)) * (risk(X) >= t), found.net_benefit)


@kinds
def test_a_surface_need_not_be_monotone_or_connected(simulation):
    def risk(X):
        rings = np.cos(4 * np.hypot(X[:, 0] - 0.3, X[:, 1] - 0.4)) > 0
        return np.where(rings, 0.8, 0.1)

    t = 0.6
    found = simulation.surface_net_benefit(risk, t)
    finer = simulation.surface_net_benefit(risk, t, cells=400)
    assert found.net_benefit == pytest.approx(finer.net_benefit, abs=1e-5)
    X, y = simulation.sample_test(200_000, np.random.default_rng(9))
    assert_agrees((y - (1 - y) * t / (1 - t)) * (risk(X) >= t), found.net_benefit)


@kinds
def test_a_surface_with_corners_states_its_error(simulation):
    def tree(X):
        return np.where((X[:, 0] > 0.3123) & (X[:, 1] < 0.7123) | (X[:, 0] < -0.555), 0.8, 0.1)

    found = simulation.surface_net_benefit(tree, 0.3)
    finer = simulation.surface_net_benefit(tree, 0.3, cells=1000)
    assert abs(found.net_benefit - finer.net_benefit) < 1e-4
    assert found.error < 5e-4


@kinds
def test_a_surface_that_treats_all_or_none(simulation):
    t = 0.3
    pi = simulation.prevalence
    everyone = simulation.surface_net_benefit(lambda X: np.full(len(X), t), t)  # a tie
    none = simulation.surface_net_benefit(lambda X: np.zeros(len(X)), t)
    assert everyone.net_benefit == pytest.approx(pi - (1 - pi) * t / (1 - t), abs=EXACT)
    assert none.net_benefit == none.error == 0


# --- The contract, and bad input ---------------------------------------------------------------


@pytest.mark.parametrize("name", SIMULATIONS)
def test_every_registered_simulation_keeps_the_contract(name):
    simulation = SIMULATIONS[name]()
    public = {member for member in vars(Simulation) if not member.startswith("_")}
    assert public <= set(dir(simulation))
    assert SIMULATIONS[name]() == simulation
    with pytest.raises(AttributeError):
        simulation.prevalence = 0.4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Simulation1(0), "q must be a finite number above 0, got 0"),
        (lambda: Simulation1("1"), "q must be a finite number above 0, got the text '1'"),
        (lambda: Simulation2(1), "prevalence must be a finite number above 0 and below 1, got 1"),
        (lambda: Simulation3(10), "contamination must be a finite number at least 0 and below 1"),
        (lambda: Simulation3(0.1, -1), "contamination_variance must be a finite number at least"),
    ],
)
def test_settings_outside_their_domain(call, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        call()


@kinds
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, rng: s.sample(0, rng), "n must be a finite number at least 1, got 0"),
        (lambda s, rng: s.sample(2.5, rng), "n must be a whole number, got 2.5"),
        (lambda s, rng: s.sample(10, 1), "rng must be a numpy.random.Generator, got int"),
        (lambda s, rng: s.sample_test(10, None), "rng must be a numpy.random.Generator, got No"),
        (lambda s, rng: s.risk([0.1, 0.2]), "X must be two-dimensional, got shape (2,)"),
        (lambda s, rng: s.risk([[0.1, 0.2, 0.3]]), "X must have two columns, x1 and x2, got"),
        (lambda s, rng: s.oracle_net_benefit(1.0), "threshold must lie strictly between 0 and 1"),
        (lambda s, rng: s.boundary(0.0, [0.5]), "threshold must lie strictly between 0 and 1"),
        (lambda s, rng: s.linear_net_benefit(0.0, [1, 2], 2), "threshold must lie strictly"),
        (lambda s, rng: s.linear_net_benefit(0.0, [1, 2, 3], 0.5), "slopes must have shape (2,)"),
        (lambda s, rng: s.linear_net_benefit([0.0], [1, 2], 0.5), "slopes must have shape (1, 2)"),
        (lambda s, rng: s.linear_net_benefit(np.nan, [1, 2], 0.5), "intercept must be finite"),
        (lambda s, rng: s.linear_net_benefit(0.0, [1, np.inf], 0.5), "slopes must be finite"),
        (lambda s, rng: s.surface_net_benefit(s.risk, 0), "threshold must lie strictly"),
        (lambda s, rng: s.surface_net_benefit(s.risk, 0.5, cells=2), "cells must be a finite num"),
        (
            lambda s, rng: s.surface_net_benefit(lambda X: X[:, 0] + 99, 0.5),
            "risk_function(X) must lie between 0 and 1",
        ),
        (
            lambda s, rng: s.surface_net_benefit(lambda X: np.ones(3), 0.5),
            "X and risk_function(X) must have the same length",
        ),
    ],
)
def test_bad_input_is_named(simulation, call, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        call(simulation, np.random.default_rng(0))


def test_risk_of_simulation_1_stays_in_the_square():
    with pytest.raises(ValueError, match=r"unit square, got 1\.5 at row 0"):
        Simulation1().risk([[0.5, 1.5]])
    assert Simulation1(3).risk([[0, 0], [0, 1], [1, 0]]).tolist() == [0.75, 1.0, 0.0]
