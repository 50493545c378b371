"""What the user can set, declared once: name, default, meaning, and how it is typed.

Every stage has one frozen dataclass of settings whose fields are made by :func:`setting`. The
functions take the same names as keywords, the estimator as parameters, and the command line makes
its options from the fields (:mod:`parentage.cli.options`). :func:`documented` writes the meaning
into docstrings, so that it is written in one place.
"""

from __future__ import annotations

import dataclasses
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
    """

    flags: tuple[str, ...]
    help: str
    metavar: str | None = None
    kind: type = str
    repeatable: bool = False
    is_flag: bool = False
    least: float | None = None


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
    names = {field.name for field in dataclasses.fields(cast("Any", kind))}
    return kind(**{name: value for name, value in values.items() if name in names})


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


def _parameters(kind: type) -> str:
    """Lay out the fields as the parameters of a numpy docstring."""
    return "\n".join(
        f"{field.name}\n{textwrap.indent(meaning_of(field), '    ')}"
        for field in dataclasses.fields(cast("Any", kind))
    )
