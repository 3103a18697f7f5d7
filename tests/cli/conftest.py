"""Data and a fitted model that the tests of the commands share."""

import pytest
from commands import QUICK, patients, run


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A folder with train.csv, test.csv and model.nc, fitted by the command at two thresholds."""
    folder = tmp_path_factory.mktemp("trained")
    patients(400).to_csv(folder / "train.csv", index=False)
    patients(250, seed=1).to_csv(folder / "test.csv", index=False)
    done = run(
        *("fit", folder / "train.csv", "--outcome", "died", "--threshold", "0.3"),
        *("--thresholds", "0.2,0.4", "--id", "patient", "--categorical", "grade"),
        *("--out", folder / "model.nc", *QUICK),
    )
    assert done.code == 0, done.err
    return folder
