"""What can go wrong, as types: every error and warning the package raises on purpose.

::

    ParentageError (ValueError)
    ├── InputError            bad file, table, option or name: the user can fix it
    │   ├── TableError        a table that cannot be read or used
    │   │   └── NoColumnError a column that it does not have
    │   ├── ListsError        candidate lists that cannot be read or used
    │   └── NotFittedError    an estimator that has learned nothing yet (also an AttributeError)
    ├── ConstraintError       contradictory or infeasible constraints, culprits named
    │   ├── InfeasibleError   names are right, but no network satisfies them all
    │   └── UnseenError       required families that no row has complete, so they have no score
    ├── ResourceError         what was asked cannot fit in memory or arithmetic
    ├── WorkersError          workers of a cluster or a pool were lost, and not replaced
    └── MissingExtraError     an optional library is absent; the message has the pip command
    ParentageWarning (UserWarning)
    ├── DataWarning           a column or file that is legal but suspicious
    ├── NotSavedWarning       work that continues, but that its checkpoint cannot take
    └── UnprovenWarning       a result without the proof that was hoped for; quotes the gap

An error message says what is wrong, where (column, line, value) and what to type instead. What to
type depends on who reads it, so it is kept as data: a :class:`Way` out names a setting and its
value; Python shows ``missing='drop'``, the command line ``--missing drop``. A way out that is not
a setting ("rename one of them") is plain text. The command line turns every
:class:`ParentageError` into a message on stderr and exit code 2.
"""

from __future__ import annotations

import difflib
import shlex
import sys
import warnings
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from types import FrameType

Reader = Literal["python", "command line", "estimator"]

READER: ContextVar[Reader] = ContextVar("READER", default="python")
"""Who reads what is raised now: callers of functions, or of the estimator."""

TAKEN: ContextVar[Collection[str] | None] = ContextVar("TAKEN", default=None)
"""Keywords of the public function that was called; None where none was."""

ESTIMATOR = {
    "score": "criterion", "threads": "n_jobs", "seed": "random_state", "table": "X",
    **{name: name for name in ("max_parents", "constraints", "prior", "missing", "discretize",
                               "target", "smoothing", "time_limit", "unseen")},
}  # fmt: skip
"""Settings that the estimator has, and their names there."""

OF_READING = ("drop", "keep", "counts", "na", "categorical", "recipe", "decimal", "header",
              "encoding", "format", "sheet")  # fmt: skip
"""Settings of reading that the estimator does not have: a table is read before."""

OF_ADVANCED = ("rules", "width", "engine", "gap_limit", "complete", "effort", "exchange",
               "log_base")  # fmt: skip
"""Settings that functions take together, as one :class:`parentage.Advanced`."""


class Bytes(int):
    """A size of memory: a number in Python, with its unit on the command line.

    Examples
    --------
    >>> Way("memory", Bytes(5 * 10**8)).typed("command line")
    '--memory 500MB'
    >>> Way("memory", Bytes(5 * 10**8)).typed("python")
    'memory=500000000'
    """

    def __str__(self) -> str:
        for unit, size in (("GB", 10**9), ("MB", 10**6)):
            if self >= size and self % size == 0:
                return f"{self // size}{unit}"
        return int.__repr__(self)


@dataclass(frozen=True)
class Way:
    """One way out of an error: a setting, its value, and what that does.

    The value ``...`` is whatever the reader has; ``flag`` is the option's name where it differs;
    ``also`` is what has to be typed with it.

    Examples
    --------
    >>> Way("missing", "drop").typed("python"), Way("missing", "drop").typed("command line")
    ("missing='drop'", '--missing drop')
    >>> Way("header", False).typed("python"), Way("header", False).typed("command line")
    ('header=False', '--no-header')
    >>> Way("drop", ["a b"]).typed("command line")
    "--drop 'a b'"
    >>> Way("na", []).typed("python"), Way("na", []).typed("command line")
    ('na=[]', '--na none')
    >>> Way("keep", ["year"], also=Way("discretize", "mdl")).typed("command line")
    '--keep year --discretize mdl'
    >>> Way("table", ...).typed("python"), Way("table", ..., flag="data").typed("command line")
    ('table=…', '--data TABLE')
    >>> Way("score", "bic").typed("estimator"), Way("keep", ["year"]).typed("estimator")
    ("criterion='bic'", "parentage.read_table(X, keep=['year']) in place of X")
    """

    setting: str
    value: object
    effect: str = ""
    flag: str = ""
    also: Way | None = None

    def typed(self, reader: Reader) -> str:
        """Return what to type."""
        if reader == "estimator":
            return self._for_estimator()
        if self.also is not None:
            own = replace(self, also=None).typed(reader)
            return f"{own}{', ' if reader == 'python' else ' '}{self.also.typed(reader)}"
        if reader == "python":
            own = f"{self.setting}={'…' if self.value is ... else repr(self.value)}"
            taken = TAKEN.get()
            if taken is not None and self.setting not in taken:
                if self.setting in OF_READING:
                    return f"read_table(…, {own}) as the source"
                if self.setting in OF_ADVANCED:
                    return f"advanced=parentage.Advanced({own})"
            return own
        flag = self.flag or self.setting.rstrip("_").replace("_", "-")
        if self.value is ...:
            return f"--{flag} {self.setting.upper()}"
        if isinstance(self.value, bool):
            return f"--{flag}" if self.value else f"--no-{flag}"
        values = self.value if isinstance(self.value, list | tuple) else [self.value]
        if not values:
            return f"--{flag} none"
        return " ".join(f"--{flag} {shlex.quote(str(value))}" for value in values)

    def _for_estimator(self) -> str:
        """Return a parameter of the estimator, or the call that has it."""
        if self.setting in ESTIMATOR:
            own = replace(self, setting=ESTIMATOR[self.setting], also=None).typed("python")
            return own if self.also is None else f"{own}, {self.also.typed('estimator')}"
        if self.setting in OF_READING:
            return f"parentage.read_table(X, {self.typed('python')}) in place of X"
        return f"parentage.learn(X, {self.typed('python')})"

    def words(self, reader: Reader) -> str:
        """Return what to type and what it does."""
        return self.typed(reader) + (f" {self.effect}" if self.effect else "")


class _Told:
    """A message, the setting it is about, and the ways out, written for whoever reads them."""

    message: str
    ways: tuple[Way | str, ...]
    about: Way | None

    def text(self, reader: Reader) -> str:
        """Return the whole message for one reader."""
        message = self.message
        if self.about is not None:
            message = f"{self.about.typed(reader)} {message}"
        settings = [way for way in self.ways if isinstance(way, Way)]
        clauses = [way for way in self.ways if isinstance(way, str)]
        if settings:
            *others, last = [way.words(reader) for way in settings]
            before = (", or " if any(way.effect for way in settings) else " or ") if others else ""
            verb = {"python": "pass", "command line": "type", "estimator": "use"}[reader]
            clauses.insert(0, f"{verb} {', '.join(others)}{before}{last}")
        return f"{message}; {', or '.join(clauses)}" if clauses else message


class ParentageError(_Told, ValueError):
    """Base of every error the package raises on purpose.

    Examples
    --------
    >>> error = ParentageError("a cell is missing", Way("missing", "drop", "to leave rows out"))
    >>> print(error)
    a cell is missing; pass missing='drop' to leave rows out
    >>> print(error.text("command line"))
    a cell is missing; type --missing drop to leave rows out
    >>> print(ParentageError("bad names", Way("header", False), "rename the columns"))
    bad names; pass header=False, or rename the columns
    """

    def __init__(self, message: str, *ways: Way | str, about: Way | None = None) -> None:
        self.message, self.ways, self.about = message, ways, about
        super().__init__(self.text(READER.get()))


class InputError(ParentageError):
    """Input that the user can fix."""


class TableError(InputError):
    """A table that cannot be read or used."""


class NoColumnError(TableError):
    """A column that a table does not have."""

    def __init__(self, name: str, names: Iterable[str]) -> None:
        super().__init__(f"no column {name!r}; {did_you_mean(name, names)}")


class ListsError(InputError):
    """Candidate lists that cannot be read or used."""


class NotFittedError(InputError, AttributeError):
    """An estimator is asked for what it has not learned yet."""


class ConstraintError(ParentageError):
    """Constraints that contradict each other or leave nothing feasible."""


class InfeasibleError(ConstraintError):
    """Constraints on known variables that no network satisfies together."""


class UnseenError(ConstraintError):
    """Required parents that are never observed in one row with their child."""


class ResourceError(ParentageError):
    """A request that cannot fit in memory or in the arithmetic."""


class WorkersError(ParentageError):
    """Workers of a cluster or a pool that were lost, or cannot be reached."""


class MissingExtraError(ParentageError):
    """An optional library is needed and not installed."""

    def __init__(self, purpose: str, library: str, extra: str) -> None:
        super().__init__(f"{purpose} needs {library}: pip install 'parentage[{extra}]'")


class ParentageWarning(_Told, UserWarning):
    """Base of every warning the package issues."""

    def __init__(self, message: str, *ways: Way | str, about: Way | None = None) -> None:
        self.message, self.ways, self.about = message, ways, about
        super().__init__(self.text(READER.get()))


class DataWarning(ParentageWarning):
    """Legal but suspicious input."""


class NotSavedWarning(ParentageWarning):
    """Work continues that cannot be saved in its checkpoint."""


class UnprovenWarning(ParentageWarning):
    """A result without the proof that was hoped for."""


def warn(warning: ParentageWarning) -> None:
    """Issue a warning that points to the line which called the package.

    The depth at which a warning is issued changes with the code and with the way that leads there,
    so the line is found among the frames: it is the caller of the outermost one that is ours.
    """
    caller = sys._getframe()
    frame: FrameType | None = caller
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == __name__.partition(".")[0]:
            caller = frame.f_back or frame
        frame = frame.f_back
    warnings.warn_explicit(
        warning,
        type(warning),
        caller.f_code.co_filename,
        caller.f_lineno,
        caller.f_globals.get("__name__"),
        caller.f_globals.setdefault("__warningregistry__", {}),
    )


FOREIGN = {
    "blacklist": ("forbid", "constraints"),
    "whitelist": ("require", "constraints"),
    "maxp": ("max-parents", "max_parents"),
    "max_indegree": ("max-parents", "max_parents"),
}
"""What bnlearn and pgmpy call settings, and their names here."""


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Return a hint that ends an error message about an unknown name.

    >>> did_you_mean("smokr", ["smoker", "age"])
    "did you mean 'smoker'?"
    >>> did_you_mean("zzz", ["smoker", "age"])
    'known: smoker, age'
    >>> did_you_mean("blacklist", ["cluster", "forbid"])
    "did you mean 'forbid'?"
    """
    names = [str(name) for name in known]
    close = (
        [name for name in FOREIGN.get(wrong, ()) if name in names]
        or difflib.get_close_matches(wrong, names, n=1)
        or [name for name in names if name.lower() == wrong.lower()]
    )
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return f"known: {shown}"


def shown_names(names: Sequence[str], most: int = 10) -> str:
    """Return the first names of many.

    >>> shown_names(["age", "sex", "bmi"], 2)
    'age, sex, …'
    """
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
