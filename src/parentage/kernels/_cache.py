"""The cache of compiled kernels: a convenience that never runs other code than compiling would.

Where it cannot be written (a read-only installation and home) or is damaged, kernels are compiled
in memory, and one warning says so. Every entry names the source of all kernels and what it was
compiled for (:func:`let_data_say_their_owner`).
"""

from __future__ import annotations

import functools
import gc
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

_LOADED_ALONE = (0, 68)
"""The Numba with which machine code is loaded without what only compiling needs.

Numba imports and registers its implementations of all Python and NumPy functions, and SciPy's
linear algebra, before it loads the first kernel, a quarter of a second; it does so again before it
compiles one. Other versions, with which this was not tried, go their own way."""


def make_dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return what :func:`numba.njit` makes of a function, with a cache that may fail."""
    numba = _import_numba()
    try:
        dispatcher = numba.njit(**options)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        _warn(_NOT_CACHED, "neither the installation nor your cache folder is writable")
        options = {**options, "cache": False}
        dispatcher = numba.njit(**options)(function)
    if options.get("cache"):
        let_data_say_their_owner(dispatcher._cache._cache_file)
    let_failures_pass(dispatcher._cache, function.__module__)
    dispatcher.compile = functools.partial(compiling.timed, dispatcher.compile)
    return dispatcher


def _import_numba() -> Any:
    """Import Numba without the collector of cycles, which would look at all of it several times."""
    collects = gc.isenabled()
    gc.disable()
    try:
        import numba
    finally:
        if collects:
            gc.enable()
    return numba


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


def let_data_say_their_owner(files: Any) -> None:
    """Let the data of one kernel say what they were compiled from.

    Numba looks for changes in a kernel's own file only, although the code of kernels that it calls
    is part of its machine code, and writes the index and the data without a lock: of two processes
    that compile different signatures, one can leave the index and the other the data. So the data
    carry the digest of all kernels and their key (signature, processor, bytecode); data with
    another owner are not in the cache, and are overwritten by what is compiled instead.

    ``files`` is a :class:`numba.core.caching.IndexDataCacheFile`.
    """
    save, load = files.save, files.load

    def load_own(key: tuple[Any, ...]) -> Any:
        found = load(key)
        return found[2] if found is not None and found[:2] == (source_digest(), key) else None

    files.save = lambda key, data: save(key, (source_digest(), key, data))
    files.load = load_own


def let_failures_pass(cache: Any, module: str = "") -> None:
    """Let failures of the cache of one function of a module mean compiling in memory.

    ``cache`` is a :class:`numba.core.caching.FunctionCache`.
    """
    load, save = cache.load_overload, cache.save_overload

    def attempt(action: Callable[..., None], *args: Any) -> None:
        try:
            action(*args)
        except Exception as error:  # a full disk, a folder that has gone
            _warn(_NOT_CACHED, _reason(error))

    def load_alone(signature: Any, context: Any) -> Any:
        try:
            if _numba_version() != _LOADED_ALONE or not hasattr(cache, "_load_overload"):
                return load(signature, context)
            from numba.core.runtime.nrt import rtsys

            rtsys.initialize(context)
            return cache._load_overload(signature, context)
        except Exception as error:  # whatever unpickling makes of half a file
            _warn(_DAMAGED, _reason(error))
            attempt(cache.flush)
        return None

    def load_overload(signature: Any, context: Any) -> Any:
        """Return what is in the cache; None, and an empty cache, where it is damaged."""
        found = load_alone(signature, context)
        if found is None and compiling.was_compiled_ahead(module):
            found = load_alone(signature, context)
        if found is None:
            compiling.begins(cached=cache.cache_path is not None)
        return found

    cache.load_overload, cache.save_overload = load_overload, functools.partial(attempt, save)


@functools.cache
def _numba_version() -> tuple[int, int]:
    import numba

    return tuple(numba.version_info.short)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".split("\n")[0][:100]


def _warn(message: str, reason: str) -> None:
    """Warn on the first trouble of a kind; the rest is more of the same."""
    if message not in _told:
        _told.add(message)
        warn(ParentageWarning(message.format(reason=reason)))
