"""How much memory there is: asked before something is allocated that may not fit."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from parentage.errors import ResourceError, Way
from parentage.work.tuning import TUNING


def memory_limit(given: int | None) -> int:
    """Return what this process may take altogether: what was given, or a share of what is free."""
    return used_memory() + int(TUNING.memory_share * available_memory()) if given is None else given


def available_memory() -> int:
    """Bytes this process may still take: what is free, and what its limits leave."""
    limits = [_free(), _control_group(), _address_space()]
    return min(limit for limit in limits if limit is not None)


def require_memory(needed: int, what: str, *instead: Way | str, limit: int | None = None) -> None:
    """Refuse work that does not fit into what is free, or into what the user's limit leaves.

    Raises
    ------
    ResourceError
        ``what`` needs more than there is; ``instead`` says what to do.
    """
    room = room_within(limit)
    if room is not None and needed > room:
        raise ResourceError(
            f"{what} needs {gigabytes(needed)} of memory; {gigabytes(max(0, room))} of the "
            f"{gigabytes(limit or 0)} allowed is free",
            *instead,
        )
    free = available_memory()
    if needed > free:
        raise ResourceError(
            f"{what} needs {gigabytes(needed)} of memory; {gigabytes(free)} is free", *instead
        )


def used_memory() -> int:
    """Return what this process takes now, in bytes; what it took at most where nobody knows."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return peak_memory() or 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def room_within(limit: int | None, besides: int = 0) -> int | None:
    """Return what a limit for the whole process leaves, ``besides`` what is taken already."""
    return None if limit is None else limit - used_memory() - besides


def peak_memory() -> int | None:
    """Return the most memory this process has had so far, in bytes; None where nobody knows."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(size if sys.platform == "darwin" else 1024 * size)


def gigabytes(amount: int) -> str:
    """Write bytes as a person would say them.

    >>> [gigabytes(x) for x in (4, 13_000_000, 2_147_483_648, 834 * 10**12, 10**80)]
    ['4 bytes', '13 MB', '2.1 GB', '834 TB', 'over 1,000 TB']
    """
    if 0 < amount < 10**5:
        return f"{amount:,} bytes"
    if amount < 10**9:
        return f"{amount / 10**6:,.0f} MB"
    if amount >= 10**15:
        return "over 1,000 TB"
    many, unit = (amount / 10**9, "GB") if amount < 10**12 else (amount / 10**12, "TB")
    return f"{many:.1f} {unit}" if many < 100 else f"{many:.0f} {unit}"


def _free() -> int:
    report = Path("/proc/meminfo")
    if report.exists():
        for line in report.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 4 * 2**30


def _control_group(
    root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> int | None:
    """What the control group of this process, or one above it, still leaves (version 2)."""
    try:
        groups = [line.split("::", 1)[1] for line in own.read_text().splitlines() if "::" in line]
    except OSError:
        groups = []
    inside = root / groups[0].lstrip("/") if groups else root
    chain = [inside, *inside.parents]
    left = [_left_in(folder) for folder in chain[: chain.index(root) + 1]]
    return min((room for room in left if room is not None), default=None)


def _left_in(folder: Path) -> int | None:
    """What one control group leaves; file contents that can be read again count as free."""
    try:
        written = (folder / "memory.max").read_text().strip()
        limit = None if written == "max" else int(written)
        used = int((folder / "memory.current").read_text())
        cached = [
            int(line.split()[1])
            for line in (folder / "memory.stat").read_text().splitlines()
            if line.startswith("inactive_file ")
        ]
    except (OSError, ValueError):
        return None
    return None if limit is None else max(0, limit - used + sum(cached))


def _address_space() -> int | None:
    """What ``ulimit -v`` still leaves."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError, ValueError):
        return None
    if limit == resource.RLIM_INFINITY:
        return None
    return max(0, limit - pages * resource.getpagesize())
