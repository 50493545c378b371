"""Where bytes come from: a path, standard input or memory, read once. Before the readers.

Everything that can be wrong with a file as such (absent, a folder, binary, another encoding) is
found here, so that the readers only see text or a Parquet file.
"""

from __future__ import annotations

import difflib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from parentage.errors import InputError, Way

SourceLike = str | os.PathLike[str] | bytes
"""A path, ``"-"`` for standard input, or the content itself."""

_PACKED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip (a spreadsheet?)",
    b"BZh9": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}


@dataclass(frozen=True)
class Source:
    """Content and the name to call it by in messages."""

    name: str
    data: bytes

    @property
    def suffix(self) -> str:
        """Return the extension in lower case, with its dot."""
        return Path(self.name).suffix.lower()

    @property
    def is_parquet(self) -> bool:
        """Tell whether the content starts as a Parquet file does."""
        return self.data.startswith(b"PAR1")

    def text(self, encoding: str = "utf-8") -> str:
        r"""Return the content as text with ``\n`` line ends; a byte-order mark is skipped."""
        return _universal_newlines(_decode(self, encoding))


def open_source(source: SourceLike | Source) -> Source:
    """Read a path, ``"-"`` (standard input) or bytes completely."""
    if isinstance(source, Source):
        return source
    if isinstance(source, bytes):
        return Source("<bytes>", source)
    if os.fspath(source) == "-":
        return Source("<stdin>", _read_stdin())
    return _read_file(Path(os.fspath(source)))


def _read_stdin() -> bytes:
    if sys.stdin is None:
        raise InputError("standard input is closed; give a file instead of -, or pipe into it")
    try:
        return sys.stdin.buffer.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read standard input: {reason}") from None


def _read_file(path: Path) -> Source:
    try:
        return Source(str(path), path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"no file {str(path)!r}{_nearest(path)}") from None
    except IsADirectoryError:
        raise InputError(f"{str(path)!r} is a directory; name a file in it") from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {str(path)!r}: {reason}") from None


def _nearest(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"; there is no folder {str(folder)!r}"
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        return ""
    close = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {str(folder / close[0])!r}?" if close else "; check the path"


def _decode(source: Source, encoding: str) -> str:
    data = source.data
    for magic, kind in _PACKED.items():
        if data.startswith(magic):
            raise InputError(f"{source.name} is compressed, {kind}; unpack it first")
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
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
            "tables are CSV, TSV, ARFF, .dat or Parquet, lists .jkl, .pss or Parquet"
        )
    return text


def _undecodable(source: Source, error: UnicodeDecodeError) -> InputError:
    data, at = source.data, error.start
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return InputError(
            f"{source.name} is not {error.encoding} but looks like utf-16",
            Way("encoding", "utf-16"),
        )
    if b"\0" in data:
        return InputError(
            f"{source.name} is a binary file: byte 0x{data[at]:02X} at offset {at} is not text"
        )
    line = data.count(b"\n", 0, at) + 1
    return InputError(
        f"{source.name} is not {error.encoding}: byte 0x{data[at]:02X} in line {line} "
        f"(offset {at})",
        Way("encoding", "latin-1", "or the encoding that the file really has"),
    )


def _universal_newlines(text: str) -> str:
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")
