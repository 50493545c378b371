r"""Variable names inside files whose fields are separated by blanks. Part of .jkl and .pss.

Our own files percent-encode, in UTF-8 and only where needed, what would be read as something
else: blanks and control characters, ``%``, ``#``, and the first character of a name that looks
like a score (``-1.5``). The empty name is a lone ``%``. Other programs' names are taken as they
are.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote, unquote

_SCORE = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:inf|nan).*", re.I
)


def encode_name(name: str) -> str:
    """Write a name without blanks.

    >>> encode_name("blood pressure"), encode_name("100%"), encode_name("-1.5"), encode_name("7")
    ('blood%20pressure', '100%25', '%2D1.5', '7')
    """
    if not name:
        return "%"
    first = f"%{ord(name[0]):02X}" if looks_like_score(name) else _encode(name[0])
    return first + "".join(map(_encode, name[1:]))


@lru_cache(maxsize=1 << 16)
def decode_name(written: str) -> str:
    """Undo :func:`encode_name`.

    >>> decode_name("blood%20pressure"), decode_name("%")
    ('blood pressure', '')
    """
    return "" if written == "%" else unquote(written, errors="replace")


def looks_like_score(token: str) -> bool:
    """Tell whether a token is a number, but not a plain identifier such as ``12``."""
    return not is_whole(token) and _SCORE.fullmatch(token) is not None


def is_whole(token: str) -> bool:
    """Tell whether a token is a whole number, written with digits alone."""
    return token.isascii() and token.isdigit()


def is_count(token: str) -> bool:
    """Tell whether a token is a whole number of a sensible size."""
    return is_whole(token) and len(token) < 10


def _encode(character: str) -> str:
    special = character in "%#" or character.isspace() or not character.isprintable()
    return quote(character, safe="", errors="surrogatepass") if special else character
