r"""Names that a file format cannot hold, written so that they can be read back.

A character that the format cannot hold becomes ``_xHH_``, HH its code in hexadecimal (the scheme of
ISO 9075-14 with a free number of digits); nothing at all becomes ``_x_``. An underscore that would
start such a group by accident is itself written ``_x5f_``, so :func:`unescape` undoes
:func:`escape` whatever the text. A file with at least one escaped name carries :data:`MARK` in a
comment; without it names are taken literally, since other programs do not escape.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parentage.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection

MARK = "names escaped: _xHH_ is the character with the hexadecimal code HH"

_GROUP = re.compile("_x([0-9a-f]*)_")
_LAST_CHARACTER = 0x10FFFF


def escape(text: str, unsafe: Collection[int]) -> str:
    """Escape the characters at the unsafe positions.

    >>> escape("at risk?", [2]), escape("", []), escape("_x20_", [])
    ('at_x20_risk?', '_x_', '_x5f_x20_')
    """
    if not text:
        return "_x_"
    marked = set(unsafe)
    for i in range(len(text) - 1, -1, -1):
        if i not in marked and _starts_group(text, i, marked):
            marked.add(i)
    return "".join(f"_x{ord(c):x}_" if i in marked else c for i, c in enumerate(text))


def unescape(text: str) -> str:
    """Undo :func:`escape`.

    >>> unescape("at_x20_risk?"), unescape("_x_"), unescape("_x5f_x20_"), unescape("a_xray")
    ('at risk?', '', '_x20_', 'a_xray')
    """

    def character(group: re.Match[str]) -> str:
        code = int(group[1] or "0", 16)
        if code > _LAST_CHARACTER:
            raise InputError(
                f"the name {text!r} has the escape {group[0]!r}, which is not a character"
            )
        return chr(code) if group[1] else ""

    return _GROUP.sub(character, text)


def _starts_group(text: str, i: int, marked: Collection[int]) -> bool:
    """Whether the underscore at i and what follows would be read as an escape."""
    if text[i] != "_" or text[i + 1 : i + 2] != "x" or i + 1 in marked:
        return False
    j = i + 2
    while j < len(text) and j not in marked and text[j] in "0123456789abcdef":
        j += 1
    return j < len(text) and (j in marked or text[j] == "_")
