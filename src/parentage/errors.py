"""What can go wrong, as types: every error and warning the package raises on purpose.

::

    ParentageError (ValueError)
    ├── InputError            bad file, table, option or name: the user can mend it
    │   ├── TableError        a table that cannot be read or used
    │   └── ListsError        candidate lists that cannot be read or used
    ├── ConstraintError       contradictory or infeasible constraints, culprits named
    ├── ResourceError         what was asked cannot fit in memory or arithmetic
    └── MissingExtraError     an optional library is absent; the message has the pip command
    ParentageWarning (UserWarning)
    ├── DataWarning           a column or file that is legal but suspicious
    └── UnprovenWarning       a result without the proof that was hoped for; quotes the gap

An error message says what is wrong, where (column, line, value) and what to type instead.
The command line turns every :class:`ParentageError` into a message on stderr and exit code 2.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class ParentageError(ValueError):
    """Base of every error the package raises on purpose."""


class InputError(ParentageError):
    """Input that the user can mend."""


class TableError(InputError):
    """A table that cannot be read or used."""


class ListsError(InputError):
    """Candidate lists that cannot be read or used."""


class ConstraintError(ParentageError):
    """Constraints that contradict each other or leave nothing feasible."""


class ResourceError(ParentageError):
    """A request that cannot fit in memory or in the arithmetic."""


class MissingExtraError(ParentageError):
    """An optional library is needed and not installed."""

    def __init__(self, purpose: str, library: str, extra: str) -> None:
        super().__init__(f"{purpose} needs {library}: pip install 'parentage[{extra}]'")


class ParentageWarning(UserWarning):
    """Base of every warning the package issues."""


class DataWarning(ParentageWarning):
    """Legal but suspicious input."""


class UnprovenWarning(ParentageWarning):
    """A result without the proof that was hoped for."""


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Return a hint that ends an error message about an unknown name.

    >>> did_you_mean("smokr", ["smoker", "age"])
    "did you mean 'smoker'?"
    >>> did_you_mean("zzz", ["smoker", "age"])
    'known: smoker, age'
    """
    names = [str(name) for name in known]
    close = difflib.get_close_matches(wrong, names, n=1) or [
        name for name in names if name.lower() == wrong.lower()
    ]
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return f"known: {shown}"
