"""Tables of text: columns aligned, and narrowed to the terminal they are printed in."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from parentage.errors import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

NARROWEST = 8
"""Characters that a column of names keeps in a narrow terminal."""


def table_text(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], left: int = 1) -> str:
    """Align columns: the first ``left`` to the left, the others to the right.

    >>> print(table_text(("child", "sets"), [("a", "10"), ("bcdef", "7")]))
    child  sets
    a        10
    bcdef     7
    """
    columns = list(zip(head, *rows, strict=True))
    widths = [max(len(cell) for cell in column) for column in columns]
    if sys.stdout.isatty():
        widths = fitted(widths, left, shutil.get_terminal_size().columns)
    lines = []
    for row in (head, *rows):
        cells = [
            shortened(cell, width).ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def fitted(widths: Sequence[int], left: int, room: int) -> list[int]:
    """Narrow the widest of the first ``left`` columns until a table fits into ``room``.

    >>> fitted([30, 12, 9], 2, 45)
    [20, 12, 9]
    """
    widths = list(widths)
    over = sum(widths) + 2 * (len(widths) - 1) - room
    while over > 0 and max(widths[:left], default=0) > NARROWEST:
        widths[widths.index(max(widths[:left]))] -= 1
        over -= 1
    return widths
