"""Open a file of a table: what it is by its first bytes, its compression, its encoding.

The name says what a file should be and its first bytes what it is; where they disagree the user is
told, as reading on would only lead to a stranger message.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from tailoredbayes.tables.chunks import TableError

__all__ = [
    "check_is_file",
    "find_encoding",
    "is_parquet",
    "open_binary",
    "open_text",
    "sha256",
]

_SUFFIXES = (".gz", ".bz2", ".xz", ".zip", ".zst")
_MAGIC = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\x00": ".xz",
    b"PK\x03\x04": ".zip",
    b"\x28\xb5\x2f\xfd": ".zst",
}
_PARQUET = b"PAR1"
# Files of other programs, which people try: what they are, by their first bytes.
_OTHERS = {
    b"\x89HDF\r\n\x1a\n": "an HDF5 or NetCDF file, such as a saved model",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"$FL2": "an SPSS file",
    b"<stata_dta>": "a Stata file",
    b"SQLite format 3": "a SQLite database",
    b"%PDF": "a PDF",
    b"ARROW1": "an Arrow (Feather) file",
}
_SAMPLE = 2**16
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# What decompressors raise when bytes are wrong or end too early.
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile)


def check_is_file(path: Path) -> bytes:
    """Return a file's first bytes, or say why it cannot be read."""
    try:
        if path.is_dir():
            raise TableError(f"{path} is a folder; give the name of a file in it")
        with open(path, "rb") as file:
            head = file.read(_SAMPLE)
    except FileNotFoundError:
        raise TableError(
            f"there is no file {path}; check the name and the folder you are in"
        ) from None
    except OSError as error:
        raise TableError(
            f"cannot read {path} ({error.strerror or error}); check its permissions"
        ) from None
    if not head:
        raise TableError(f"{path} is empty; it should hold column names and rows")
    return head


def is_parquet(path: Path, head: bytes) -> bool:
    """Tell whether a file is Parquet; raise if it is no table, or not what its name says."""
    found = next((what for magic, what in _OTHERS.items() if head.startswith(magic)), None)
    if found:
        raise TableError(f"{path} is {found}, not a table; export the data as CSV")
    named = path.suffix.lower() in (".parquet", ".pq")
    if head.startswith(_PARQUET):
        if not named:
            raise TableError(f"{path} is a Parquet file; rename it to end in .parquet")
        return True
    if named:
        raise TableError(f"{path} is not a Parquet file; rename it to say what it is, as .csv")
    packed = next((suffix for magic, suffix in _MAGIC.items() if head.startswith(magic)), None)
    suffix = path.suffix.lower()
    if packed and packed != suffix:
        if packed == ".zip":
            raise TableError(
                f"{path} is a zip archive or an Excel workbook, not text; save the sheet as CSV"
            )
        raise TableError(f"{path} is compressed; rename it to end in {packed}")
    if suffix in _SUFFIXES and not packed:
        raise TableError(f"{path} is not compressed as {suffix} says; rename it, or copy it again")
    return False


@contextmanager
def open_binary(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed by its suffix; damage is told in words."""
    try:
        with _decompressed(path) as file:
            yield file
    except _DAMAGED as error:
        raise TableError(
            f"{path} is damaged or cut off ({error}); copy it again from where it came"
        ) from None


@contextmanager
def _decompressed(path: Path) -> Iterator[IO[bytes]]:
    suffix = path.suffix.lower()
    if suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            members = [name for name in archive.namelist() if not name.endswith("/")]
            if len(members) != 1:
                raise TableError(
                    f"{path} holds {len(members)} files; give an archive of one, or the file itself"
                )
            if archive.getinfo(members[0]).flag_bits & 1:
                raise TableError(f"{path} is encrypted; unpack it first")
            with archive.open(members[0]) as member:
                yield member
    elif suffix == ".zst":
        import pyarrow as pa

        try:
            with pa.input_stream(str(path), compression="zstd") as stream:
                yield cast(IO[bytes], stream)
        except OSError as error:
            raise EOFError(str(error)) from None
    else:
        openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
        with openers.get(suffix, open)(path, "rb") as file:
            yield file


def find_encoding(path: Path) -> str:
    """Return a text file's encoding: by its first bytes, else UTF-8, else Windows-1252."""
    with open_binary(path) as file:
        head = file.read(_SAMPLE)
        for bom, encoding in _BOMS.items():
            if head.startswith(bom):
                return encoding
        if b"\0" in head:
            return _with_zeros(path, head)
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            decoder.decode(head)
            while block := file.read(2**20):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8"


def _with_zeros(path: Path, head: bytes) -> str:
    """UTF-16 without its mark has a zero in every other byte; any other zero is damage."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    half = len(head) / 2
    if odd > 0.4 * half and even < 0.1 * half:
        return "utf-16-le"
    if even > 0.4 * half and odd < 0.1 * half:
        return "utf-16-be"
    raise TableError(
        f"{path} holds zero bytes, so it is not text or it is damaged; export the data again as CSV"
    )


@contextmanager
def open_text(path: Path, encoding: str) -> Iterator[Iterator[str]]:
    """Open a text file as its lines, ends kept."""
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise TableError(
            f"there is no encoding {encoding!r}; common ones are utf-8, cp1252, latin-1 and utf-16"
        ) from None
    with open_binary(path) as file:
        text = io.TextIOWrapper(file, encoding=encoding, newline="")
        try:
            yield _lines(text, path, encoding)
        finally:
            text.detach()


def _lines(text: io.TextIOWrapper, path: Path, encoding: str) -> Iterator[str]:
    number = 0
    try:
        for number, line in enumerate(text, start=1):
            if "\0" in line:
                raise TableError(
                    f"{path}, line {number}: holds a zero byte, so the file is damaged or not "
                    "text; export the data again as CSV"
                )
            yield line
    except UnicodeDecodeError as error:
        advice = "say which it is, as --encoding latin-1"
        if error.reason in ("truncated data", "unexpected end of data"):
            advice = "the file is cut off; copy or export it again"
        raise TableError(
            f"{path}, after line {number}: is not {encoding} text ({error.reason}); {advice}"
        ) from None


def sha256(path: Path) -> str:
    """Return the digest of a file's bytes as they lie on the disk."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()
