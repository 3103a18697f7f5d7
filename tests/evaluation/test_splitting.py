"""Which rows did what: every row has one place, whatever the design."""

import numpy as np
import pytest

import tailoredbayes as tb

pytestmark = pytest.mark.filterwarnings("ignore::tailoredbayes.TailoringWarning")
RNG = np.random.default_rng(0)
X = RNG.random((200, 2))
Y = RNG.random(200) < X[:, 1]


def fitted(reference_risk=None, **settings):
    model = tb.TailoredLogisticRegression(0.3, draws=50, random_state=0, **settings)
    return model.fit(X, Y, reference_risk=reference_risk)


def parts(found):
    frame = found.to_frame()
    return dict(zip(frame["part"], frame["rows"], strict=True))


def test_design_and_development_make_up_the_training_rows():
    model = fitted(design=0.3, discount_grid=[0, 5], cv=4, cv_repeats=2)
    found = parts(tb.data_splitting(model, n_test=50))
    development = int((model.weights_ > 0).sum())
    assert found == {
        "all rows": 250,
        "train": 200,
        "test": 50,
        "design": 200 - development,
        "development": development,
    }
    uses = tb.data_splitting(model).to_frame().set_index("part")["use"]
    assert "2 x 4-fold cross-validation" in uses["development"]


@pytest.mark.parametrize(
    ("settings", "use"),
    [
        ({"discount": 5}, "by cross-fitting (stage 1); posterior at the given discount 5"),
        ({"discount": 5, "reference_risk": X[:, 1]}, "reference risk from outside"),
        ({"discount": 0}, "posterior"),
    ],
)
def test_without_a_design_part_all_training_rows_are_one_part(settings, use):
    (part,) = tb.data_splitting(fitted(**settings)).parts
    assert (part.name, part.rows, part.within) == ("train", 200, None)
    assert use in part.use


def test_each_part_fits_into_the_one_it_was_taken_from():
    frame = tb.data_splitting(fitted(design="split", discount=5), n_test=40).to_frame()
    rows = frame.set_index("part")["rows"]
    for within, inner in frame.groupby("within")["rows"]:
        assert inner.sum() == rows[within]


def test_a_family_is_sent_to_its_models():
    with pytest.raises(TypeError, match="of a family pass one of its models"):
        tb.data_splitting(tb.TailoredFamily())
    with pytest.raises(ValueError, match="n_test"):
        tb.data_splitting(fitted(discount=0), n_test=-1)


def test_a_cohort_of_its_own_is_not_split_off():
    record = tb.data_splitting(fitted(discount=5), n_test=80, external=True)
    assert parts(record) == {"train": 200, "test": 80}
    assert [part.within for part in record.parts] == [None, None]
    ax = tb.plots.data_splitting(record)
    train, test = ax.patches
    assert train.get_x() + train.get_width() < test.get_x()
    assert test.get_x() + test.get_width() == pytest.approx(ax.get_xlim()[1])
