"""The one place that says how kernels are compiled, and when they are not.

``nogil`` because threads run over chunks; ``cache`` because compiling costs seconds;
no ``fastmath``, because safe pruning rests on the arithmetic being what it says.

A kernel (:class:`Kernel`) is a Python function that Numba compiles when it is called. Compiling the
kernels of a job takes half a minute, and even Numba's import a third of a second, so a small job
runs without: a kernel that says how much ``work`` a call is runs as *plain* Python, or as the NumPy
version beside it, as long as that is shorter than compiling it, or than loading it where the cache
has it. Both do the same arithmetic on whole numbers, so results do not depend on it
(``tests/test_plain.py``).

The time that compiling takes goes to a clock of its own (:data:`parentage.work.stop.compiling`), so
that no time limit counts it. Settings of Numba under which nothing can run are refused before it is
imported.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
import time
import types
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from parentage.errors import InputError
from parentage.kernels._cache import is_cached, make_dispatcher
from parentage.work.tuning import TUNING

if TYPE_CHECKING:
    from collections.abc import Callable

JIT: dict[str, Any] = {"nogil": True, "cache": True, "boundscheck": False, "error_model": "numpy"}

INLINE: dict[str, Any] = {**JIT, "inline": "always"}
"""For parts that are called in one place: compiled with their caller, once, not on their own."""


_linking = threading.RLock()


class Kernel:
    """A function that is compiled when it is called, unless the work is small.

    Parameters
    ----------
    function
        What it computes. Other kernels that it calls are among its globals.
    options
        Numba's.
    work
        Takes the same arguments and returns about how many microseconds the plain version takes;
        None: it is always compiled.
    wraps
        Whether its arithmetic is meant to be modulo 2^64, as that of hash functions is; NumPy warns
        of any other overflow.
    make
        Builds what Numba compiles a call to, for an instruction or a :func:`hook`; None: Numba
        compiles the function.
    """

    only: ClassVar[Literal["plain", "compiled"] | None] = None
    """For tests and for compiling ahead: every kernel runs plainly that can, or none does."""

    plain: ClassVar[float] = 0.0
    """CPU seconds of plain work of this process: a busy machine must not make it compile."""

    loadable: ClassVar[float] = 0.0
    """Those of kernels that the cache has."""

    __name__: str

    def __init__(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        work: Callable[..., float] | None = None,
        wraps: bool = False,
        make: Callable[[], Any] | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.options, self.work = function, options, work
        self._wraps, self._make = wraps, make or self._compile
        self._numpy: Callable[..., Any] | None = None
        self._plain: Callable[..., Any] | None = None
        self._dispatcher: Any = None
        self._spent = 0.0
        self.codes: dict[type, Callable[..., Any]] = {}

    def for_terms(self, kind: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register the code of a :func:`hook` for terms of one kind."""

        def register(code: Callable[..., Any]) -> Callable[..., Any]:
            self.codes[kind] = code
            return code

        return register

    def as_numpy(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Register what runs instead of the kernel's own Python when the work is small."""
        self._numpy = function
        return function

    def __call__(self, *args: Any) -> Any:
        """Run plainly or compiled."""
        if self.work is not None and self._is_short(args):
            began = time.thread_time()
            found = self.interpreted(*args)
            self._add(time.thread_time() - began)
            return found
        return self.compiled(*args)

    def _is_short(self, args: tuple[Any, ...]) -> bool:
        """Whether plain Python takes less time than loading or compiling the kernel would."""
        if Kernel.only is not None:
            return Kernel.only == "plain"
        if self._dispatcher is not None and self._dispatcher.overloads:
            return False
        seconds = 1e-6 * self.work(*args)  # type: ignore[misc]  # there is one
        if not is_cached(self.py_func):
            return Kernel.plain + seconds <= TUNING.plain_missing
        if "numba" in sys.modules:
            return self._spent + seconds <= TUNING.plain_load
        return Kernel.loadable + seconds <= TUNING.plain_cached

    @classmethod
    def expect(cls, seconds: float) -> None:
        """Have missing kernels compiled at once if work that comes is too much to be done plainly.

        Otherwise a part of it would be, and a time limit counts that; it does not count compiling.
        """
        if cls.plain + seconds > TUNING.plain_missing:
            cls.plain = max(cls.plain, TUNING.plain_missing)

    def _add(self, seconds: float) -> None:
        """Book plain work."""
        self._spent += seconds
        Kernel.plain += seconds
        Kernel.loadable += seconds if is_cached(self.py_func) else 0.0

    @property
    def interpreted(self) -> Callable[..., Any]:
        """The kernel, and all that it calls, without Numba."""
        if self._plain is None:
            self._plain = self._numpy or plainly(self.py_func)
            if self._wraps:
                import numpy as np

                self._plain = np.errstate(over="ignore")(self._plain)
        return self._plain

    @property
    def compiled(self) -> Any:
        """Numba's dispatcher, or what else it compiles a call to; made on first use."""
        with _linking:
            if self._dispatcher is None:
                self._dispatcher = self._make()
        return self._dispatcher

    def _compile(self) -> Any:
        own = linked(self.py_func, lambda kernel: kernel.compiled)
        return make_dispatcher(own, self.options)


def hook(function: Callable[..., Any]) -> Kernel:
    """Make a part of kernels whose code depends on the type of its argument ``terms``.

    The code for each type is registered by :meth:`Kernel.for_terms`.
    """
    at = list(inspect.signature(function).parameters).index("terms")

    def interpreted(*args: Any) -> Any:
        return plainly(kernel.codes[type(args[at])])(*args)

    def make() -> Any:
        """Return a function that stands for the code for the type of the terms, which Numba sees.

        LLVM inlines it. Numba's own ``inline="always"`` loses what such code writes into arrays.
        """
        from numba.extending import overload

        def choose(*types_: Any) -> Callable[..., Any] | None:
            kind: Any = getattr(types_[at], "instance_class", None)
            code = kernel.codes.get(kind)
            return code and linked(code, lambda part: part.compiled)

        choose.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # Numba asks
        options: Any = {name: JIT[name] for name in ("nogil", "boundscheck", "error_model")}
        overload(function, jit_options=options)(choose)
        return function

    kernel = Kernel(function, {}, make=make)
    kernel.as_numpy(interpreted)
    return kernel


@functools.cache
def plainly(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose kernels run without Numba."""
    return linked(function, lambda kernel: kernel.interpreted)


def linked(function: Callable[..., Any], choose: Callable[[Kernel], Any]) -> types.FunctionType:
    """Return a function with other globals: every kernel that it calls is what ``choose`` says."""
    names = {"__name__", "__builtins__", *_names_in(function.__code__)}
    own = {name: value for name, value in function.__globals__.items() if name in names}
    for name, value in own.items():
        if isinstance(value, Kernel):
            own[name] = choose(value)
    copy = types.FunctionType(
        function.__code__, own, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__qualname__ = function.__qualname__
    return copy


def _names_in(code: types.CodeType) -> set[str]:
    """Return the names that a function uses, with those of the functions inside it."""
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return set(code.co_names).union(*map(_names_in, inner))


def njit(
    work: Callable[..., float] | None = None, wraps: bool = False, **options: Any
) -> Callable[[Callable[..., Any]], Any]:
    """Make a kernel of a function; options are those of :func:`numba.njit`."""
    return lambda function: Kernel(function, options, work, wraps)


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
