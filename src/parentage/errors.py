"""What can go wrong, as types: every error and warning the package raises on purpose.

::

    ParentageError (ValueError)
    ├── InputError            bad file, table, option or name: the user can fix it
    │   ├── TableError        a table that cannot be read or used
    │   │   └── UndecidedError  decisions that only the user can take, all of them at once
    │   ├── ListsError        candidate lists that cannot be read or used
    │   └── NotFittedError    an estimator that has learned nothing yet (also an AttributeError)
    ├── ConstraintError       contradictory or infeasible constraints, culprits named
    │   └── InfeasibleError   names are right, but no network satisfies them all, or none of those
    │                         that do has a score: no row has a required family complete
    ├── ResourceError         what was asked cannot fit in memory or arithmetic
    ├── WorkersError          workers of a cluster or a pool were lost, and not replaced
    └── MissingExtraError     an optional library is absent; the message has the pip command
    ParentageWarning (UserWarning)
    ├── DataWarning           a column or file that is legal but suspicious
    │   └── DecisionWarning   what ``auto`` decided
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
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from types import FrameType

_Item = TypeVar("_Item")

Reader = Literal["python", "command line", "estimator"]

READER: ContextVar[Reader] = ContextVar("READER", default="python")
"""Who reads what is raised now: callers of functions, or of the estimator."""

TAKEN: ContextVar[Collection[str] | None] = ContextVar("TAKEN", default=None)
"""Keywords of the public function that was called; None where none was."""

ESTIMATOR = {
    "score": "criterion", "threads": "n_jobs", "seed": "random_state", "table": "X",
    **{name: name for name in ("max_parents", "constraints", "prior", "missing", "discretize",
                               "target", "smoothing", "time_limit", "auto")},
}  # fmt: skip
"""Settings that the estimator has, and their names there."""

OF_READING = ("drop", "keep", "counts", "na", "categorical", "recipe", "decimal", "header",
              "encoding", "format", "sheet", "skip_rows")  # fmt: skip
"""Settings of reading that the estimator does not have: a table is read before."""

OF_ESTIMATED = ("missing", "discretize")
"""Settings of reading that the estimator has."""

OF_ADVANCED = ("rules", "width", "engine", "gap_limit", "complete", "effort", "exchange",
               "log_base")  # fmt: skip
"""Settings that functions take together, as one :class:`parentage.Advanced`."""


FLAGS = {"table": "data"}
"""Options of the command line that are not named like their setting."""


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

    The value ``...`` is whatever the reader has; ``also`` is what has to be typed with it.

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
    >>> Way("table", ...).typed("python"), Way("table", ...).typed("command line")
    ('table=…', '--data TABLE')
    >>> Way("score", "bic").typed("estimator"), Way("keep", ["year"]).typed("estimator")
    ("criterion='bic'", "parentage.read_table(X, keep=['year']) in place of X")
    """

    setting: str
    value: object
    effect: str = ""
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
        flag = FLAGS.get(self.setting, self.setting.rstrip("_").replace("_", "-"))
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


class _Message(Exception):  # noqa: N818  # the base of errors and of warnings
    """A message, the setting it is about, and the ways out, written for whoever reads them."""

    def __init__(self, message: str, *ways: Way | str, about: Way | None = None) -> None:
        self.message, self.ways, self.about = message, ways, about
        super().__init__(self.text(READER.get()))

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


class ParentageError(_Message, ValueError):
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


class InputError(ParentageError):
    """Input that the user can fix."""


class TableError(InputError):
    """A table that cannot be read or used."""


@dataclass(frozen=True)
class Objection:
    """One thing about a table that somebody has to decide, and what is recommended.

    Parameters
    ----------
    column
        The name of the column; ``""`` for the whole table.
    seen
        What was seen; of a column, the rest of a sentence that begins with it.
    ways
        What can be done, each with its effect.
    advice
        Those of the ways that are recommended, or other settings; nothing if the table may stay
        as it is.
    why
        The reason for the advice, where that is not plain.
    refused
        The table cannot be used without a decision.
    hint
        Said only where something else has to be decided anyway.
    also
        Other columns that the same is seen of and recommended for.
    example
        The end of the sentence, which quotes a value. It may identify a person: messages show it,
        recipes, files and reports do not.
    """

    column: str
    seen: str
    ways: tuple[Way, ...] = ()
    advice: tuple[Way, ...] = ()
    why: str = ""
    refused: bool = False
    hint: bool = False
    also: str = ""
    example: str = ""

    @property
    def who(self) -> str:
        """The beginning of the sentence about a column."""
        others = f"(and {self.also}) " if self.also else ""
        return f"column {self.column!r} {others}" if self.column else ""

    def typed(self, reader: Reader) -> str:
        """Return the recommended settings as they are typed."""
        return _together(self.advice, reader)

    def others(self) -> list[Way]:
        """Return the ways that are not the recommended one."""
        own = [(way.setting, way.value) for way in self.advice]
        return [way for way in self.ways if (way.setting, way.value) not in own]

    def line(self, reader: Reader) -> str:
        """Return what was seen and what to type, in one line."""
        rest = [_words(way, reader) for way in self.others()]
        reason = f", {self.why}" if self.why else ""
        advised = f": {self.typed(reader)}{reason}" if self.advice else ""
        other = f" (or {', '.join(rest)})" if rest else ""
        if len(rest) > 1 and self.refused and not self.advice:
            other = f": type {', or '.join(rest)}"
        return f"{self.who}{self.seen}{self.example}{advised}{other}"


def _together(ways: Iterable[Way], reader: Reader) -> str:
    """Return settings as they are typed behind a command, or as keywords of ``read_table``."""
    if reader == "command line":
        return " ".join(way.typed(reader) for way in ways)
    return ", ".join(f"{way.setting}={way.value!r}" for way in ways)


def _words(way: Way, reader: Reader) -> str:
    if reader != "python":
        return way.words(reader)
    typed = _together([way] if way.also is None else [way, way.also], reader)
    return f"{typed} {way.effect}".strip()


class UndecidedError(TableError):
    """Decisions about a table that are left to the user, with one call that takes them all.

    ``remedy`` are the settings that make the table readable; none if there is a reason, ``beyond``,
    why all of them would not be enough. ``calls`` are the commands to type instead of what was
    typed, ``auto`` whether what was called can decide by itself; ``given`` are the parameters that
    an estimator has, which the call for it repeats.
    """

    def __init__(
        self,
        objections: Sequence[Objection],
        source: str = "",
        remedy: Sequence[Way] = (),
        beyond: str = "",
    ) -> None:
        self.objections, self.source = tuple(objections), source
        self.remedy, self.beyond = tuple(remedy), beyond
        self.calls: tuple[str, ...] = ()
        self.auto = True
        self.given: Mapping[str, object] = {}
        ways = [way for one in objections for way in (*one.advice, *one.others())]
        first = objections[0]
        super().__init__(f"{first.who}{first.seen}{first.example}", *distinct(ways))

    def repeating(self, given: Mapping[str, object]) -> UndecidedError:
        """Return the same with parameters of the estimator in the call that it ends with."""
        self.given = given
        self.args = (self.text("estimator"),)
        return self

    def _place(self, reader: Reader) -> str:
        """Say whose options the decisions are, where what was called does not have them all."""
        taken, ways = TAKEN.get(), [way for way in self.ways if isinstance(way, Way)]
        here = reader != "python" or taken is None or all(way.setting in taken for way in ways)
        return "" if here else " (options of parentage.read_table)"

    def text(self, reader: Reader) -> str:
        """Return the list of decisions, and one command or call that takes all of them."""
        named = self.source not in ("", "frame", "<bytes>")
        who = self.source if named else "the table"
        open_ones = [one for one in self.objections if one.refused or one.advice]
        number = counted(len(open_ones), "decision")
        lines = [f"{who} needs {number}{self._place(reader)}:"]
        lines += [f"  {one.line(reader)}" for one in open_ones]
        left = [one for one in self.objections if not (one.refused or one.advice)]
        lines += ["Also seen, and left as it is:"] * bool(left)
        lines += [f"  {one.line(reader)}" for one in left]
        if self.beyond:
            return "\n".join([*lines, f"These decisions are not enough: {self.beyond}"])
        if not self.remedy:
            return "\n".join(lines)
        lead, auto = "Use", "auto=True"
        own = reader == "estimator" and all(way.setting in ESTIMATOR for way in self.remedy)
        repeated = [Way(n, v) for n, v in self.given.items() if own or n in OF_ESTIMATED]
        decided = [way.setting for way in self.remedy]
        repeated = [way for way in repeated if way.setting not in decided]
        settings = _together([*repeated, *self.remedy], reader)
        if reader == "command line":
            lead, auto = "Type", "--auto"
            call = "\n  ".join(self.calls)
        elif own:
            call = f"parentage.ParentageLearner({settings})"
        else:
            frame = "X" if reader == "estimator" else "frame"
            lead += " in place of X" if reader == "estimator" else ""
            call = f"parentage.read_table({repr(self.source) if named else frame}, {settings})"
        other = f" (or let {auto} decide the same)" if self.auto else ""
        return "\n".join([*lines, f"{lead}{other}:", f"  {call}"])


class ListsError(InputError):
    """Candidate lists that cannot be read or used."""


class NotFittedError(InputError, AttributeError):
    """An estimator is asked for what it has not learned yet."""


class ConstraintError(ParentageError):
    """Constraints that contradict each other or leave nothing feasible."""


class InfeasibleError(ConstraintError):
    """Constraints on known variables that no network satisfies together."""


class ResourceError(ParentageError):
    """A request that cannot fit in memory or in the arithmetic."""


class WorkersError(ParentageError):
    """Workers of a cluster or a pool that were lost, or cannot be reached."""


class MissingExtraError(ParentageError):
    """An optional library is needed and not installed."""

    def __init__(self, purpose: str, library: str, extra: str) -> None:
        super().__init__(f"{purpose} needs {library}: pip install 'parentage[{extra}]'")


class ParentageWarning(_Message, UserWarning):
    """Base of every warning the package issues."""


class DataWarning(ParentageWarning):
    """Legal but suspicious input."""


class DecisionWarning(DataWarning):
    """What ``auto`` decided about a table."""

    def __init__(self, objections: Sequence[Objection], most: int) -> None:
        self.objections, self.most = tuple(objections), most
        super().__init__("decided automatically")

    def text(self, reader: Reader) -> str:
        """Return every decision with its reason and what would change it."""
        lines = [f"decided by {'--auto' if reader == 'command line' else 'auto=True'}:"]
        every = len(self.objections) <= self.most
        shown = self.objections if every else self.objections[: self.most - 1]
        lines += [f"  {decision_text(one, reader)}" for one in shown]
        rest = len(self.objections) - len(shown)
        lines += [f"  … and {rest} more; the recipe has all of them"] if rest else []
        return "\n".join(lines)


def decision_text(one: Objection, reader: Reader) -> str:
    """Return what was decided, why, and what would change it.

    >>> way, other = Way("drop", ["id"]), Way("keep", ["id"], "to use it as it is")
    >>> one = Objection("id", "is an identifier", (way, other), (way,))
    >>> decision_text(one, "command line")
    "--drop id: column 'id' is an identifier (--keep id to use it as it is)"
    """
    others = [_words(way, reader) for way in one.others()[:2]]
    other = f" ({' or '.join(others)})" if others else ""
    reason = f", {one.why}" if one.why else ""
    return f"{one.typed(reader)}: {one.who}{one.seen}{one.example}{reason}{other}"


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

IN_CONSTRAINTS = {
    name: f"pass constraints=parentage.Constraints({given})"
    for name, given in {
        "require": 'required=[("A", "B")]',
        "required": 'required=[("A", "B")]',
        "forbid": 'forbidden=[("A", "B")]',
        "forbidden": 'forbidden=[("A", "B")]',
        "tiers": 'tiers=[["A"], ["B", "C"]]',
    }.items()
}
"""What to do instead where a function takes constraints together."""


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
    return f"did you mean {close[0]!r}?" if close else f"known: {shown_names(names, 20)}"


def distinct(items: Iterable[_Item]) -> list[_Item]:
    """Return items without those that are equal to an earlier one; they may be unhashable.

    >>> distinct([[1], [2], [1]])
    [[1], [2]]
    """
    found: list[_Item] = []
    for item in items:
        if item not in found:
            found.append(item)
    return found


def shortened(text: str, width: int) -> str:
    """Leave out the middle of a text that is longer than its room.

    >>> shortened("age_at_admission", 9)
    'age_…sion'
    """
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    >>> counted(1, "arc"), counted(1200, "row"), counted(2, "class", "classes")
    ('1 arc', '1,200 rows', '2 classes')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(words: Sequence[str], most: int = 10, separator: str = ", ") -> str:
    """Return the first of many words, and how many more there are.

    >>> listed(["age", "sex", "bmi"], 2), listed(["age", "sex"], 2)
    ('age, sex and 1 more', 'age, sex')
    """
    more = len(words) - most
    return separator.join(words[:most]) + (f" and {more:,} more" if more > 0 else "")


def shown_names(names: Sequence[str], most: int = 10, separator: str = ", ") -> str:
    """Return the first names of many.

    >>> shown_names(["age", "sex", "bmi"], 2)
    'age, sex, …'
    """
    return separator.join([*names[:most], *(["…"] if len(names) > most else [])])
