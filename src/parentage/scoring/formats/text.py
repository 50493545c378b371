"""Read and write candidate lists as text: .jkl (also .jaa, .scores) and .pss.

Lists leave and enter the path here.

**.jkl**, the common format of the field::

    # comment                     skipped
    2                             number of variables
    smoker 1                      a child and how many parent sets follow
    -12.5 0                       score, number of parents, parents
    cancer 2
    -7.25 1 smoker
    -9.5 0

Variables are ids 0 … n − 1 (then they are sorted by id) or names (then the blocks give the
order); blocks come in any order, and the empty set need not be there. Some programs append
lines of whole numbers after the last block: they are skipped with one warning. Files written here
carry scores that read back to the same bits, and two ``#`` lines: a marker, which says that names
are percent-encoded, and the facts (:mod:`parentage.scoring.formats.families`).

**.pss**, the parent set scores of URLearning::

    META pss_version = 0.1
    META score_type = BIC

    VAR smoker
    META arity=2
    META values=no yes
    -12.5
    -9.25 cancer

A line after ``VAR`` is a score and the names of the parents; ``#`` starts a comment line. Facts
about the whole file are kept as notes; those about one variable are skipped. Files written here
say in a META line that they keep the account and percent-encode names, so that other programs'
percent signs stay what they are.

**Names.** Our own files percent-encode, in UTF-8 and only where needed, what would be read as
something else between blanks: blanks and control characters, ``%``, ``#``, and the first character
of a name that looks like a score (``-1.5``). The empty name is a lone ``%``. Other programs' names
are taken as they are.
"""

from __future__ import annotations

import io
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import numpy as np

from parentage.errors import DataWarning, ListsError, Way, warn
from parentage.files.detect import OWN_JKL, is_count, leading_comments
from parentage.scoring.account import Unknown
from parentage.scoring.formats.families import FamilyCollector, facts_text, json_object, with_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.scoring.lists import CandidateLists

_FACTS = "# facts "
_OWN = "parentage"

_Line = tuple[int, list[str]]


def read_jkl(text: str) -> CandidateLists:
    """Read lists; everything that contradicts itself is refused with its line."""
    comments = leading_comments(text)
    own = OWN_JKL in comments
    lines = _significant(text)
    families = FamilyCollector(decode=decode_name if own else None)
    announced, n_variables = _read_size(lines)
    while len(families.children) < n_variables:
        if not _read_block(lines, families):
            raise ListsError(
                f"line {announced} announces {n_variables} variables, but only "
                f"{len(families.children)} blocks follow"
            )
    _skip_trailing(lines, announced, n_variables)
    facts = [line.removeprefix(_FACTS) for line in comments if line.startswith(_FACTS)]
    if own and facts:
        return with_facts(families.lists(), json_object(facts[0]))
    ids = [str(i) for i in range(n_variables)]
    by_id = not own and families.children.keys() == set(ids)
    return families.lists(ids if by_id else None)


def jkl_text(lists: CandidateLists) -> str:
    """Return lists as the text of a .jkl file.

    >>> from parentage.scoring.lists import CandidateLists
    >>> lists = CandidateLists.from_families({"a b": [(-2.5, [])], "c": [(-0.1, ["a b"])]})
    >>> print(jkl_text(lists))  # doctest: +ELLIPSIS
    # parentage candidate lists 1, names percent-encoded
    # facts {...}
    2
    a%20b 1
    -2.5 0
    c 1
    -0.1 1 a%20b
    """
    names = _written_names(lists)
    out = [OWN_JKL, _FACTS + facts_text(lists), str(lists.n_variables)]
    offsets, starts = lists.offsets.tolist(), lists.starts.tolist()
    scores, parents = lists.scores.tolist(), lists.parents.tolist()
    for child, name in enumerate(names):
        out.append(f"{name} {offsets[child + 1] - offsets[child]}")
        for i in range(offsets[child], offsets[child + 1]):
            members = [names[p] for p in parents[starts[i] : starts[i + 1]]]
            out.append(" ".join([repr(scores[i]), str(len(members)), *members]))
    return "\n".join(out) + "\n"


def _significant(text: str) -> Iterator[_Line]:
    for number, line in enumerate(io.StringIO(text), 1):
        tokens = line.split()
        if tokens and tokens[0][0] != "#":
            yield number, tokens


def _read_size(lines: Iterator[_Line]) -> tuple[int, int]:
    number, tokens = next(lines, (0, []))
    if not tokens:
        raise ListsError("the file is empty: a .jkl file starts with the number of variables")
    if len(tokens) != 1 or not is_count(tokens[0]) or int(tokens[0]) == 0:
        raise ListsError(
            f"line {number}: {' '.join(tokens)[:40]!r} is not a number of variables; a .jkl "
            "file starts with one",
            Way("format", "csv", "if this is a table"),
        )
    return number, int(tokens[0])


def _read_block(lines: Iterator[_Line], families: FamilyCollector) -> bool:
    """Read one child with its sets; False at the end of the file."""
    head, tokens = next(lines, (0, []))
    if not tokens:
        return False
    superfluous = tokens[1:] == ["0"] and looks_like_score(tokens[0])  # an empty set too many
    if len(tokens) != 2 or not is_count(tokens[1]) or superfluous:
        raise ListsError(_no_head(head, tokens, families))
    child = families.add_child(tokens[0], head)
    for done in range(int(tokens[1])):
        number, fields = next(lines, (0, []))
        if not fields:
            raise ListsError(
                f"line {head}: {next(reversed(families.children))!r} announces {tokens[1]} parent "
                f"sets, but {done} follow"
            )
        _check_set(number, fields, head, tokens)
        families.add(child, fields[0], fields[2:], number)
    return True


def _no_head(number: int, tokens: list[str], families: FamilyCollector) -> str:
    found = " ".join(tokens)[:40]
    message = f"line {number}: {found!r} does not start a block (variable, number of sets)"
    if families.children:
        last = next(reversed(families.children))
        message += f"; {last!r} has more parent sets than announced, or a line is damaged"
    return message


def _check_set(number: int, fields: list[str], head: int, announced: list[str]) -> None:
    if len(fields) < 2 or not is_count(fields[1]) or len(fields) - 2 != int(fields[1]):
        found = " ".join(fields)[:40]
        raise ListsError(
            f"line {number}: {found!r} is not a parent set (score, number of parents, as many "
            f"parents); line {head} announces {announced[1]} sets of {announced[0]!r}"
        )


def _skip_trailing(lines: Iterator[_Line], announced: int, n_variables: int) -> None:
    first, count = (0, ""), 0
    for number, tokens in lines:
        if not all(map(is_whole, tokens)):
            raise ListsError(
                f"line {number}: {' '.join(tokens)[:40]!r} comes after the last block; "
                f"delete it, or correct the number of variables ({n_variables}, line {announced})"
            )
        first, count = first if count else (number, " ".join(tokens)), count + 1
    if count:
        lines_of = "1 line" if count == 1 else f"{count} lines"
        warn(
            DataWarning(
                f"{lines_of} of whole numbers after the last block skipped; the first is "
                f"line {first[0]}: {first[1]!r}"
            ),
        )


def read_pss(text: str) -> CandidateLists:
    """Read lists; everything that contradicts itself is refused with its line."""
    families = FamilyCollector()
    notes: dict[str, str] = {}
    own: dict[str, Any] | None = None
    child = -1
    for number, line in enumerate(io.StringIO(text), 1):
        tokens = line.split()
        if not tokens or tokens[0][0] == "#":
            continue
        keyword = tokens[0].upper()
        if keyword == "META":
            key, value = _meta_line(line, number)
            if child < 0 and key == _OWN:
                own, families.decode = json_object(value), decode_name
            elif child < 0:
                notes[key] = value
        elif keyword == "VAR":
            if len(tokens) != 2:
                raise ListsError(f"line {number}: VAR needs one name without blanks, as in VAR a")
            child = families.add_child(tokens[1], number)
        elif child < 0:
            raise ListsError(
                f"line {number}: {line.strip()[:40]!r} comes before the first VAR line",
                Way("format", "csv", "if this is a table"),
            )
        else:
            families.add(child, tokens[0], tokens[1:], number)
    if child < 0:
        raise ListsError("the .pss file has no VAR line, so no variables")
    if own is None:
        return families.lists(account=Unknown(notes))
    return with_facts(families.lists(), own)


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
    names = _written_names(lists)
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


def _written_names(lists: CandidateLists) -> list[str]:
    """Return the names as text files have them; refuse scores that these cannot hold."""
    if not np.isfinite(lists.scores).all():
        raise ListsError("a score is not finite; such a set cannot be written")
    return [encode_name(name) for name in lists.names]


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


def _encode(character: str) -> str:
    special = character in "%#" or character.isspace() or not character.isprintable()
    return quote(character, safe="", errors="surrogatepass") if special else character
