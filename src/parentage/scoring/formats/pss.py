"""Read and write candidate lists as .pss, the parent set scores of URLearning.

Lists leave and enter the path here. ::

    META pss_version = 0.1
    META score_type = BIC

    VAR smoker
    META arity=2
    META values=no yes
    -12.5
    -9.25 cancer

A line after ``VAR`` is a score and the names of the parents; ``#`` starts a comment line. Facts
about the whole file are kept as notes; those about one variable are skipped. Files written here
keep the account and percent-encode names (:mod:`parentage.scoring.formats.families`); they
say so in a META line, so that other programs' percent signs stay what they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.errors import ListsError, Way
from parentage.files.atomic import write_text
from parentage.scoring.account import Unknown
from parentage.scoring.formats.families import (
    FamilyCollector,
    decode_name,
    encode_name,
    facts_text,
    json_object,
    numbered_lines,
    with_facts,
)

if TYPE_CHECKING:
    import os

    from parentage.scoring.lists import CandidateLists

_OWN = "parentage"


def read_pss(text: str) -> CandidateLists:
    """Read lists; everything that contradicts itself is refused with its line."""
    families = FamilyCollector()
    notes: dict[str, str] = {}
    own: dict[str, Any] | None = None
    child = -1
    for number, line in numbered_lines(text):
        tokens = line.split()
        if not tokens or tokens[0][0] == "#":
            continue
        keyword = tokens[0].upper()
        if keyword == "META":
            key, value = _meta_line(line, number)
            if child < 0 and key == _OWN:
                own = json_object(value)
            elif child < 0:
                notes[key] = value
        elif keyword == "VAR":
            if len(tokens) != 2:
                raise ListsError(f"line {number}: VAR needs one name without blanks, as in VAR a")
            name = tokens[1] if own is None else decode_name(tokens[1])
            child = families.add_child(name, number)
        elif child < 0:
            raise ListsError(
                f"line {number}: {line.strip()[:40]!r} comes before the first VAR line",
                Way("format", "csv", "if this is a table"),
            )
        else:
            parents = tokens[1:] if own is None else [decode_name(t) for t in tokens[1:]]
            families.add(child, families.score(tokens[0], number), parents, number)
    if child < 0:
        raise ListsError("the .pss file has no VAR line, so no variables")
    if own is None:
        return families.lists(account=Unknown(notes))
    return with_facts(families.lists(), own)


def write_pss(lists: CandidateLists, path: str | os.PathLike[str]) -> None:
    """Write lists, whole or not at all."""
    write_text(path, pss_text(lists))


def pss_text(lists: CandidateLists) -> str:
    """Return lists as the text of a .pss file.

    >>> from parentage.scoring.lists import CandidateLists
    >>> lists = CandidateLists.from_families({"a": [(-2.5, [])], "b": [(-0.1, ["a"])]})
    >>> print(pss_text(lists))  # doctest: +ELLIPSIS
    META pss_version = 0.1
    META parentage={...}
    <BLANKLINE>
    VAR a
    -2.5
    <BLANKLINE>
    VAR b
    -0.1 a
    """
    if not np.isfinite(lists.scores).all():
        raise ListsError("a score is not finite; such a set cannot be written")
    names = [encode_name(name) for name in lists.names]
    out = ["META pss_version = 0.1", f"META {_OWN}={_one_word(facts_text(lists))}"]
    for child, name in enumerate(names):
        out += ["", f"VAR {name}"]
        for score, parents in lists.candidates(child):
            out.append(" ".join([repr(score), *(names[p] for p in parents)]))
    return "\n".join(out) + "\n"


def _one_word(json_text: str) -> str:
    """Escape what other readers of .pss would stumble over inside JSON strings."""
    return json_text.replace(" ", "\\u0020").replace("=", "\\u003d")


def _meta_line(line: str, number: int) -> tuple[str, str]:
    key, equals, value = line.strip()[len("META") :].partition("=")
    if not equals:
        raise ListsError(f"line {number}: {line.strip()[:40]!r} should be META key=value")
    return key.strip(), value.strip()
