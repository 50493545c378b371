"""Compressed files are unpacked as they are opened: gzip, zstd, and zip with one file.

A small file can hold a huge one. What is unpacked may be :data:`LIKELY` times as large as the file,
or :data:`SMALL`, whichever is more, and never more than :data:`LARGEST`; the rest is not unpacked.
"""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from pathlib import PurePath
from typing import IO

from parentage.errors import InputError, MissingExtraError, ParentageError

SMALL = 1 << 28
LIKELY = 200
LARGEST = 1 << 32

_STEP = 1 << 20
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
_SUFFIXES = (".gz", ".zst", ".zstd", ".zip")
_BOOKS = ("xl/", "content.xml", "mimetype")


def unpacked(name: str, data: bytes) -> tuple[str, bytes]:
    """Return a file's name and content, unpacked if it is compressed.

    A workbook, which is a zip file too, stays as it is.

    >>> import gzip
    >>> unpacked("table.csv.gz", gzip.compress(b"a,b"))
    ('table.csv', b'a,b')
    """
    kind = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), None)
    if kind is None or (kind == "zip" and is_workbook(data)):
        return name, data
    most = min(max(SMALL, LIKELY * len(data)), LARGEST)
    pieces, size = list[bytes](), 0
    try:
        with _opened(kind, data, name) as file:
            while piece := file.read(_STEP):
                pieces.append(piece)
                size += len(piece)
                if size > most:
                    raise InputError(
                        f"{name} holds more than {most >> 20} MB in {len(data):,} bytes ({kind}); "
                        "if it is what you expect, unpack it first"
                    )
    except (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile) as error:
        if isinstance(error, ParentageError):
            raise
        reason = "its end is missing" if isinstance(error, EOFError) else error
        raise InputError(f"{name} is a damaged {kind} file: {reason}") from None
    path = PurePath(name)
    plain = name[: -len(path.suffix)] if path.suffix.lower() in _SUFFIXES else name
    return plain, b"".join(pieces)


def is_workbook(data: bytes) -> bool:
    """Tell whether a zip file holds sheets."""
    if not data.startswith(b"PK\x03\x04"):
        return False
    try:
        names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        return False
    return any(name.startswith(_BOOKS) for name in names)


def _opened(kind: str, data: bytes, name: str) -> IO[bytes] | gzip.GzipFile:
    if kind == "gzip":
        return gzip.GzipFile(fileobj=io.BytesIO(data))
    if kind == "zstd":
        return _zstd(data)
    archive = zipfile.ZipFile(io.BytesIO(data))
    files = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(files) != 1:
        raise InputError(f"{name} is a zip file with {len(files)} files in it; unpack it first")
    try:
        return archive.open(files[0])
    except (RuntimeError, NotImplementedError) as error:  # a password, an odd method
        raise InputError(f"{name} cannot be unpacked: {error}") from None


def _zstd(data: bytes) -> IO[bytes]:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("unpacking zstd", "zstandard", "zstd") from None

    class Guarded(io.RawIOBase):
        """Errors of the library as those of a file."""

        def __init__(self) -> None:
            reader = zstandard.ZstdDecompressor(max_window_size=1 << 27)
            self.stream = reader.stream_reader(io.BytesIO(data), read_across_frames=True)

        def read(self, size: int = -1) -> bytes:
            try:
                return bytes(self.stream.read(size))
            except zstandard.ZstdError as error:
                raise ValueError(str(error)) from None

    return Guarded()  # type: ignore[return-value]  # only read is asked for
