"""Reading tables: whatever the file's form, the same cells; and where each of them stands."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailoredbayes.tables import TableError, open_table
from tailoredbayes.tables.columns import numbers, survey
from tailoredbayes.tables.output import SafeCells, whole_file

FRAME = pd.DataFrame(
    {
        "größe, cm": [170.5, 162.25, np.nan],
        "note": ['say "hi"', "two\nlines", "; and, more 😀"],
        "n": [1, 2, 3],
    }
)


def cells(path, **options):
    """Return all cells of a table as texts, column by column."""
    table = open_table(path, **options)
    found = {name: [] for name in table.columns}
    for chunk in table.chunks():
        for name, values in chunk.columns.items():
            found[name] += [str(value) for value in values]
    return found


EXPECTED = {
    "größe, cm": ["170.5", "162.25", ""],
    "note": ['say "hi"', "two\nlines", "; and, more 😀"],
    "n": ["1", "2", "3"],
}


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le"])
def test_delimiters_and_encodings_are_found_out(tmp_path, sep, encoding):
    FRAME.to_csv(tmp_path / "t.csv", index=False, sep=sep, encoding=encoding)
    assert cells(tmp_path / "t.csv") == EXPECTED


@pytest.mark.parametrize("sep", [";", "\t", "~"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_first_line_may_tell_the_delimiter_as_in_excel(tmp_path, sep, encoding):
    text = f"sep={sep}\r\n" + FRAME.to_csv(index=False, sep=sep, lineterminator="\r\n")
    (tmp_path / "t.csv").write_text(text, encoding=encoding, newline="")
    assert cells(tmp_path / "t.csv") == EXPECTED
    (chunk,) = open_table(tmp_path / "t.csv").chunks()
    assert list(chunk.lines) == [3, 5, 6]  # of the file, a text's own line break counted
    (tmp_path / "short.csv").write_text("sep=;\na;b\n1;2\n3\n")
    with pytest.raises(TableError, match="line 4: has 1 fields"):
        cells(tmp_path / "short.csv")


def test_windows_1252_is_read_and_said(tmp_path):
    FRAME.iloc[:2].to_csv(tmp_path / "t.csv", index=False, encoding="cp1252")
    table = open_table(tmp_path / "t.csv")
    assert table.columns[0] == "größe, cm"
    assert "not UTF-8; read as Windows-1252" in table.notes[0]
    assert open_table(tmp_path / "t.csv", encoding="latin-1").notes == []


def test_what_is_given_is_not_found_out(tmp_path):
    (tmp_path / "t.txt").write_text("a b\n1,5 2\n", encoding="ascii")
    table = open_table(tmp_path / "t.txt", delimiter="space", decimal=",", encoding="ascii")
    assert (table.columns, table.decimal) == (("a", "b"), ",")


def test_compressed_files(tmp_path):
    raw = FRAME.to_csv(index=False).encode()
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(raw))
    (tmp_path / "t.csv.bz2").write_bytes(bz2.compress(raw))
    (tmp_path / "t.csv.xz").write_bytes(lzma.compress(raw))
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("t.csv", raw)
    with pa.output_stream(str(tmp_path / "t.csv.zst"), compression="zstd") as stream:
        stream.write(raw)
    for path in tmp_path.iterdir():
        assert cells(path) == EXPECTED, path.name


def test_the_line_of_a_row_after_a_line_break_in_a_text(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n1,"x\ny"\n\n2,z\n', encoding="utf-8")
    table = open_table(tmp_path / "t.csv")
    (chunk,) = table.chunks()
    assert len(chunk) == 2
    assert table.place(chunk, 1, "b").endswith("t.csv, row 2 (line 5), column 'b'")


def test_chunks_hold_the_rows_once_and_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr("tailoredbayes.tables.chunks.CELLS_A_CHUNK", 250)
    pd.DataFrame({"a": range(1003), "b": range(1003)}).to_csv(tmp_path / "t.csv", index=False)
    pd.DataFrame({"a": range(1003), "b": range(1003)}).to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        table = open_table(tmp_path / name)
        chunks = list(table.chunks(["b"]))
        assert len(chunks) > 5
        assert [chunk.start for chunk in chunks] == list(np.cumsum([0, *map(len, chunks)])[:-1])
        assert [float(v) for chunk in chunks for v in chunk.columns["b"]] == list(range(1003))


def test_parquet_types_become_numbers_and_texts(tmp_path):
    from decimal import Decimal

    frame = pa.table(
        {
            "whole": pa.array([1, None, 3], pa.int16()),
            "exact": pa.array([Decimal("1.50"), None, Decimal("2.25")]),
            "yes": pa.array([True, None, False]),
            "level": pa.array(["a", None, "b"]).dictionary_encode(),
        }
    )
    import pyarrow.parquet as pq

    pq.write_table(frame, tmp_path / "t.parquet")
    assert cells(tmp_path / "t.parquet") == {
        "whole": ["1.0", "nan", "3.0"],
        "exact": ["1.5", "nan", "2.25"],
        "yes": ["True", "", "False"],
        "level": ["a", "", "b"],
    }


@pytest.mark.parametrize(
    ("text", "decimal"),
    [
        ("a;b\n1,5;2\n", ","),
        ("a;b\n1.5;2\n", "."),
        ("a;b\n1,5;2.5\n", "."),
        ("a;b\n15;2\n", "."),
        ("a\tb\n-1,5e3\t2\n", ","),
    ],
)
def test_decimal_commas_are_found_out(tmp_path, text, decimal):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    assert open_table(tmp_path / "t.csv").decimal == decimal


@given(st.lists(st.floats(allow_infinity=False), min_size=1))
def test_numbers_come_back_as_they_were_written(values):
    found, wrong = numbers([repr(value) for value in values])
    np.testing.assert_array_equal(found, values)
    assert not len(wrong)
    commas, wrong = numbers([repr(value).replace(".", ",") for value in values], decimal=",")
    np.testing.assert_array_equal(commas, values)
    assert not len(wrong)


@given(st.lists(st.sampled_from(["1", "2.5", "NA", "", "x", "1_0", " 3 "]), min_size=1))
def test_numbers_are_those_of_each_cell_alone(texts):
    found, wrong = numbers(texts)
    alone = [numbers([text]) for text in texts]
    np.testing.assert_array_equal(found, [values[0] for values, _ in alone])
    assert wrong.tolist() == [i for i, (_, bad) in enumerate(alone) if len(bad)]


def kinds(tmp_path, **columns):
    pd.DataFrame({"row": range(len(next(iter(columns.values())))), **columns}).to_csv(
        tmp_path / "t.csv", index=False
    )
    table = open_table(tmp_path / "t.csv")
    return {name: one.kind for name, one in survey(table, list(columns)).items()}


def test_kinds_of_columns(tmp_path):
    rows = 120
    found = kinds(
        tmp_path,
        number=np.arange(rows) / 7,
        category=["low", "high", "1"] * 40,
        mixed=["1", "2", "3+"] * 40,
        typed=[*map(str, range(rows - 1)), "l7"],
        date=["2020-01-05", "2021-11-30"] * 60,
        text=[f"note {i}" for i in range(rows)],
        empty=[""] * rows,
        gaps=["NA", "1.5"] * 60,
    )
    assert found == {
        "number": "number",
        "category": "category",
        "mixed": "mixed",
        "typed": "mixed",
        "date": "date",
        "text": "text",
        "empty": "empty",
        "gaps": "number",
    }


@pytest.mark.slow
def test_a_wide_table(tmp_path):
    columns = 2000
    frame = pd.DataFrame(np.arange(30 * columns).reshape(30, columns)).add_prefix("x")
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = open_table(tmp_path / "t.csv")
    found = survey(table, table.columns)
    assert len(found) == columns
    assert found["x1999"].high == 30 * columns - 1


# --- Writing ------------------------------------------------------------------------------------


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")

    def fail():
        with whole_file(target) as file:
            file.write("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert target.read_text() == "old"
    with whole_file(target) as file:
        file.write("new")
    assert target.read_text() == "new"


@pytest.mark.parametrize("place", ["none/out.csv", "."])
def test_where_a_file_cannot_be_written(tmp_path, place):
    with pytest.raises(TableError, match="folder"), whole_file(tmp_path / place):
        pass


@given(st.text())
def test_safe_cells_start_no_formula(text):
    (safe,) = SafeCells()([text])
    assert safe in (text, f"'{text}")
    if safe.startswith(("=", "+", "-", "@", "\t", "\r")):
        float(safe)  # a number is none
