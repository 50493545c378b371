"""What the user can set, declared once: name, default, meaning, and how it is typed.

Every stage has one frozen dataclass, a subclass of :class:`Settings`, whose fields are made by
:func:`setting`. The public functions spell out the keywords that they take; :func:`takes` writes
their meaning into the docstring and refuses any other keyword with the right one. The command line
makes its options from the fields (:mod:`parentage.cli.options`), and its help and its page from
their meaning.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from parentage.errors import IN_CONSTRAINTS, TAKEN, Bytes, InputError, Way, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(i)?B?", re.IGNORECASE)

_Class = TypeVar("_Class", bound=type)
_Settings = TypeVar("_Settings", bound="Settings")
_Function = TypeVar("_Function", bound="Callable[..., Any]")


@dataclass(frozen=True)
class Option:
    """How a setting is typed on the command line.

    The flag is the name of the setting; that of a setting which is True by default begins with
    ``--no-``, and nothing follows the flag of a truth value.

    Parameters
    ----------
    metavar
        What follows the flag.
    kind
        ``str``, ``int``, ``float`` or :class:`parentage.errors.Bytes`, which is typed with a unit.
    short
        A second flag, ``"-k"``.
    repeatable
        May be typed several times.
    least
        The smallest number allowed.
    page
        The page of the documentation with the details, ``"scores.md"``.
    common
        Shown by ``--help``, by its first sentence; others by ``--help-all`` only.
    group
        The group of the help, where it is not that of the other settings of the stage.
    values
        What may be typed, each with its meaning, for a list.
    """

    metavar: str | None = None
    kind: type = str
    short: str = ""
    repeatable: bool = False
    least: float | None = None
    page: str | None = None
    common: bool = False
    group: str | None = None
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Settings:
    """Base of the settings of a stage.

    It refuses wrong names, texts where numbers are needed, and numbers below the least allowed.
    """

    def __new__(cls, *_args: Any, **given: Any) -> Self:
        """Refuse a keyword that is not a setting, with the one that is most like it."""
        check_names(cls.__name__, given, fields_of(cls))
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            option, value = option_of(field), getattr(self, field.name)
            if option is None:
                continue
            if option.kind is Bytes and isinstance(value, str):
                object.__setattr__(self, field.name, parse_size(field.name, value))
                continue
            if option.kind is not str and isinstance(value, str):
                _refuse_text(field.name, value, option.kind)
            if option.least is not None and value is not None and not value >= option.least:
                least = f"must be at least {option.least:g}"
                raise InputError(least, about=Way(field.name, value))


def setting(default: Any, meaning: str, option: Option | None = None) -> Any:
    """Declare a field of a settings class.

    The first paragraph of the meaning is for Python and for the command line; further ones, about
    values that cannot be typed there, are for Python alone. That of a setting which is True by
    default begins with a verb, because its flag says not to do it.
    """
    facts = {"meaning": textwrap.dedent(meaning).strip(), "option": option}
    return dataclasses.field(default=default, metadata=facts)


def like(kind: type, name: str) -> Any:
    """Declare a field that is a setting of another class: the same default, meaning and option."""
    field = fields_of(kind)[name]
    return dataclasses.field(default=field.default, metadata=field.metadata)


def fields_of(*kinds: type) -> dict[str, dataclasses.Field[Any]]:
    """Return the settings of classes by name."""
    return {field.name: field for kind in kinds for field in dataclasses.fields(cast("Any", kind))}


def meaning_of(field: dataclasses.Field[Any]) -> str:
    """Return what a setting means, with the list of its values if it has one."""
    option = option_of(field)
    values = () if option is None else option.values
    return "\n".join(
        [field.metadata["meaning"], *(f'* ``"{value}"``: {use}' for value, use in values)]
    )


def help_of(field: dataclasses.Field[Any]) -> str:
    r"""Return what a setting means, in the words of the command line.

    >>> @dataclass(frozen=True)
    ... class Frying(Settings):
    ...     oil: str | None = setting(None, '``"olive"``, ``"nut"`` or None.\n\nOr a :class:`Jar`.')
    >>> help_of(fields_of(Frying)["oil"])
    'olive, nut or None.'
    """
    text, option = field.metadata["meaning"].split("\n\n")[0], option_of(field)
    shown = re.sub(r"``\"?(.*?)\"?``", r"\1", " ".join(text.split()))
    if field.default is True:  # its flag begins with --no-
        shown = f"Do not {shown[0].lower()}{shown[1:]}"
    if option is None or not option.values:
        return shown
    widest = max(len(value) for value, _ in option.values)
    lines = [f"{value:<{widest}}  {use}" for value, use in option.values]
    more = [] if option.page is None else ["", f"More in docs/{option.page}."]
    return "\n".join([shown, "", "\b", *lines, *more])  # click does not fill lines after the mark


def option_of(field: dataclasses.Field[Any]) -> Option | None:
    """Return how a setting is typed, None if it is not."""
    return cast("Option | None", field.metadata["option"])


def flags_of(field: dataclasses.Field[Any]) -> tuple[str, ...]:
    """Return the flags of a setting that is typed; the last one is named like it."""
    option = option_of(field)
    short = () if option is None or not option.short else (option.short,)
    name = field.name.rstrip("_").replace("_", "-")
    return (*short, f"--{'no-' if field.default is True else ''}{name}")


def made(kind: type[_Settings], given: Mapping[str, Any]) -> _Settings:
    """Make the settings of a stage from those keywords of a function that are its own."""
    return kind(**{name: given[name] for name in fields_of(kind) if name in given})


def changed(settings: Settings) -> list[str]:
    """Return the names of the settings that are not at their default."""
    return [
        field.name
        for field in dataclasses.fields(settings)
        if getattr(settings, field.name) != field.default
    ]


def _refuse_text(name: str, text: str, kind: type) -> None:
    """Refuse a text where a number is needed; if it is one in quotes, say so."""
    try:
        ways = [Way(name, kind(text))]
    except ValueError:
        ways = []
    raise InputError("is text; a number is needed", *ways, about=Way(name, text))


def parse_size(name: str, text: str) -> int:
    """Read a setting that is a size of memory, in bytes.

    >>> [parse_size("memory", text) for text in ("4GB", "512MiB", "1.5g", "4")]
    [4000000000, 536870912, 1500000000, 4]
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InputError("is not a size; 4GB and 500MB are sizes", about=Way(name, text))
    number, unit, binary = found.groups()
    power = "KMGT".index(unit.upper()) + 1 if unit else 0
    return int(float(number) * (1024 if binary else 1000) ** power)


def takes(
    *kinds: type, elsewhere: Mapping[str, str] | None = None
) -> Callable[[_Function], _Function]:
    """Document the keywords of a function that are settings, and refuse any it does not have.

    Messages raised below it name only keywords that it has. The line ``{settings}`` of the
    docstring becomes the meaning of all keywords that are settings of the given kinds, in their
    order. ``elsewhere`` has, for settings that the function does not take, what to do instead.

    >>> @dataclass(frozen=True)
    ... class Frying(Settings):
    ...     heat: int = setting(3, "From 1 to 5.", Option("N", int))
    >>> @takes(Frying, elsewhere={"oil": "it belongs in Pan(oil=…)"})
    ... def fry(egg: str, *, heat: int = 3) -> Frying:
    ...     '''Fry.
    ...
    ...     {settings}
    ...     '''
    ...     return Frying(heat)
    >>> print(fry.__doc__)
    Fry.
    <BLANKLINE>
        heat
            From 1 to 5.
    <BLANKLINE>
    >>> fry("egg", heat=5)
    Frying(heat=5)
    >>> fry("egg", heet=5)
    Traceback (most recent call last):
        ...
    TypeError: fry() has no keyword 'heet'; did you mean 'heat'?
    >>> fry("egg", oil="nut")
    Traceback (most recent call last):
        ...
    TypeError: fry() has no keyword 'oil'; it belongs in Pan(oil=…)
    """
    known = fields_of(*kinds)

    def wrap(function: _Function) -> _Function:
        taken = inspect.signature(function).parameters

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            check_names(function.__name__, keywords, taken, elsewhere)
            outermost = TAKEN.set(TAKEN.get() or taken)
            try:
                return function(*args, **keywords)
            finally:
                TAKEN.reset(outermost)

        settings = [known[name] for name in taken if name in known]
        call.__doc__ = _with_settings(function.__doc__ or "", settings)
        return cast("_Function", call)

    return wrap


def check_names(
    function: str,
    given: Iterable[str],
    known: Mapping[str, Any],
    elsewhere: Mapping[str, str] | None = None,
) -> None:
    """Refuse a keyword that a function does not have, with what to type instead.

    Raises
    ------
    TypeError
        As Python itself does, with the nearest keyword or with what ``elsewhere`` has for it.
    """
    for name in given:
        if name not in known:
            together = IN_CONSTRAINTS.get(name) if "constraints" in known else None
            hint = (elsewhere or {}).get(name) or together or did_you_mean(name, known)
            raise TypeError(f"{function}() has no keyword {name!r}; {hint}")


def refuses_wrong_names(
    elsewhere: Mapping[str, str] | None = None,
) -> Callable[[_Class], _Class]:
    """Have the constructor of a class refuse any keyword it does not have, with the right one."""

    def wrap(kind: _Class) -> _Class:
        construct: Any = kind.__init__  # type: ignore[misc]  # a class, as it is decorated
        taken = inspect.signature(construct).parameters

        @functools.wraps(construct)
        def call(self: Any, *args: Any, **keywords: Any) -> None:
            check_names(type(self).__name__, keywords, taken, elsewhere)
            construct(self, *args, **keywords)

        kind.__init__ = call  # type: ignore[misc]  # the same, but for what it refuses
        return kind

    return wrap


def _with_settings(text: str, settings: list[dataclasses.Field[Any]]) -> str:
    """Put the meaning of settings in place of the line ``{settings}``."""
    lines = text.split("\n")
    place = next((i for i, line in enumerate(lines) if line.strip() == "{settings}"), None)
    if place is None:
        return text
    indent = lines[place][: -len("{settings}")]
    told = "\n".join(
        f"{field.name}\n{textwrap.indent(meaning_of(field), '    ')}" for field in settings
    )
    lines[place] = textwrap.indent(told, indent)
    return "\n".join(lines)
