"""Where bytes come from: paths, standard input or memory, read once and decompressed.

Everything that can be wrong with a file as such (absent, a folder, damaged by compression, binary,
another encoding) is found here, so that the readers only see text or a format they know.

A small compressed file (gzip, zstd, zip with one file) can hold a huge one. The content may be
:data:`LIKELY` times as large as the file, or :data:`SMALL`, whichever is more, and never more than
:data:`LARGEST`; the rest is not decompressed.
"""

from __future__ import annotations

import difflib
import glob
import gzip
import io
import os
import stat
import sys
import zipfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import IO, Literal, overload

from parentage.errors import (
    InputError,
    MissingExtraError,
    Objection,
    ParentageError,
    UndecidedError,
    Way,
)

SourceLike = str | os.PathLike[str] | bytes
"""A path, ``"-"`` for standard input, or the content itself."""

Content = bytes | Path
"""A file in memory, or where it is."""

PARQUET = b"PAR1"
"""How a Parquet file begins and ends."""

LARGE = 1 << 24
"""A Parquet file of more bytes than this is not read into memory: its reader takes parts of it."""


@dataclass(frozen=True)
class Source:
    """Content and the name to call it by in messages.

    ``content`` is a path where a large file is left where it is; ``more`` are the other files of a
    pattern.
    """

    name: str
    content: Content
    more: tuple[Source, ...] = ()

    @property
    def data(self) -> bytes:
        """The whole content."""
        if isinstance(self.content, bytes):
            return self.content
        return _content_of(self.content, leave=False)

    @property
    def start(self) -> bytes:
        """The content, or the beginning of a large file that is left where it is."""
        return self.content if isinstance(self.content, bytes) else PARQUET

    @property
    def suffix(self) -> str:
        """Return the extension in lower case, with its dot."""
        return Path(self.name).suffix.lower()

    def text(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        r"""Return the content as text with ``\n`` line ends; a byte-order mark is skipped.

        ``errors``: what happens to bytes that are not in the encoding, as in ``bytes.decode``.
        """
        return _decode(self, encoding, errors).replace("\r\n", "\n").replace("\r", "\n")


def open_source(source: SourceLike | Source, *, unpack: bool = True) -> Source:
    """Read a path, a pattern of paths, ``"-"`` (standard input) or bytes completely.

    What is compressed is unpacked, unless ``unpack`` is false.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, bytes):
        found = Source("<bytes>", source)
    elif os.fspath(source) == "-":
        found = Source("<stdin>", _read_stdin())
    else:
        paths = matching(os.fspath(source))
        first, *others = [Source(str(path), _content_of(path, leave=True)) for path in paths]
        found = replace(first, more=tuple(_unpacked(other) for other in others))
    return _unpacked(found) if unpack else found


def matching(path: str) -> list[Path]:
    """Return the files a pattern stands for; any other path stands for itself."""
    plain = Path(path)
    if not any(character in path for character in "*?[") or plain.exists():
        return [plain]
    names = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  # also absolute patterns
    found = [Path(name) for name in names if Path(name).is_file()]
    if not found:
        raise InputError(f"no file matches {path!r}; check the pattern")
    return found


def _unpacked(source: Source) -> Source:
    name, data = unpacked(source.name, source.start)
    return source if data is source.start else replace(source, name=name, content=data)


def _read_stdin() -> bytes:
    if sys.stdin is None:
        raise InputError("standard input is closed; give a file instead of -, or pipe into it")
    try:
        return sys.stdin.buffer.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read standard input: {reason}") from None


@overload
def _content_of(path: Path, *, leave: Literal[False]) -> bytes: ...
@overload
def _content_of(path: Path, *, leave: bool) -> bytes | Path: ...


def _content_of(path: Path, *, leave: bool) -> bytes | Path:
    """Read a file, or ``leave`` it where it is, if it is a large one of Parquet."""
    try:
        with path.open("rb") as file:
            start = file.read(len(PARQUET))
            about = os.fstat(file.fileno())
            large = stat.S_ISREG(about.st_mode) and about.st_size > LARGE
            return path.absolute() if leave and large and start == PARQUET else start + file.read()
    except FileNotFoundError:
        raise InputError(f"no file {str(path)!r}{_nearest(path)}") from None
    except IsADirectoryError:
        raise InputError(f"{str(path)!r} is a folder; name a file in it") from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {str(path)!r}: {reason}") from None


WRITTEN_ONLY = (".svg", ".png", ".pdf", ".html", ".htm", ".dot", ".gv", ".tex")
"""Files that are results and never read."""


def _nearest(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"; there is no folder {str(folder)!r}"
    try:
        names = [e.name for e in folder.iterdir() if e.suffix.lower() not in WRITTEN_ONLY]
    except OSError:
        return ""
    close = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {str(folder / close[0])!r}?" if close else "; check the path"


def _decode(source: Source, encoding: str, errors: str) -> str:
    data = source.data
    if errors != "strict" and data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    try:
        text = data.decode(encoding, errors).removeprefix("\ufeff")
    except LookupError:
        raise InputError(
            "is not a text encoding",
            Way("encoding", "utf-8", "(or latin-1, cp1252, utf-16)"),
            about=Way("encoding", encoding),
        ) from None
    except UnicodeDecodeError as error:
        raise _undecodable(source, error) from None
    except ValueError as error:  # what codecs such as idna or punycode raise
        raise InputError(
            f"{source.name} is not {encoding} text: {error}", Way("encoding", "latin-1")
        ) from None
    zero = text.find("\0")
    if zero >= 0:
        line = text.count("\n", 0, zero) + 1
        raise InputError(
            f"{source.name} is a binary file (a null character in line {line}); "
            "tables are CSV, TSV, ARFF, .dat, Parquet, Arrow or Excel, lists .jkl, .pss or Parquet"
        )
    return text


def _undecodable(source: Source, error: UnicodeDecodeError) -> InputError:
    data, at = source.data, error.start
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _other_encoding(f"{source.name} is not {error.encoding} but utf-16", "utf-16")
    if b"\0" in data:
        return InputError(
            f"{source.name} is a binary file: byte 0x{data[at]:02X} at offset {at} is not text"
        )
    line = data.count(b"\n", 0, at) + 1
    seen = f"{source.name} is not {error.encoding}: byte 0x{data[at]:02X} in line {line}"
    return _other_encoding(f"{seen} (offset {at})", _likely_encoding(data))


def _likely_encoding(data: bytes) -> str:
    """Return cp1252, which Windows writes, if all bytes are there; else latin-1, which has all."""
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def _other_encoding(seen: str, encoding: str) -> UndecidedError:
    way = Way("encoding", encoding, "or the encoding that the file really has")
    return UndecidedError([Objection("", seen, (way,), (way,), refused=True)])


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
                        f"{name} unpacks {len(data):,} bytes ({kind}) to more than "
                        f"{most >> 20} MB; if you expect that, unpack it first"
                    )
    except (
        OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, NotImplementedError
    ) as error:  # fmt: skip
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
