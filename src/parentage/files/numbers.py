"""Numbers as other programs write them: ASCII digits, a point, an exponent, and nothing else.

Python reads more (``1_0.5``, digits of other scripts), which in a file is damage, not a number.
"""

from __future__ import annotations


def plain_float(token: str) -> float:
    """Read a number.

    >>> plain_float("-1.5e3")
    -1500.0

    Raises
    ------
    ValueError
        It is something else.
    """
    if "_" in token or not token.isascii():
        raise ValueError(f"{token[:40]!r} is not a number")
    return float(token)
