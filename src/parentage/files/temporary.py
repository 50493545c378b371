"""Where large files go that nobody asked for and nobody finds afterwards: onto a disk with room.

A folder in memory (``tmpfs``) is none: what does not fit into memory does not fit there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

LEAST_LEFT = 2**30
"""Bytes of a disk that are left to everybody else."""

IN_MEMORY = ("tmpfs", "ramfs")

MOUNTS = Path("/proc/mounts")


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
    """Whether a disk has room for so many bytes, and some for everybody else."""
    return shutil.disk_usage(folder).free >= needed + LEAST_LEFT
