"""How much memory there is: asked before something is allocated that may not fit."""

from __future__ import annotations

import os
from pathlib import Path

from parentage.errors import ResourceError, Way


def available_memory() -> int:
    """Bytes this process may still take: free memory, or what its control group leaves."""
    limits = [_free(), _control_group()]
    return min(limit for limit in limits if limit is not None)


def require_memory(needed: int, what: str, *instead: Way | str, limit: int | None = None) -> None:
    """Refuse work that does not fit into what is free, or into the user's limit.

    Raises
    ------
    ResourceError
        ``what`` needs more than there is; ``instead`` says what to do.
    """
    if limit is not None and needed > limit:
        raise ResourceError(
            f"{what} needs {gigabytes(needed)} of memory, {gigabytes(limit)} are allowed", *instead
        )
    free = available_memory()
    if needed > free:
        raise ResourceError(
            f"{what} needs {gigabytes(needed)} of memory, {gigabytes(free)} are free", *instead
        )


def gigabytes(amount: int) -> str:
    """Write bytes in GB, powers of ten when there are too many.

    >>> gigabytes(2_147_483_648), gigabytes(10**80)
    ('2.1 GB', '1e+71 GB')
    """
    size = amount / 1e9
    return f"{size:.1f} GB" if size < 1e6 else f"{size:.0e} GB"


def _free() -> int:
    report = Path("/proc/meminfo")
    if report.exists():
        for line in report.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 4 * 2**30


def _control_group() -> int | None:
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text().strip()
        used = (folder / "memory.current").read_text().strip()
    except OSError:
        return None
    return None if limit == "max" else max(0, int(limit) - int(used))
