"""The cache of compiled kernels: a convenience that never runs other code than compiling would.

Where it cannot be written (a read-only installation and home) or is damaged, kernels are compiled
in memory, and one warning says so. Every entry names the source of all kernels and what it was
compiled for (:class:`OwnedFiles`).
"""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parentage.errors import ParentageWarning, warn
from parentage.work.stop import compiling

if TYPE_CHECKING:
    from collections.abc import Callable

_told: set[str] = set()

_NOT_CACHED = (
    "compiled kernels cannot be cached ({reason}); every run compiles them again, which takes up "
    "to a minute. To cache them in another folder, type export NUMBA_CACHE_DIR=FOLDER"
)

_DAMAGED = (
    "a file in the cache of compiled kernels is damaged ({reason}); its kernel is compiled again"
)


def make_dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return what :func:`numba.njit` makes of a function, with a cache that may fail."""
    import numba

    try:
        dispatcher = numba.njit(**options)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        _warn(_NOT_CACHED, "neither the installation nor your cache folder is writable")
        options = {**options, "cache": False}
        dispatcher = numba.njit(**options)(function)
    if options.get("cache"):
        dispatcher._cache._cache_file = OwnedFiles(dispatcher._cache._cache_file)
    dispatcher._cache = PatientCache(dispatcher._cache, function.__module__)
    dispatcher.compile = functools.partial(compiling.timed, dispatcher.compile)
    return dispatcher


def is_cached(function: Callable[..., Any]) -> bool:
    """Whether the cache seems to have a compiled version of a kernel; Numba is not imported.

    Nothing but time depends on the answer.
    """
    module, line = function.__module__.rpartition(".")[2], function.__code__.co_firstlineno
    return f"{module}.{function.__qualname__}-{line}" in _at_start()


@functools.cache
def _at_start() -> frozenset[str]:
    return cached_kernels()


def cached_kernels() -> frozenset[str]:
    """Return the kernels in the cache, by module, name and line, that are newer than any source."""
    here = Path(__file__).parent
    folder, elsewhere = here / "__pycache__", os.environ.get("NUMBA_CACHE_DIR")
    if elsewhere or not os.access(folder, os.W_OK):
        below = elsewhere or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "numba")
        digest = hashlib.sha1(str(here).encode(), usedforsecurity=False).hexdigest()
        folder = Path(below, f"{here.name}_{digest}")
    if not folder.is_dir():
        return frozenset()
    newest = max(file.stat().st_mtime for file in here.glob("*.py"))
    found = [file for file in os.scandir(folder) if file.name.endswith(".nbc")]
    return frozenset(f.name.split(".py")[0] for f in found if f.stat().st_mtime >= newest)


@functools.cache
def source_digest() -> str:
    """Return a digest of the source of all kernels."""
    from importlib.resources import files

    digest = hashlib.sha256()
    for file in sorted(files("parentage.kernels").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".py"):
            digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


class OwnedFiles:
    """Numba's index and data files of one kernel, where data say what they were compiled from.

    Numba looks for changes in a kernel's own file only, although the code of kernels that it calls
    is part of its machine code, and writes the index and the data without a lock: of two processes
    that compile different signatures, one can leave the index and the other the data. So the data
    carry the digest of all kernels and their key (signature, processor, bytecode); data with
    another owner are not in the cache, and are overwritten by what is compiled instead.

    Parameters
    ----------
    files
        A :class:`numba.core.caching.IndexDataCacheFile`.
    """

    def __init__(self, files: Any) -> None:
        self._files = files
        self._digest = source_digest()

    def flush(self) -> None:
        """Empty the index."""
        self._files.flush()

    def save(self, key: tuple[Any, ...], data: Any) -> None:
        """Write the data of a key."""
        self._files.save(key, (self._digest, key, data))

    def load(self, key: tuple[Any, ...]) -> Any:
        """Return the data of a key; None where there are none, or they belong to another."""
        match self._files.load(key):
            case (self._digest, owner, data) if owner == key:
                return data
        return None


class PatientCache:
    """Numba's cache of one function of a module, whose failures mean compiling in memory."""

    def __init__(self, cache: Any, name: str = "") -> None:
        self._cache, self._name = cache, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *args: Any) -> Any:
        """Return what is in the cache; None, and an empty cache, where it is damaged."""
        found = self._load(*args)
        if found is None and compiling.was_compiled_ahead(self._name):
            found = self._load(*args)
        if found is None:
            compiling.begins(cached=self._cache.cache_path is not None)
        return found

    def _load(self, *args: Any) -> Any:
        try:
            return self._cache.load_overload(*args)
        except Exception as error:  # whatever unpickling makes of half a file
            _warn(_DAMAGED, _reason(error))
            self._try(self._cache.flush)
        return None

    def save_overload(self, *args: Any) -> None:
        """Put a compiled function into the cache, if that is possible."""
        self._try(self._cache.save_overload, *args)

    def _try(self, action: Callable[..., None], *args: Any) -> None:
        try:
            action(*args)
        except Exception as error:  # a full disk, a folder that has gone
            _warn(_NOT_CACHED, _reason(error))


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".split("\n")[0][:100]


def _warn(message: str, reason: str) -> None:
    """Warn on the first trouble of a kind; the rest is more of the same."""
    if message not in _told:
        _told.add(message)
        warn(ParentageWarning(message.format(reason=reason)))
