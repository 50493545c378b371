"""Support as a file: CSV, one line an arc, or JSON with everything.

Spreadsheets take a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a formula, whoever named
the column. Names that begin so, or with a tab or a line break, get an apostrophe in front; numbers
are ours and stay numbers. JSON has the names as they are.
"""

from __future__ import annotations

import csv
import io
import json
import os
from typing import TYPE_CHECKING, Any

from parentage.arcs.records import COLUMNS
from parentage.errors import InputError
from parentage.files.atomic import write_text

if TYPE_CHECKING:
    from parentage.arcs.records import Support

FORMATS = {".csv": "support-csv", ".json": "support-json"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def support_format(path: str | os.PathLike[str]) -> str:
    """Return the format that a file name asks for; refuse others."""
    ending = os.path.splitext(os.fspath(path))[1].lower()  # noqa: PTH122  # a name, not a path
    if ending not in FORMATS:
        raise InputError(f"cannot tell the format of {os.fspath(path)!r}; use .csv or .json")
    return FORMATS[ending]


def write_support(support: Support, path: str | os.PathLike[str]) -> None:
    """Write support as CSV or JSON, by the ending of the name."""
    as_csv = support_format(path) == "support-csv"
    write_text(path, support_csv(support) if as_csv else support_json(support))


def support_csv(support: Support) -> str:
    """Lay out arcs, then other pairs, one a line."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in (*support.arcs, *support.others):
        writer.writerow([_cell(value) for value in one.to_dict().values()])
    return text.getvalue()


def support_json(support: Support) -> str:
    """Lay out everything as one JSON object."""
    content = {"format": "parentage support", **support.to_dict()}
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _cell(value: Any) -> str:
    r"""Write a value so that a spreadsheet shows it and computes nothing.

    >>> [_cell(value) for value in ("=1+1", "age", -2.5, True, None)]
    ["'=1+1", 'age', '-2.5', 'true', '']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return repr(value)
