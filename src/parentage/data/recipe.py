"""How a source became a table: what was set, what each column became, what was done to the rows.

A :class:`Recipe` is made when a table is read and stays with it (``table.recipe``); lists and
networks carry it in their account. Its settings and columns can be applied to other rows, next
month's table or the other half of this one (:mod:`parentage.data.applying`); its
:class:`ReadingAccount` says what happened to the rows of this one. As a file it is a small TOML
text, to be read by people and to be used again::

    # 2,000 rows, 7 columns; 1 column left out (id); …
    [settings]
    encoding = "cp1252"
    decimal = ","
    missing = "mode"

    [[column]]
    name = "age"
    states = ["< 40", "[40, 65)", "≥ 65"]
    cuts = [40.0, 65.0]
    fill = "[40, 65)"

``settings`` are those of :class:`parentage.data.settings.Reading`. If there are columns, a table
must fit them: these columns, with these states and cut points. A file of settings alone sets them.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from parentage.data.discretize import AT_MEDIAN
from parentage.data.settings import Reading  # noqa: TC001  # hints are read where it is decoded
from parentage.errors import InputError, counted, shown_names
from parentage.files.atomic import write_text
from parentage.files.decoding import DecodingError, decoded, fields_in, plain
from parentage.files.source import open_source
from parentage.work.settings import changed

if TYPE_CHECKING:
    import os


@dataclass(frozen=True)
class ColumnRecipe:
    """How one column became states.

    Parameters
    ----------
    name
        Its name.
    states
        Its labels, in the order of their codes.
    cuts
        Cut points, if it was discretised: code = number of cut points ≤ x. None: its labels are its
        states.
    rule
        How the cut points were found, as it is typed: ``"mdl"``, ``"quantile:4"``; or that
        ``mdl`` found none (:data:`parentage.data.discretize.AT_MEDIAN`).
    na
        Values that mean missing in this column, besides blank cells and words such as ``NA``.
    fill
        The state that missing cells get; None: they get none.
    """

    name: str
    states: tuple[str, ...]
    cuts: tuple[float, ...] | None = None
    rule: str | None = None
    na: tuple[str, ...] = ()
    fill: str | None = None


@dataclass(frozen=True)
class Decision:
    """What ``auto`` decided, as it would have been typed on the command line.

    Parameters
    ----------
    column
        The column that it is about; ``""`` for the whole table.
    why
        What was seen, and the reason.
    did
        The option that does it.
    instead
        Options that would change it; ``""`` if there are none.
    """

    column: str
    why: str
    did: str
    instead: str = ""

    def __str__(self) -> str:
        other = f" (instead: {self.instead})" if self.instead else ""
        return f"{self.did}: {self.why}{other}"


@dataclass(frozen=True)
class ReadingAccount:
    """What was done to the rows of one table.

    Parameters
    ----------
    source
        The name of the file; ``"frame"`` for a data frame.
    format
        ``"csv"``, ``"arff"`` …; for a frame its library.
    rows_read, rows_dropped
        Rows in the source, and those left out for a missing cell.
    missing
        Missing cells by column, where there are any.
    blanked
        How many of them held a value that means missing.
    left_out
        Columns that were left out, and why.
    constant
        Columns that do not vary.
    lines, empty_lines
        Lines of the source where a column says how often each row occurs, and those of them that
        were left out with the count 0; no lines: every line is one row.
    decisions
        What ``auto`` decided.
    """

    source: str
    format: str
    rows_read: int
    rows_dropped: int = 0
    missing: Mapping[str, int] = field(default_factory=dict)
    blanked: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    constant: tuple[str, ...] = ()
    lines: int = 0
    empty_lines: int = 0
    decisions: tuple[Decision, ...] = ()


@dataclass(frozen=True)
class Recipe:
    r"""How a source became a table, so that it can be done again.

    Parameters
    ----------
    settings
        What was set (:class:`parentage.data.settings.Reading`).
    columns
        The columns of the table, in their order.
    account
        What happened to the rows; None when they are not those of the source any more.

    Examples
    --------
    >>> from parentage import read_table
    >>> table = read_table(b"smoker,age\nyes,41.5\nno,23\nno,?\n",
    ...                    discretize="median", missing="drop")
    >>> print(table.recipe)
    3 rows, 2 columns; 1 value treated as missing (age 1); 1 row dropped for missing values (age 1);
    1 column discretised (age at 32.25)
    """

    settings: Reading
    columns: tuple[ColumnRecipe, ...]
    account: ReadingAccount | None = None

    @property
    def filled(self) -> dict[str, int]:
        """Cells that were filled in or given a state of their own, by column."""
        if self.account is None or self.settings.missing not in ("mode", "state"):
            return {}
        return dict(self.account.missing)

    def column(self, name: str) -> ColumnRecipe:
        """Return the recipe of one column."""
        found = next((column for column in self.columns if column.name == name), None)
        if found is None:
            raise InputError(f"the recipe has no column {name!r}")
        return found

    def select(self, names: Iterable[str]) -> Recipe:
        """Return the recipe of some of the columns."""
        return replace(self, columns=tuple(self.column(name) for name in names))

    def with_states(self, states: Sequence[tuple[str, ...]]) -> Recipe:
        """Return the recipe of a table of other rows, or with other states."""
        pairs = zip(self.columns, states, strict=True)
        columns = tuple(replace(column, states=labels) for column, labels in pairs)
        return replace(self, columns=columns, account=None)

    def parts(self) -> list[str]:
        """Say what was done, one clause each; nothing for what was left as it was."""
        account, said = self.account, list[str]()
        if account is None:
            return said
        if account.lines:
            empty = f", {account.empty_lines:,} of count 0 left out" if account.empty_lines else ""
            said.append(f"{account.lines:,} lines counted by {self.settings.counts}{empty}")
        if account.left_out:
            said.append(
                f"{counted(len(account.left_out), 'column')} left out ({_some(account.left_out)})"
            )
        said += _missing_parts(account, self.settings.missing)
        cut = [column for column in self.columns if column.cuts]
        if cut:
            points = [
                f"{column.name} at {', '.join(f'{point:.6g}' for point in column.cuts or ())}"
                + (f", {AT_MEDIAN}" if column.rule == AT_MEDIAN else "")
                for column in cut
            ]
            said.append(f"{counted(len(cut), 'column')} discretised ({_some(points, '; ')})")
        if account.decisions:
            said.append(counted(len(account.decisions), "automatic decision"))
        if account.constant:
            said.append(
                f"{counted(len(account.constant), 'constant column')} ({_some(account.constant)})"
            )
        return said

    def __str__(self) -> str:
        """Say what was read and done, in one line."""
        size = counted(len(self.columns), "column")
        if self.account is not None:
            size = f"{counted(self.account.rows_read, 'row')}, {size}"
        return "; ".join([size, *self.parts()])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold; :meth:`from_dict` is the way back."""
        settings = {name: plain(getattr(self.settings, name)) for name in changed(self.settings)}
        settings.pop("recipe", None)  # this one says as much
        if settings.pop("rate", None) is not None:
            settings["missing"] = self.settings.rule  # as it is typed
        return {
            "settings": settings,
            "columns": [_short(column) for column in self.columns],
            "account": None if self.account is None else _short(self.account),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recipe as TOML, which ``read_table(…, recipe=path)`` follows."""
        write_text(path, recipe_text(self))

    @classmethod
    def from_dict(cls, content: object) -> Recipe:
        """Make a recipe from what :meth:`to_dict` returned, through JSON, TOML or not.

        Raises
        ------
        InputError
            Something is missing or of another kind.
        """
        if isinstance(content, Mapping):
            content = {"settings": {}, "columns": [], **content}
        try:
            recipe = decoded(cls, content, closed=True)
            for column in recipe.columns:
                _check(column)
        except InputError as error:
            raise InputError(f"the recipe is damaged ({error})") from None
        return recipe


def _short(record: ColumnRecipe | ReadingAccount) -> dict[str, Any]:
    """Return the fields that are not at their default."""
    return {
        name: value
        for name, value in fields_in(record).items()
        if value not in (None, [], {}, 0) or name == "rows_read"
    }


def _missing_parts(account: ReadingAccount, missing: str) -> list[str]:
    """Say how many cells hold a value that means missing, and what missing cells became."""
    alike = account.blanked == account.missing  # no cell is blank: one clause says it all
    said = []
    coded = sum(account.blanked.values())
    if account.blanked and account.rows_dropped:
        said.append(f"{counted(coded, 'value')} treated as missing ({_by_column(account.blanked)})")
    if account.rows_dropped:
        rows = counted(account.rows_dropped, "row")
        said.append(f"{rows} dropped for missing values ({_by_column(account.missing)})")
    elif account.missing:
        whose = "its" if sum(account.missing.values()) == 1 else "their"
        became = {"mode": "imputed", "state": f"in a state of {whose} own"}.get(missing)
        found = ["treated as missing"] if alike else ["missing"] if became is None else []
        total = sum(account.missing.values())
        how = ", ".join([*found, *([] if became is None else [became])])
        said.append(f"{counted(total, 'value')} {how} ({_by_column(account.missing)})")
        if account.blanked and not alike:
            said.append(
                f"{coded:,} of them hold a code for missing ({_by_column(account.blanked)})"
            )
    return said


def _some(texts: Iterable[str], separator: str = ", ") -> str:
    return shown_names([text or "''" for text in texts], 6, separator)


def _by_column(numbers: Mapping[str, int]) -> str:
    most = sorted(numbers.items(), key=lambda item: -item[1])
    return _some([f"{name} {number:,}" for name, number in most])


def _check(column: ColumnRecipe) -> None:
    """Refuse cut points and states that do not go together."""
    name, states, cuts, fill = column.name, column.states, column.cuts, column.fill
    if cuts is not None and sorted(set(cuts)) != list(cuts):
        raise DecodingError(f"the cut points of {name!r} are not in increasing order")
    if not states or len(set(states)) != len(states) or (fill is not None and fill not in states):
        raise DecodingError(
            f"the states of {name!r} are missing, repeated, or lack the imputed one"
        )
    if cuts is not None and len(states) - len(cuts) not in (1, 2):
        raise DecodingError(f"column {name!r} has {len(cuts)} cut points and {len(states)} states")


MARK = "# A recipe of parentage: how a table is read."
"""First line of the files written here."""


def recipe_text(recipe: Recipe) -> str:
    """Return the TOML text of a recipe."""
    content = recipe.to_dict()
    lines = [MARK]
    if recipe.account is not None:
        lines.append("# " + _comment(f"{recipe.account.source}: {recipe}"))
        lines += [f"# decided: {_comment(str(one))}" for one in recipe.account.decisions]
    lines += ["", "[settings]", *_pairs(content["settings"])]
    for column in content["columns"]:
        lines += ["", "[[column]]", *_pairs(column)]
    return "\n".join(lines) + "\n"


def read_recipe(path: str | os.PathLike[str]) -> Recipe:
    """Read a recipe from a TOML file."""
    source = open_source(path)
    try:
        content = tomllib.loads(source.text())
    except (ValueError, RecursionError) as error:  # ValueError: bad TOML or huge numbers
        if isinstance(error, InputError):
            raise
        raise InputError(f"{source.name} is not a TOML file: {error}") from None
    if not content:
        raise InputError(f"{source.name} is not a recipe: it has neither settings nor columns")
    columns = {"columns": content.pop("column")} if "column" in content else {}
    try:
        return Recipe.from_dict({**content, **columns})
    except InputError as error:
        raise InputError(f"{source.name}: {error}") from None


def _pairs(facts: Mapping[str, Any]) -> list[str]:
    """Write lines of TOML; texts, numbers, truth values and lists of them are as in JSON."""
    written = {name: json.dumps(value, ensure_ascii=False) for name, value in facts.items()}
    return [f"{name} = {text}".replace("\x7f", "\\u007f") for name, text in written.items()]


def _comment(text: str) -> str:
    """Return a text without the control characters that a comment cannot hold."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
