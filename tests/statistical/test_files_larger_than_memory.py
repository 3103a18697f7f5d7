"""A Parquet file larger than the memory the process may take: mode and Laplace draws all the same.

The limit is on the process's data (RLIMIT_DATA): heap and anonymous maps, what reading a file into
arrays would fill. A second process, so that the limit touches nothing else.
"""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

pytest.importorskip("pyarrow")
resource = pytest.importorskip("resource")

ROWS, FEATURES, GROUPS = 2_000_000, 20, 40
FREE = 192 * 2**20  # beyond what the interpreter and its libraries hold

FIT = """
    import json, resource, sys
    import numpy as np
    import tailoredbayes as tb
    # What a fit imports, before the limit.
    import arviz_stats.base, pyarrow.parquet, scipy.linalg, scipy.optimize
    tb.ParquetRows, tb.TailoredPosterior, tb.find_modes, tb.sample

    def held():
        with open("/proc/self/status") as lines:
            fields = dict(line.split(":", 1) for line in lines)
        return int(fields["VmData"].split()[0]) * 1024

    path, free, everything = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "everything"
    limit = held() + free
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    if everything:
        # An array of all the rows. (Arrow's own reader may hang, not fail, when refused memory.)
        np.ones((pyarrow.parquet.read_metadata(path).num_rows, 22))
    rows = tb.ParquetRows(path, outcome="y", weights="w")
    posterior = tb.TailoredPosterior(rows, threads=1)
    modes = tb.find_modes(posterior)
    drawn = tb.sample(posterior, "laplace", draws=1000, random_state=0, modes=modes)
    print(json.dumps({"mode": modes.theta[:, 0].tolist(), "mean": drawn.mean.tolist(),
                      "sd": drawn.sd.tolist(), "converged": bool(modes.converged[0])}))
"""


def fit(path, mode="blocks", free=FREE):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FIT), str(path), str(free), mode],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def file(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "rows.parquet"
    rng = np.random.default_rng(0)
    slopes = np.linspace(-0.5, 0.5, FEATURES)
    names = [f"x{j}" for j in range(FEATURES)]
    schema = pa.schema([(n, pa.float64()) for n in (*names, "y", "w")])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for _ in range(GROUPS):
            n = ROWS // GROUPS
            x = rng.standard_normal((n, FEATURES))
            y = (rng.random(n) < 1 / (1 + np.exp(-x @ slopes))).astype(float)
            columns = [*x.T.copy(), y, rng.random(n)]
            writer.write_table(pa.table(dict(zip(schema.names, columns, strict=True)), schema))
    yield path
    path.unlink()


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
def test_a_file_larger_than_memory_has_a_mode_and_draws(file):
    import json

    assert file.stat().st_size > 1.5 * FREE
    done = fit(file)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["converged"]
    # Half the weight of 2,000,000 rows: standard errors of some 0.003 about the truth.
    truth = np.append(0, np.linspace(-0.5, 0.5, FEATURES))
    sd = np.array(found["sd"])
    assert (sd < 0.004).all()
    # Weighted by chance: the errors' variance is E w^2 / (E w) = 4/3 of ESS_T's.
    assert (np.abs(np.array(found["mode"]) - truth) < 5 * sd).all()
    assert (np.abs(np.array(found["mean"]) - found["mode"]) < 5 * sd / np.sqrt(1000)).all()
    # And the limit is one: an array of all the rows does not fit.
    everything = fit(file, "everything")
    assert everything.returncode != 0
    assert "MemoryError" in everything.stderr
