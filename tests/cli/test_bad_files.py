"""Bad files: each is told in at most three lines, with exit code 2, and nothing is left behind.

Every file is made here by code. A case is the file's name, its bytes, what the message must say,
and the options it is read with.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import QUICK, patients, run

ANYONE = 65534  # the user called nobody
FIT = ("--outcome", "died", "--threshold", "0.3", *QUICK)


def good(rows=40, **columns):
    return patients(rows).drop(columns="patient").assign(**columns)


def text(frame, **options):
    return frame.to_csv(index=False, **options).encode(options.pop("encoding", "utf-8"))


def with_cell(row, column, value):
    """Return good rows with one cell replaced, row 1 the first."""
    frame = good().astype(object)
    frame.loc[row - 1, column] = value
    return text(frame)


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.csv", content)
    return buffer.getvalue()


def parquet(frame):
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


@dataclass(frozen=True)
class Bad:
    what: str
    content: bytes
    said: str
    name: str = "bad.csv"
    options: tuple = ()


GOOD = text(good())
LINES = GOOD.decode().splitlines(keepends=True)
HEADER = LINES[0]
RNG = np.random.default_rng(0)

CASES = [
    # What the file is
    Bad("empty", b"", "is empty"),
    Bad("blank lines", b"\n\n\n", "is empty"),
    Bad("a byte order mark alone", b"\xef\xbb\xbf", "is empty"),
    Bad("header only", HEADER.encode(), "has column names but no rows"),
    Bad("one row", "".join(LINES[:2]).encode(), "in all rows"),
    Bad("no header", "".join(LINES[1:]).encode(), "put the names in the first line"),
    Bad("numbers alone", b"1,2,3\n4,5,6\n", "line 1: holds numbers"),
    Bad("random bytes", RNG.bytes(4000), "bad.csv"),
    Bad("zero bytes within", GOOD.replace(b"female", b"fem\0le", 1), "zero byte"),
    Bad("zero bytes late", GOOD * 60 + b"1,2,3,male\0,1\n", "zero byte"),
    Bad("a model file", b"\x89HDF\r\n\x1a\n" + bytes(500), "HDF5 or NetCDF"),
    Bad("an Excel workbook", zipped(sheet="x"), "Excel workbook", "bad.csv"),
    Bad("an old Excel workbook", b"\xd0\xcf\x11\xe0" + bytes(500), "old Excel workbook"),
    Bad("an SPSS file", b"$FL2@(#) SPSS DATA FILE", "an SPSS file"),
    Bad("a PDF", b"%PDF-1.7 ...", "a PDF"),
    Bad("Parquet named as CSV", parquet(good()), "rename it to end in .parquet"),
    Bad("CSV named as Parquet", GOOD, "is not a Parquet file", "bad.parquet"),
    Bad("gzip named as CSV", gzip.compress(GOOD), "rename it to end in .gz"),
    Bad("CSV named as gzip", GOOD, "is not compressed as .gz says", "bad.csv.gz"),
    # Damage
    Bad("gzip cut off", gzip.compress(GOOD)[:-30], "damaged or cut off", "bad.csv.gz"),
    Bad(
        "gzip with a wrong byte",
        (lambda b: b[:60] + b"\0\1\2\3" + b[64:])(gzip.compress(GOOD)),
        "damaged or cut off",
        "bad.csv.gz",
    ),
    Bad("bzip2 cut off", bz2.compress(GOOD)[:-30], "damaged or cut off", "bad.csv.bz2"),
    Bad("xz cut off", lzma.compress(GOOD)[:-30], "damaged or cut off", "bad.csv.xz"),
    Bad("zip cut off", zipped(a=GOOD)[:-30], "damaged or cut off", "bad.zip"),
    Bad("zip of two", zipped(a=GOOD, b=GOOD), "holds 2 files", "bad.zip"),
    Bad("Parquet cut off", parquet(good())[:-30], "cannot be read as Parquet", "bad.parquet"),
    Bad("UTF-16 cut off", GOOD.decode().encode("utf-16")[:-1], "the file is cut off; copy"),
    Bad("cut off within a row", GOOD[:-12], "a field is missing, or the file is cut off"),
    Bad(
        "not the encoding said",
        "é,died\n".encode("cp1252"),
        "is not utf-8 text",
        options=("--encoding", "utf-8"),
    ),
    Bad("bytes of no encoding", GOOD.replace(b"female", b"f\x81male", 1), "is not cp1252 text"),
    # Rows and fields
    Bad(
        "a row too long", GOOD + b"1,2,3,male,1,9\n", "line 42: has 6 fields where the header has 5"
    ),
    Bad("a row too short", GOOD + b"1,2,3,male\n", "line 42: has 4 fields where the header has 5"),
    Bad("a comma in a text", GOOD + b"1,2,3,male, old,1\n", "in quotation marks"),
    Bad("a quotation mark left open", GOOD + b'1,2,3,"male,1\n' + GOOD, "quotation mark"),
    Bad("a text after a quotation mark", GOOD + b'1,2,3,"male"x,1\n', "line 42"),
    Bad(
        "row names of R",
        "".join([HEADER] + [f"{i},{line}" for i, line in enumerate(LINES[1:])]).encode(),
        "5 column names, but rows have 6 fields",
    ),
    Bad("row names of pandas", good().to_csv().encode(), "has no name for column 1"),
    Bad("a delimiter at each line's end", GOOD.replace(b"\n", b",\n"), "has no name for column 6"),
    Bad("one column", b"died\n0\n1\n", "has one column, 'died'"),
    Bad("another delimiter", GOOD.replace(b",", b"^"), "has one column"),
    # Column names
    Bad(
        "two columns of one name", GOOD.replace(b"nodes", b"age", 1), "several columns named 'age'"
    ),
    Bad("a blank column name", GOOD.replace(b"nodes", b" ", 1), "has no name for column 2"),
    Bad("the outcome spelled otherwise", GOOD.replace(b"died", b"Died", 1), "did you mean 'Died'"),
    # Cells
    Bad(
        "a text in a number column",
        with_cell(3, "age", "sixty"),
        "row 3 (line 4), column 'age': 'sixty' is not a number",
    ),
    Bad("a formula", with_cell(5, "age", "=cmd()|' /C calc'!A0"), "a spreadsheet's formula"),
    Bad("a date in a number column", with_cell(5, "age", "2020-05-01"), "but a date"),
    Bad(
        "a column of dates", text(good(seen="2020-05-01")), "column 'seen': '2020-05-01' is a date"
    ),
    Bad("a column of German dates", text(good(seen="1.5.2020")), "is a date"),
    Bad("thousands separators", with_cell(2, "age", "1,234"), "decimal commas"),
    Bad("thousands and decimals", with_cell(2, "age", "1,234.5"), "without thousands separators"),
    Bad(
        "decimal commas among points",
        text(good(), sep=";") + b"60,5;1;2;male;1\n",
        "'60,5' is not a number",
    ),
    Bad("underscores in numbers", with_cell(2, "nodes", "1_000"), "'1_000' is not a number"),
    Bad("an emoji for a number", with_cell(2, "age", "😀"), "'😀' is not a number"),
    Bad("a very long cell", with_cell(2, "age", "x" * 50_000), "xxx…' is not a number"),
    Bad(
        "a line break in a number column",
        with_cell(2, "age", "6\n0"),
        "row 2 (line 4), column 'age'",
    ),
    *(
        Bad(f"infinite: {word}", with_cell(4, "age", word), "row 4 (line 5), column 'age'")
        for word in ("inf", "Inf", "-inf", "INFINITY", "+Infinity", "1e999")
    ),
    *(
        Bad(
            f"missing: {word!r}",
            with_cell(4, "age", word),
            "misses values in some of its 40 rows: age 1",
        )
        for word in ("", "NA", "NaN", "nan", "null", "N/A", "#N/A", ".")
    ),
    Bad("1e308", with_cell(4, "age", "1e308"), "too large to compute with"),
    Bad("an empty column", text(good(empty="")), "column 'empty' is empty in all 40 rows"),
    Bad("a constant column", text(good(site=3)), "column 'site' is '3' in all rows"),
    Bad("a constant text", text(good(site="Ulm")), "column 'site' is 'Ulm' in all rows"),
    Bad(
        "names",
        text(patients(80)),
        "column 'patient' holds too many different texts for categories, as 'P0000', 'P0001'",
    ),
    Bad(
        "too many categories",
        text(patients(1100)),
        "too many for categories",
        options=("--categorical", "patient"),
    ),
    # The outcome
    Bad("one class", text(good(died=0)), "the outcome 'died' is '0' in all rows"),
    Bad("three classes", text(good(died=np.arange(40) % 3)), "has 3 different values"),
    Bad("many classes", text(good(200, died=np.arange(200) / 7)), "has 200 different values"),
    Bad(
        "labels without an event", text(good(died=["dead", "alive"] * 20)), "say which is the event"
    ),
    Bad("an empty outcome", text(good(died="")), "the outcome 'died' is empty"),
    Bad("an outcome that is missing", with_cell(3, "died", ""), "died 1"),
    Bad("one event", text(good(died=[1] + [0] * 39)), "", options=("--discount", "cv")),
    Bad("the outcome twice", text(good(copy=good()["died"])), "equals the outcome 'died'"),
    Bad("its complement", text(good(alive=1 - good()["died"])), "equals the outcome 'died'"),
    Bad(
        "a column that gives it away",
        text(good(last=good()["died"] * 10 + np.arange(40) / 10)),
        "separates without an error",
    ),
    Bad(
        "a category that gives it away",
        text(good(ward=np.where(good()["died"] == 1, "morgue", np.tile(["A", "B"], 20)))),
        "separates without an error",
    ),
    Bad(
        "a column known of the dead alone",
        text(good(cause=np.where(good()["died"] == 1, np.tile(["A", "B"], 20), ""))),
        "has values only in rows with the event",
        options=("--missing", "impute"),
    ),
    Bad(
        "a formula's dot",
        GOOD,
        "'.', which stands for no columns here",
        options=("--formula", "died ~ ."),
    ),
    Bad(
        "no column beside the outcome",
        text(good()[["died", "age"]]),
        "leaves no column",
        options=("--drop", "age"),
    ),
    # Other roles
    Bad(
        "a negative weight",
        with_cell(9, "age", "-1"),
        "row 9 (line 10), column 'age': -1 is not a weight",
        options=("--weights", "age"),
    ),
    Bad(
        "a missing weight", with_cell(9, "age", ""), "misses 1 values", options=("--weights", "age")
    ),
    Bad(
        "a logarithm of 0",
        text(good(zero=np.arange(40))),
        "'log(zero)' is -inf",
        options=("--formula", "age + log(zero)"),
    ),
    Bad("a formula of another table", GOOD, "has no column 'size'", options=("--formula", "size")),
    Bad("nested Parquet", parquet(good(tags=[[1, 2]] * 40)), "lists or records", "bad.parquet"),
    Bad(
        "dates in Parquet",
        parquet(good(seen=pd.Timestamp("2020-05-01"))),
        "is a date",
        "bad.parquet",
    ),
]


def check(done, said, folder, left):
    assert done.code == 2, done.err or done.out
    assert done.err.startswith("error: ")
    assert said in done.err
    assert len(done.err.splitlines()) <= 3
    assert "Traceback" not in done.err
    assert sorted(path.name for path in folder.iterdir()) == sorted(left)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_a_bad_table_is_told_and_nothing_is_left(case, tmp_path):
    path = tmp_path / case.name
    path.write_bytes(case.content)
    out = tmp_path / "model.nc"
    done = run("fit", path, *FIT, *case.options, "--out", out)
    check(done, case.said, tmp_path, [case.name])
    assert path.read_bytes() == case.content


def test_there_are_enough_of_them():
    assert len({case.what for case in CASES}) == len(CASES) >= 40


def test_no_file(tmp_path):
    done = run("fit", tmp_path / "none.csv", *FIT, "--out", tmp_path / "m.nc")
    check(done, "there is no file", tmp_path, [])


def test_a_folder(tmp_path):
    done = run("fit", tmp_path, *FIT, "--out", tmp_path / "m.nc")
    check(done, "is a folder", tmp_path, [])


@pytest.fixture
def as_anyone():
    """A folder of a user who is not root, to whom no file is closed; the test runs as that user."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "p.csv").write_bytes(GOOD)
        run("fit", folder / "p.csv", *FIT, "--out", folder / "m.nc")  # imports what root may read
        (folder / "m.nc").unlink()
        was_root = os.geteuid() == 0
        if was_root:
            for path in (folder / "p.csv", folder):
                os.chown(path, ANYONE, ANYONE)
            os.setresuid(ANYONE, ANYONE, 0)
        try:
            yield folder
        finally:
            if was_root:
                os.setresuid(0, 0, 0)
            folder.chmod(0o700)


@pytest.mark.skipif(not hasattr(os, "setresuid"), reason="only Linux lets root be another")
def test_no_permission(as_anyone):
    table, out = as_anyone / "p.csv", as_anyone / "m.nc"
    table.chmod(0)
    check(run("fit", table, *FIT, "--out", out), "check its permissions", as_anyone, ["p.csv"])
    table.chmod(0o600)
    as_anyone.chmod(stat.S_IRUSR | stat.S_IXUSR)
    check(run("fit", table, *FIT, "--out", out), "write-protected", as_anyone, ["p.csv"])


@pytest.mark.parametrize("command", ["predict", "evaluate"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (RNG.bytes(4000), "is not a tailoredbayes model"),
        (b"", "is empty"),
        (b"\x89HDF\r\n\x1a\n" + RNG.bytes(4000), "not a tailoredbayes model"),
        (GOOD, "is not a tailoredbayes model"),
        (None, "is damaged"),
    ],
    ids=["random bytes", "empty", "like HDF5", "a table", "cut off"],
)
def test_a_bad_model_file(command, content, said, trained, tmp_path):
    model = tmp_path / "model.nc"
    whole = (trained / "model.nc").read_bytes()
    model.write_bytes(whole[:-1000] + whole[-500:] if content is None else content)
    out = tmp_path / "out.csv"
    done = run(command, model, trained / "test.csv", "--out", out)
    check(done, said, tmp_path, ["model.nc"])


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_bad_tables_for_a_model(command, trained, tmp_path):
    unreadable = [case for case in CASES[:40] if case.what not in ("one row", "no header")]
    for case in unreadable:
        path = tmp_path / case.name
        path.write_bytes(case.content)
        options = [] if command == "evaluate" else ["--id", "died"]
        model, out = trained / "model.nc", tmp_path / "out.csv"
        done = run(command, model, path, *options, *case.options, "--out", out)
        check(done, case.said, tmp_path, [case.name])
        path.unlink()


def test_an_old_file_survives_a_failure(trained, tmp_path):
    (tmp_path / "risks.csv").write_text("precious")
    rows = patients(3000, seed=1).astype(object)
    rows.loc[2999, "age"] = "old"
    rows.to_csv(tmp_path / "t.csv", index=False)
    done = run("predict", trained / "model.nc", tmp_path / "t.csv", "--out", tmp_path / "risks.csv")
    check(done, "row 3000 (line 3001), column 'age': 'old'", tmp_path, ["risks.csv", "t.csv"])
    assert (tmp_path / "risks.csv").read_text() == "precious"


def test_an_unexpected_error_is_told_as_one(trained, monkeypatch):
    def broken(path):
        raise RuntimeError("sprocket")

    monkeypatch.setattr("tailoredbayes.cli.saved.load_model", broken)
    done = run("predict", trained / "model.nc", trained / "test.csv")
    assert (done.code, len(done.err.splitlines())) == (1, 2)
    assert "unexpected RuntimeError: sprocket" in done.err
    shown = run("predict", trained / "model.nc", trained / "test.csv", "--debug")
    assert shown.code == 1
    assert "Traceback" in shown.err


def test_an_interrupt_is_told_and_leaves_nothing(trained, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tailoredbayes.predictive.risk_summary", interrupted)
    out = tmp_path / "risks.csv"
    done = run("predict", trained / "model.nc", trained / "test.csv", "--out", out)
    assert (done.code, done.err) == (1, "error: stopped; nothing was written\n")
    assert list(tmp_path.iterdir()) == []
