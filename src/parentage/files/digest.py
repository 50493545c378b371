"""Digests of what a file states: a statement that was edited by hand is noticed.

A digest is not a signature. Whoever edits a file can compute its digest anew; the digest protects
against damage and against a single fact that was changed or deleted.
"""

from __future__ import annotations

import hashlib
import json

from parentage.errors import InputError


def digest_of(kind: str, content: object) -> str:
    """Return the SHA-256 of plain values, as ``sha256:`` and 64 hexadecimal digits.

    Hashed are ``parentage``, a blank, the kind and a newline, then the values as JSON in ASCII:
    keys sorted, no blanks, numbers as Python writes them.

    Parameters
    ----------
    kind
        What the values state, with the version of the format: equal values of two kinds have
        different digests.
    content
        Plain values, as ``json.loads`` returns them.

    Raises
    ------
    InputError
        The values are nested too deeply.

    Examples
    --------
    >>> digest_of("example 1", {"b": [1, 2.5], "a": None})[:15]
    'sha256:86002c59'
    >>> digest_of("example 1", {"a": None, "b": [1, 2.5]})[:15]
    'sha256:86002c59'
    """
    try:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise InputError("the file is nested too deeply") from None
    return "sha256:" + hashlib.sha256(f"parentage {kind}\n{text}".encode()).hexdigest()
