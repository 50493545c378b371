"""What the user can set, declared once: name, default, meaning, and how it is typed.

Every stage has one frozen dataclass of settings whose fields are made by :func:`setting`, and
beside it a typed dictionary of what callers may give for them. Functions take
``**settings: Unpack[…]`` of it: :func:`takes` writes names and defaults into their signature and
the meaning into their docstring, :func:`check_names` refuses any other name. The estimator has the
same names as parameters, the command line makes its options from the fields
(:mod:`parentage.cli.options`), and the page of the command line its tables. So an option of a
stage is declared in the settings of the stage and used where it acts.
"""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from parentage.errors import InputError, Way, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_Documented = TypeVar("_Documented", bound="Callable[..., Any]")
_Settings = TypeVar("_Settings")


@dataclass(frozen=True)
class Option:
    """How a setting is typed on the command line.

    Parameters
    ----------
    flags
        ``("-k", "--max-parents")``; messages show the one that is named like the setting.
    help
        One sentence.
    metavar
        What follows the flag.
    kind
        ``str``, ``int`` or ``float``.
    repeatable
        May be typed several times.
    is_flag
        Followed by nothing: typing it sets the opposite of the default.
    least
        The smallest number allowed.
    page
        The page of the documentation with the details, ``"scores.md"``.
    common
        Shown by ``--help``, by its first sentence; others by ``--help-all`` only.
    """

    flags: tuple[str, ...]
    help: str
    metavar: str | None = None
    kind: type = str
    repeatable: bool = False
    is_flag: bool = False
    least: float | None = None
    page: str | None = None
    common: bool = False


def setting(default: Any, meaning: str, option: Option | None = None) -> Any:
    """Declare a field of a settings class."""
    facts = {"meaning": textwrap.dedent(meaning).strip(), "option": option}
    return dataclasses.field(default=default, metadata=facts)


def meaning_of(field: dataclasses.Field[Any]) -> str:
    """Return what a setting means."""
    return str(field.metadata["meaning"])


def option_of(field: dataclasses.Field[Any]) -> Option | None:
    """Return how a setting is typed, None if it is not."""
    return cast("Option | None", field.metadata["option"])


def changed(settings: Any) -> list[str]:
    """Return the names of the settings that are not at their default."""
    return [
        field.name
        for field in dataclasses.fields(settings)
        if getattr(settings, field.name) != field.default
    ]


def take(kind: type[_Settings], values: Mapping[str, Any]) -> _Settings:
    """Make settings from those of the values that it knows."""
    fields = {field.name: field for field in dataclasses.fields(cast("Any", kind))}
    taken = {name: value for name, value in values.items() if name in fields}
    for name, value in taken.items():
        option = option_of(fields[name])
        if option is not None and option.kind in (int, float) and isinstance(value, str):
            _refuse_text(name, value, option.kind)
    return kind(**taken)


def _refuse_text(name: str, text: str, kind: type) -> None:
    """Refuse a text where a number is needed; if it is one in quotes, say so."""
    try:
        ways = [Way(name, kind(text))]
    except ValueError:
        ways = []
    raise InputError("is a text, and a number is needed", *ways, about=Way(name, text))


def documented(**kinds: type) -> Callable[[_Documented], _Documented]:
    """Replace ``{name}`` lines in a docstring by the parameters of a settings class.

    >>> @dataclass(frozen=True)
    ... class Frying:
    ...     heat: int = setting(3, "From 1 to 5.")
    >>> @documented(frying=Frying)
    ... def fry(heat: int = 3) -> None:
    ...     '''Fry.
    ...
    ...     {frying}
    ...     '''
    >>> print(fry.__doc__)
    Fry.
    <BLANKLINE>
        heat
            From 1 to 5.
    <BLANKLINE>
    """

    def write(function: _Documented) -> _Documented:
        text = function.__doc__ or ""
        for name, kind in kinds.items():
            line = next(line for line in text.split("\n") if line.strip() == f"{{{name}}}")
            indent = line[: len(line) - len(line.lstrip())]
            text = text.replace(line, textwrap.indent(_parameters(kind), indent))
        function.__doc__ = text
        return function

    return write


def takes(**kinds: type) -> Callable[[_Documented], _Documented]:
    """Let a function that ends in ``**settings`` show the settings of stages as its keywords.

    >>> @dataclass(frozen=True)
    ... class Frying:
    ...     heat: int = setting(3, "From 1 to 5.")
    >>> @takes(frying=Frying)
    ... def fry(egg, *, timer=None, **settings):
    ...     '''Fry.
    ...
    ...     {frying}
    ...     '''
    ...     check_names(fry, settings)
    ...     return take(Frying, settings)
    >>> str(inspect.signature(fry))
    "(egg, *, heat: 'int' = 3, timer=None)"
    >>> fry("egg", heat=5)
    Frying(heat=5)
    >>> fry("egg", heet=5)
    Traceback (most recent call last):
        ...
    TypeError: fry() has no keyword 'heet'; did you mean 'heat'?
    """
    fields = [field for kind in kinds.values() for field in dataclasses.fields(cast("Any", kind))]

    def write(function: _Documented) -> _Documented:
        known = inspect.signature(function)
        by_place = [p for p in known.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        own = [p for p in known.parameters.values() if p.kind is p.KEYWORD_ONLY]
        named = [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=field.type,
            )
            for field in fields
        ]
        shown = known.replace(parameters=[*by_place, *named, *own])
        cast("Any", function).__signature__ = shown
        return documented(**kinds)(function)

    return write


def check_names(function: Callable[..., Any], given: Iterable[str]) -> None:
    """Refuse keywords that a function made by :func:`takes` does not have.

    Raises
    ------
    TypeError
        With the keyword that is most like it.
    """
    known = inspect.signature(function).parameters
    for name in given:
        if name not in known:
            raise TypeError(
                f"{function.__name__}() has no keyword {name!r}; {did_you_mean(name, known)}"
            )


def _parameters(kind: type) -> str:
    """Lay out the fields as the parameters of a numpy docstring."""
    return "\n".join(
        f"{field.name}\n{textwrap.indent(meaning_of(field), '    ')}"
        for field in dataclasses.fields(cast("Any", kind))
    )
