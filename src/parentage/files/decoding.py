"""Plain values of JSON and TOML as typed records, by the type hints of the records, and back.

:func:`plain` makes plain values of a record. :func:`decoded` takes what ``json`` or ``tomllib``
returned and makes the value that a type asks for, or refuses it with its place: ``tallies.kept must
be a whole number, 0 or more, not -3``. Whole numbers are counts, so they are not negative; other
numbers are finite. A class that has a form of its own in files has the methods ``to_dict`` and
``from_dict``, which are used where it is part of another. A mapping by pairs (or longer tuples) is
a list in files, of entries that hold the key and then the value.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections import Counter
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from parentage.errors import InputError, did_you_mean

_Record = TypeVar("_Record")

LONG = 60
"""Characters of a wrong value that a message shows."""


class DecodingError(InputError):
    """A value that is not what its place asks for."""


def decoded(
    kind: type[_Record], content: object, path: str = "", *, closed: bool = False
) -> _Record:
    """Make a record of a dataclass from the values of its fields; others have their default.

    Names without a field are left out, or refused if the record is ``closed``.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Steps:
    ...     sizes: tuple[int, ...]
    ...     limit: float | None = None
    >>> decoded(Steps, {"sizes": [1, 2]})
    Steps(sizes=(1, 2), limit=None)
    >>> decoded(Steps, {"sizes": [1, -2]}, "steps")
    Traceback (most recent call last):
    parentage.files.decoding.DecodingError: steps.sizes.1 must be a whole number, 0 or more, not -2
    """
    if not isinstance(content, Mapping):
        raise _wrong(path, content, "an object")
    hints, values = get_type_hints(kind), {}
    for name in content if closed else ():
        if name not in hints:
            hint = did_you_mean(str(name), list(hints))
            where = f" in {path}" if path else ""
            raise DecodingError(f"unknown key {name!r}{where}; {hint}")
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]  # a dataclass
        inside = f"{path}.{field.name}" if path else field.name
        if field.name in content:
            values[field.name] = _value(hints[field.name], content[field.name], inside, closed)
        elif field.default is field.default_factory is dataclasses.MISSING:
            raise DecodingError(f"{inside} is missing")
    return kind(**values)


def fields_in(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, their values plain."""
    return {field.name: plain(getattr(record, field.name)) for field in dataclasses.fields(record)}


def plain(value: Any) -> Any:
    """Return what JSON can hold of a value: the way back from :func:`decoded`.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Steps:
    ...     sizes: tuple[int, ...]
    ...     limit: float | None = None
    >>> plain({"steps": Steps((1, 2))})
    {'steps': {'sizes': [1, 2], 'limit': None}}
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if dataclasses.is_dataclass(value):
        return fields_in(value)
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in value]
    return value


def _value(kind: Any, content: Any, path: str, closed: bool) -> Any:
    """Make a value of any type that records have."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return content
    if origin in (Union, UnionType):
        return _one_of(inner, content, path, closed)
    if origin is Literal:
        if content not in inner:
            raise _wrong(path, content, f"one of {', '.join(map(str, inner))}")
        return content
    if origin is tuple and inner[-1] is not ...:
        items = _items(content, path)
        if len(items) != len(inner):
            raise _wrong(path, content, f"a list of {len(inner)}")
        pairs = enumerate(zip(inner, items, strict=True))
        return tuple(_value(k, x, f"{path}.{i}", closed) for i, (k, x) in pairs)
    if origin in (tuple, frozenset):
        items = _items(content, path)
        return origin(_value(inner[0], x, f"{path}.{i}", closed) for i, x in enumerate(items))
    if origin is not None and get_origin(inner[0]) is tuple:
        return _by_tuples(inner, content, path, closed)
    if origin is not None:  # a mapping
        if not isinstance(content, Mapping):
            raise _wrong(path, content, "an object")
        each = int if origin is Counter else inner[-1]
        found = {str(key): _value(each, x, f"{path}.{key}", closed) for key, x in content.items()}
        return Counter(found) if origin is Counter else found
    if hasattr(kind, "from_dict"):
        return kind.from_dict(content)
    if dataclasses.is_dataclass(kind):
        return decoded(cast("type[object]", kind), content, path, closed=closed)
    return _plain(kind, content, path)


def _by_tuples(inner: tuple[Any, ...], content: Any, path: str, closed: bool) -> dict[Any, Any]:
    """Make a mapping whose keys are tuples of a list."""
    entry = tuple.__class_getitem__((*get_args(inner[0]), inner[1]))
    found: dict[Any, Any] = {}
    for i, item in enumerate(_items(content, path)):
        *parts, value = _value(entry, item, f"{path}.{i}", closed)
        if tuple(parts) in found:
            raise DecodingError(f"{path} has {', '.join(map(repr, parts))} twice")
        found[tuple(parts)] = value
    return found


def _one_of(kinds: tuple[Any, ...], content: Any, path: str, closed: bool) -> Any:
    """Make a value of the one type that fits; what is wrong with it where none does."""
    if content is None and NoneType in kinds:
        return None
    found = [kind for kind in kinds if kind is not NoneType]
    for kind in found[:-1]:
        try:
            return _value(kind, content, path, closed)
        except DecodingError:
            continue
    return _value(found[-1], content, path, closed)


def _items(content: Any, path: str) -> list[Any]:
    if not isinstance(content, list | tuple):
        raise _wrong(path, content, "a list")
    return list(content)


def _plain(kind: Any, content: Any, path: str) -> Any:
    """Check a text, a truth value or a number."""
    if kind is float:
        number = math.nan
        if isinstance(content, int | float) and not isinstance(content, bool):
            with contextlib.suppress(OverflowError):  # a whole number beyond the largest float
                number = float(content)
        if not math.isfinite(number):
            raise _wrong(path, content, "a number")
        return number
    if kind is int and (isinstance(content, bool) or not isinstance(content, int) or content < 0):
        raise _wrong(path, content, "a whole number, 0 or more")
    if not isinstance(content, kind):
        raise _wrong(path, content, {str: "a text", bool: "true or false"}[kind])
    return content


def _wrong(path: str, content: object, needed: str) -> DecodingError:
    shown = repr(content)
    if len(shown) > LONG:
        shown = f"{shown[:LONG]}…"
    return DecodingError(f"{path or 'the content'} must be {needed}, not {shown}")
