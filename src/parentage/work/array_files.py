"""Arrays in files that grow at their end: for data that exceed memory, or must survive the process.

A file holds the rows of one array and nothing else. Its facts (type of number, shape of a row,
number of rows, checksum) are saved by the writer, in a file that appears whole or not at all. So a
file that is longer than its facts say was being written when the program ended, and is truncated; a
shorter file, or one with another checksum, is damaged.

Read back, a file is mapped into memory, copy on write: its pages are loaded when they are used, and
dropped when memory is short. Temporary files go to a folder on a disk, never to one in memory
(``tmpfs``).
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from parentage.errors import InputError, Way
from parentage.work.tuning import TUNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import BinaryIO

Array = npt.NDArray[Any]

IN_MEMORY = ("tmpfs", "ramfs")

MOUNTS = Path("/proc/mounts")


class GrowingArray:
    """One file that is appended to.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     squares = GrowingArray(Path(folder), "squares", np.dtype(np.int64), ())
    ...     squares.append(np.array([0, 1]))
    ...     squares.append(np.array([4]))
    ...     squares.mapped().tolist()
    [0, 1, 4]
    """

    def __init__(
        self, folder: Path, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]
    ) -> None:
        self._file: BinaryIO | None = None
        self.path, self.dtype, self.shape = folder / name, dtype, shape
        self.rows, self._check = 0, 0

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return self.rows * self.dtype.itemsize * math.prod(self.shape)

    def facts(self) -> dict[str, Any]:
        """Return what is in the file, as plain values; :meth:`reopened` is the way back."""
        return {
            "name": self.path.name,
            "dtype": self.dtype.str,
            "shape": list(self.shape),
            "rows": self.rows,
            "check": self._check,
        }

    def append(self, rows: Array) -> None:
        """Write more rows behind those that are there."""
        rows = np.ascontiguousarray(rows, self.dtype)
        if rows.shape[1:] != self.shape:
            raise ValueError(f"rows of shape {rows.shape[1:]} for a file of {self.shape}")
        if self._file is None:
            self._file = self.path.open("r+b" if self.rows else "wb")
            self._file.seek(self.nbytes)
        view = rows.reshape(-1).view(np.uint8)
        self._file.write(view.data)
        self.rows, self._check = self.rows + len(rows), zlib.crc32(view.data, self._check)

    def sync(self) -> None:
        """Make sure that all rows are on the disk."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())

    def mapped(self) -> Array:
        """Return all rows, mapped."""
        if self._file is not None:
            self._file.flush()
        shape = (self.rows, *self.shape)
        if self.nbytes == 0:
            return np.empty(shape, self.dtype)
        return np.asarray(np.memmap(self.path, self.dtype, "c", shape=shape))

    def close(self) -> None:
        """Write no more for now."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __del__(self) -> None:
        """Close the file of a search that was left where it was stopped."""
        self.close()

    def remove(self) -> None:
        """Delete the file; what is mapped stays readable."""
        self.close()
        self.path.unlink(missing_ok=True)

    @classmethod
    def reopened(cls, folder: Path, facts: Mapping[str, Any]) -> GrowingArray:
        """Take up a file again: cut what was being written, refuse what is damaged.

        Raises
        ------
        InputError
            The file is shorter than it was, or has changed.
        ValueError
            Facts that make no sense: a name that leads out of the folder is none.
        """
        name = str(facts["name"])
        if name in ("", ".", "..") or "/" in name or "\\" in name:
            raise ValueError(f"{name!r} is not the name of a file")
        shape = tuple(int(n) for n in facts["shape"])
        array = cls(folder, name, np.dtype(str(facts["dtype"])), shape)
        array.rows, array._check = int(facts["rows"]), int(facts["check"])
        try:
            size = array.path.stat().st_size
            if size < array.nbytes:
                raise damaged(array.path, f"has {size} bytes of {array.nbytes}")
            if size > array.nbytes:
                os.truncate(array.path, array.nbytes)
            check = 0
            with array.path.open("rb") as file:
                while block := file.read(2**24):
                    check = zlib.crc32(block, check)
        except OSError as error:
            raise damaged(array.path, f"cannot be read ({error.strerror or error})") from None
        if check != array._check:
            raise damaged(array.path, "has changed since it was written")
        return array


def is_mapped(array: Array) -> bool:
    """Whether an array is a file, mapped, and not in memory of its own."""
    return isinstance(array.base, np.memmap)


def room_beside(array: Array, rows: int, dtype: npt.DTypeLike) -> Array:
    """Return room for ``rows`` numbers where an array is: in memory, or in a file beside its own.

    Such a file has no name any more, so that nothing is left of it when nobody uses it.
    """
    if not is_mapped(array) or rows == 0:
        return np.empty(rows, dtype)
    mapped = cast("np.memmap[Any, Any]", array.base)
    folder = Path(str(mapped.filename)).parent
    with tempfile.NamedTemporaryFile(dir=folder, prefix="beside-", delete=False) as file:
        path = Path(file.name)
    found = np.memmap(path, dtype, "w+", shape=(rows,))
    with contextlib.suppress(PermissionError):  # not on Windows; then it goes with its folder
        path.unlink()
    return np.asarray(found)


def let_pages_go(arrays: Iterable[Array]) -> None:
    """Take mapped arrays out of this process's memory; they come back when they are used."""
    for array in arrays:
        if is_mapped(array) and hasattr(mmap, "MADV_DONTNEED"):
            pages = getattr(array.base, "_mmap", None)
            if pages is not None:
                pages.madvise(mmap.MADV_DONTNEED)


def damaged(path: Path, what: str) -> InputError:
    """Return the error of a checkpoint whose file is not as it was written."""
    return InputError(
        f"the checkpoint is damaged: {str(path)!r} {what}",
        Way("checkpoint", ..., "for a new folder, to begin again"),
    )


def disk_folder(mounts: Path = MOUNTS) -> Path:
    """Return the folder of temporary files, or another one that is on a disk.

    ``TMPDIR`` is taken as it is: whoever sets it has a reason.

    Raises
    ------
    OSError
        There is none.
    """
    usual = Path(tempfile.gettempdir())
    if os.environ.get("TMPDIR"):
        return usual
    for folder in (usual, Path("/var/tmp")):  # noqa: S108  # where systems keep large ones
        if folder.is_dir() and os.access(folder, os.W_OK) and not in_memory(folder, mounts):
            return folder
    raise FileNotFoundError(f"{str(usual)!r} is in memory, and there is no other folder")


def in_memory(folder: Path, mounts: Path = MOUNTS) -> bool:
    """Whether the files of a folder are in memory."""
    try:
        lines = [line.split() for line in mounts.read_text().splitlines()]
    except OSError:
        return False
    whole = folder.resolve()
    kinds = {Path(line[1]): line[2] for line in lines if len(line) > 2}
    found = next((kinds[above] for above in (whole, *whole.parents) if above in kinds), "")
    return found in IN_MEMORY


def has_room(folder: Path, needed: int) -> bool:
    """Whether a disk has room for this many bytes, and some for everybody else."""
    return shutil.disk_usage(folder).free >= needed + TUNING.disk_left
