"""BIF, the text interchange format of Bayesian networks: networks with parameters, both ways.

::

    network unknown {
    }
    variable smoker {
      type discrete [ 2 ] { no, yes };
    }
    probability ( cancer | smoker ) {
      (no) 0.99, 0.01;
      (yes) 0.9, 0.1;
    }

The format has no quoting that all programs read, so names and labels that are not plain words are
escaped (:mod:`parentage.network.formats.escaping`). A plain word is what pyAgrum, pgmpy and R's
bnlearn all read as one: letters, digits, ``_``, ``.`` and ``-``, not starting like a number, not a
keyword; labels may be whole numbers too. pgmpy matches variable names without regard to case, so
of two names that differ in case alone the second is escaped. pyAgrum refuses BIF files with a
variable of one state: drop constant columns before learning if it is to read the file.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING

from parentage.network.formats.escaping import MARK, escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from parentage.network.parameters import Parameters

_KEYWORDS = frozenset(
    ("network", "variable", "probability", "property", "type", "discrete", "table", "default")
)
_ODD = re.compile(r"[^A-Za-z0-9_.-]")
_NUMBER_LIKE = re.compile(r"[0-9]+(?=[.eE-])|(?=[.-])")
_TABLE_THEN_NUMBER = re.compile(r"(?=(?:table|default)[0-9eE.+-])")  # pgmpy reads these as a row
_CASED = re.compile("[A-Za-z]")


def bif_text(parameters: Parameters) -> str:
    """Return the BIF text of a network with its parameters."""
    network = parameters.network
    names = variable_words(network.names)
    labels = [[label_word(label) for label in states] for states in parameters.states]
    escaped = list(network.names) != names or any(
        list(states) != words for states, words in zip(parameters.states, labels, strict=True)
    )
    lines = [f"// {MARK}"] if escaped else []
    lines += ["network unknown {", "}"]
    for name, words in zip(names, labels, strict=True):
        lines.append(f"variable {name} {{")
        lines.append(f"  type discrete [ {len(words)} ] {{ {', '.join(words)} }};")
        lines.append("}")
    for v, members in enumerate(network.parents):
        given = [names[p] for p in members]
        lines.append(f"probability ( {names[v]}{' | ' if given else ''}{', '.join(given)} ) {{")
        lines += _rows(parameters.tables[v], [labels[p] for p in members])
        lines.append("}")
    return "\n".join(lines) + "\n"


def variable_words(names: Iterable[str]) -> list[str]:
    """Turn variable names into plain words, different without regard to case.

    >>> variable_words(["age group", "2nd", "12", "table", "a", "A"])
    ['age_x20_group', '2nd', '_x31_2', '_x74_able', 'a', '_x41_']
    """
    words: list[str] = []
    taken: set[str] = set()
    for name in names:
        unsafe = _unsafe(name) | {m.start() for m in _TABLE_THEN_NUMBER.finditer(name)}
        if name.isdecimal() or name in _KEYWORDS:
            unsafe.add(0)
        word = escape(name, unsafe)
        if word.lower() in taken:
            word = escape(name, unsafe | {m.start() for m in _CASED.finditer(name)})
        taken.add(word.lower())
        words.append(word)
    return words


def label_word(label: str) -> str:
    """Turn a state label into a plain word or a whole number.

    >>> [label_word(label) for label in ("yes", "0", "10-20", "<5", "")]
    ['yes', '0', '10_x2d_20', '_x3c_5', '_x_']
    """
    return escape(label, _unsafe(label) | ({0} if label in _KEYWORDS else set()))


def _unsafe(text: str) -> set[int]:
    """Positions of odd characters, and of the one that makes a word start like a number."""
    unsafe = {m.start() for m in _ODD.finditer(text)}
    number = _NUMBER_LIKE.match(text)
    return unsafe | {number.end()} if number else unsafe


def _rows(table: Iterable[Iterable[float]], parent_labels: list[list[str]]) -> Iterator[str]:
    for given, row in zip(product(*parent_labels), table, strict=True):
        head = f"({', '.join(given)})" if parent_labels else "table"
        yield f"  {head} {', '.join(repr(float(p)) for p in row)};"
