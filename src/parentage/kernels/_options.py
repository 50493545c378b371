"""The one place that says how kernels are compiled.

``nogil`` because threads run over chunks; ``cache`` because compiling costs seconds;
no ``fastmath``, because safe pruning rests on the arithmetic being what it says.

Compiling happens once on a machine; :data:`compiling` measures it, so that time limits leave it
out (:class:`parentage.work.stop.Stop`).

The cache is a convenience: where it cannot be written (a read-only installation and home) or is
damaged, kernels are compiled in memory, and one warning says so. Settings of Numba under which
nothing can run are refused before it is imported.
"""

from __future__ import annotations

import functools
import os
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any

from parentage.errors import InputError, ParentageWarning

if TYPE_CHECKING:
    from collections.abc import Callable

JIT: dict[str, Any] = {"nogil": True, "cache": True, "boundscheck": False, "error_model": "numpy"}

INLINE: dict[str, Any] = {**JIT, "inline": "always"}
"""For parts that are called in one place: compiled with their caller, once, not on their own."""

_told: set[str] = set()


class Compiling:
    """The time this process has spent compiling; loading what is compiled does not count.

    Parameters
    ----------
    tell
        Called when compiling begins for the first time.
    """

    def __init__(self, tell: Callable[[], None] | None = None) -> None:
        self.tell = tell
        self.seconds = 0.0
        self._lock = threading.Lock()
        self._depth, self._began = 0, 0.0
        self._counts = False

    def timed(self, compile_one: Callable[..., Any], *args: Any) -> Any:
        """Compile or load one signature of a kernel, with those it calls."""
        with self._lock:
            if self._depth == 0:
                self._began, self._counts = time.monotonic(), False
            self._depth += 1
        try:
            return compile_one(*args)
        finally:
            with self._lock:
                self._depth -= 1
                if self._depth == 0 and self._counts:
                    self.seconds += time.monotonic() - self._began

    def begins(self) -> None:
        """Note that something is compiled and not loaded."""
        self._counts = True
        tell, self.tell = self.tell, None
        if tell is not None:
            tell()


compiling = Compiling()
"""Of this process."""


def check_settings() -> None:
    """Refuse what the environment says to Numba and no kernel can run with."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0").strip() not in ("", "0"):
        raise InputError(
            "NUMBA_DISABLE_JIT is set: the kernels would run as plain Python, with other "
            "arithmetic; type unset NUMBA_DISABLE_JIT"
        )
    threads = os.environ.get("NUMBA_NUM_THREADS")
    if threads is not None and not (threads.strip().isdecimal() and int(threads[:9]) > 0):
        raise InputError(
            f"NUMBA_NUM_THREADS is {threads!r}, which Numba refuses; "
            "type unset NUMBA_NUM_THREADS, or export NUMBA_NUM_THREADS=1"
        )


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function as :func:`numba.njit` does, with a cache that may fail."""
    import numba

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            dispatcher = numba.njit(**options)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            _tell_once("neither the installation nor your cache folder can be written")
            dispatcher = numba.njit(**{**options, "cache": False})(function)
        dispatcher._cache = PatientCache(dispatcher._cache)
        dispatcher.compile = functools.partial(compiling.timed, dispatcher.compile)
        return dispatcher

    return decorate


class PatientCache:
    """Numba's cache of one function, whose failures mean compiling in memory."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *args: Any) -> Any:
        """Return what is in the cache; None, and an empty cache, where it is damaged."""
        found = None
        try:
            found = self._cache.load_overload(*args)
        except Exception as error:  # whatever unpickling makes of half a file
            _tell_once(f"a file in it is damaged: {_reason(error)}")
            self._try(self._cache.flush)
        if found is None:
            compiling.begins()
        return found

    def save_overload(self, *args: Any) -> None:
        """Put a compiled function into the cache, if that is possible."""
        self._try(self._cache.save_overload, *args)

    def _try(self, action: Callable[..., None], *args: Any) -> None:
        try:
            action(*args)
        except Exception as error:  # a full disk, a folder that has gone
            _tell_once(f"it cannot be written: {_reason(error)}")


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".split("\n")[0][:100]


def _tell_once(what: str) -> None:
    """Warn on the first trouble with the cache; the rest is more of the same."""
    if not _told:
        _told.add(what)
        warnings.warn(
            f"the cache of compiled kernels cannot be used ({what}); they are compiled in memory, "
            "which takes up to half a minute. A folder for it: export NUMBA_CACHE_DIR=FOLDER",
            ParentageWarning,
            stacklevel=2,
        )
