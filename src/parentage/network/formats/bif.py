r"""BIF and XMLBIF, the interchange formats of networks with parameters, both ways.

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

BIF has no quoting that all programs read, so names and labels that are not plain words are escaped.
A plain word is what pyAgrum, pgmpy and R's bnlearn all read as one: letters, digits, ``_``, ``.``
and ``-``, not starting like a number, not a keyword; labels may be whole numbers too. pgmpy matches
variable names without regard to case, so of two names that differ in case alone the second is
escaped. pyAgrum refuses BIF files with a variable of one state: drop constant columns before
learning if it is to read the file. What other programs write is read too: quoted names, names of
several words, states or parents without commas between them, properties, comments, ``default``
rows, and ``table`` blocks with parents, whose values run over the child's states first (as pgmpy
and bnlearn have it).

In XMLBIF 0.3 a TABLE runs over the child's states fastest, then over the last GIVEN, and so on. XML
holds almost every name; control characters, lone surrogates and blanks that readers trim or merge
are escaped.

A character that the format cannot hold becomes ``_xHH_``, HH its code in hexadecimal (the scheme of
ISO 9075-14 with a free number of digits); nothing at all becomes ``_x_``. An underscore that would
start such a group by accident is itself written ``_x5f_``, so :func:`unescape` undoes
:func:`escape` whatever the text. A file with at least one escaped name carries :data:`MARK` in a
comment; without it names are taken literally, since other programs do not escape.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape as xml_escape

import numpy as np

from parentage.errors import InputError, ResourceError, did_you_mean
from parentage.files.detect import plain_float
from parentage.network.network import Network
from parentage.network.parameters import MAX_CELLS, Parameters, Probabilities, from_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

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


_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/)
      | "(?P<quoted>[^"]*)"
      | (?P<mark>[{}\[\]()|,;=])
      | (?P<word>[^\s{}\[\]()|,;="]+)""",
    re.DOTALL | re.VERBOSE,
)
_END = ""


@dataclass(frozen=True)
class _Token:
    text: str
    line: int
    mark: bool


@dataclass
class _Block:
    """The probability block of one child, as read."""

    parents: list[str]
    line: int
    rows: dict[tuple[str, ...], list[float]] = field(default_factory=dict)
    table: list[float] | None = None
    default: list[float] | None = None


def parse_bif(text: str, name: str) -> Parameters:
    """Parse BIF; errors name the file and the line."""
    parser = _Parser(text, name)
    parser.read()
    return parser.parameters()


class _Parser:
    """One pass over the tokens; ``states`` and ``blocks`` fill up on the way."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.tokens = _tokens(text, name)
        self.at = 0
        self.decode = unescape if MARK in text else str
        self.states: dict[str, list[str]] = {}
        self.blocks: dict[str, _Block] = {}

    def error(self, what: str, line: int | None = None) -> InputError:
        return InputError(f"{self.name}, line {line or self.tokens[self.at].line}: {what}")

    def next(self) -> _Token:
        token = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def sees(self, mark: str) -> bool:
        return self.tokens[self.at].mark and self.tokens[self.at].text == mark

    def skip(self, mark: str) -> bool:
        found = self.sees(mark)
        if found:
            self.next()
        return found

    def expect(self, mark: str) -> None:
        if not self.skip(mark):
            found = self.tokens[self.at].text or "the end of the file"
            raise self.error(f"{mark!r} expected, {found!r} found")

    def words(self) -> list[str]:
        """Take the words up to the next mark."""
        taken = []
        while not self.tokens[self.at].mark:
            taken.append(self.next().text)
        return taken

    def phrase(self, what: str) -> str:
        """Take one name, which other programs may write as several words."""
        words = self.words()
        if not words:
            raise self.error(f"{what} expected, {self.tokens[self.at].text!r} found")
        return self.decode(" ".join(words))

    def phrases(self, what: str, end: str) -> list[str]:
        """Take names up to a mark, split at commas."""
        parts = [self.words()]
        while self.skip(","):
            parts.append(self.words())
        if not all(parts):
            raise self.error(f"{what} expected, {self.tokens[self.at].text!r} found")
        self.expect(end)
        return [self.decode(" ".join(words)) for words in parts]

    def numbers(self) -> list[float]:
        values: list[float] = []
        while not self.sees(";"):
            token = self.next()
            if token.mark and token.text == ",":
                continue
            try:
                values.append(plain_float(token.text))
            except ValueError:
                found = token.text or "the end of the file"
                raise self.error(f"a probability expected, {found!r} found", token.line) from None
        self.next()
        return values

    def read(self) -> None:
        sections = {
            "network": self.read_network,
            "variable": self.read_variable,
            "probability": self.read_probability,
        }
        while not self.sees(_END):
            keyword = self.next()
            if keyword.mark or keyword.text not in sections:
                raise self.error(
                    f"'network', 'variable' or 'probability' expected, {keyword.text!r} found; "
                    "is this a BIF file?",
                    keyword.line,
                )
            sections[keyword.text]()

    def skip_property(self) -> None:
        while not self.skip(";"):
            if self.sees(_END):
                raise self.error("a block or property is not closed")
            self.next()

    def read_network(self) -> None:
        self.words()
        self.expect("{")
        while not self.skip("}"):
            self.skip_property()

    def read_variable(self) -> None:
        line = self.tokens[self.at].line
        name = self.phrase("a variable name")
        if name in self.states:
            raise self.error(f"variable {name!r} is declared twice", line)
        self.expect("{")
        while not self.skip("}"):
            if self.tokens[self.at].text == "type":
                self.states[name] = self.read_states(name)
            else:
                self.skip_property()
        if name not in self.states:
            raise self.error(f"variable {name!r} has no 'type discrete' line", line)

    def read_states(self, name: str) -> list[str]:
        line, words = self.tokens[self.at].line, self.words()
        if words != ["type", "discrete"]:
            raise self.error(
                f"variable {name!r} is of {' '.join(words)!r}; only 'type discrete' can be read"
            )
        self.expect("[")
        count = " ".join(self.words())
        self.expect("]")
        self.skip("=")
        self.expect("{")
        states = self.phrases("a state", "}")
        if len(states) == 1 and count != "1":
            states = states[0].split()  # no commas: every word is a state
        self.skip(";")
        if count != str(len(states)):
            what = f"variable {name!r} declares {count} states and lists {len(states)}"
            raise self.error(what, line)
        if len(set(states)) != len(states):
            raise self.error(f"variable {name!r} has a state twice", line)
        return states

    def read_probability(self) -> None:
        line = self.tokens[self.at].line
        self.expect("(")
        child = self.phrase("a variable name")
        parents = self.phrases("a parent", ")") if self.skip("|") else []
        if not parents:
            self.expect(")")
        if child in self.blocks:
            raise self.error(f"{child!r} has two probability blocks", line)
        block = self.blocks[child] = _Block(parents, line)
        self.expect("{")
        while not self.skip("}"):
            self.read_row(block)

    def read_row(self, block: _Block) -> None:
        if self.skip("("):
            line = self.tokens[self.at].line
            given = tuple(self.phrases("a state", ")"))
            if given in block.rows:
                raise self.error(f"the row ({', '.join(given)}) occurs twice", line)
            block.rows[given] = self.numbers()
            return
        keyword = self.next()
        if keyword.text == "table":
            block.table = self.numbers()
        elif keyword.text == "default":
            block.default = self.numbers()
        elif keyword.text == "property":
            self.skip_property()
        else:
            found = keyword.text or "the end of the file"
            raise self.error(f"a row of probabilities expected, {found!r} found", keyword.line)

    def parameters(self) -> Parameters:
        for child, block in self.blocks.items():
            if len(block.parents) == 1 and block.parents[0] not in self.states:
                block.parents = block.parents[0].split()  # no commas: every word is a parent
            for name in (child, *block.parents):
                if name not in self.states:
                    hint = did_you_mean(name, self.states)
                    raise self.error(f"no variable {name!r}; {hint}", block.line)
        without = [name for name in self.states if name not in self.blocks]
        if without:
            raise InputError(f"{self.name}: variable {without[0]!r} has no probability block")
        given = {name: self.blocks[name].parents for name in self.states}
        return _assembled(self.states, given, self.table)

    def table(self, child: str) -> Probabilities:
        block, r = self.blocks[child], len(self.states[child])
        shape = [len(self.states[parent]) for parent in block.parents]
        if block.table is not None:
            values = self.sized(child, block.table, math.prod(shape) * r)
            return np.moveaxis(values.reshape(r, *shape), 0, -1)
        return self.filled(child, block, (*shape, r))

    def filled(self, child: str, block: _Block, shape: tuple[int, ...]) -> Probabilities:
        if math.prod(shape) > MAX_CELLS:
            raise ResourceError(
                f"{self.name}: the probability table of {child!r} would have "
                f"{math.prod(shape):,} cells, more than {MAX_CELLS:,}"
            )
        array = np.full(shape, np.nan)
        if block.default is not None:
            array[...] = self.sized(child, block.default, shape[-1])
        codes = [
            {state: k for k, state in enumerate(self.states[parent])} for parent in block.parents
        ]
        for given, values in block.rows.items():
            if len(given) != len(codes):
                raise self.error(f"a row of {child!r} needs {len(codes)} parent states", block.line)
            for parent, state, known in zip(block.parents, given, codes, strict=True):
                if state not in known:
                    hint = did_you_mean(state, known)
                    raise self.error(f"{parent!r} has no state {state!r}; {hint}", block.line)
            place = tuple(known[state] for known, state in zip(codes, given, strict=True))
            array[place] = self.sized(child, values, shape[-1])
        if np.isnan(array).any():
            raise self.error(f"{child!r} has no probabilities for some parent states", block.line)
        return array

    def sized(self, child: str, values: list[float], size: int) -> Probabilities:
        if len(values) != size:
            raise self.error(
                f"{child!r} needs {size} probabilities, {len(values)} found",
                self.blocks[child].line,
            )
        return np.array(values, np.float64)


def _assembled(
    states: dict[str, list[str]],
    given: dict[str, list[str]],
    table_of: Callable[[str], Probabilities],
) -> Parameters:
    """Make parameters of tables with an axis for each parent, as they are given, and the child."""
    network = Network.from_parents({name: given[name] for name in states})
    tables = {}
    for child in network.names:
        axes = [given[child].index(parent) for parent in network.parents_of(child)]
        table = table_of(child).transpose([*axes, len(axes)])
        tables[child] = table.reshape(-1, len(states[child]))
    return from_rows(network, states, tables)


def _tokens(text: str, name: str) -> list[_Token]:
    tokens, at, line = [], 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise InputError(f"{name}, line {line}: a quote or comment is not closed")
        if match["mark"]:
            tokens.append(_Token(match["mark"], line, mark=True))
        elif match["blank"] is None:
            tokens.append(_Token(match["quoted"] or match["word"] or "", line, mark=False))
        line += match[0].count("\n")
        at = match.end()
    return [*tokens, _Token(_END, line, mark=True)]


_UNSAFE = re.compile(
    r"^\s|\s$|(?<=\s)\s"  # trimmed or merged by readers
    r"|[^ -~\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"  # not XML
)

_DOCTYPE = re.compile(
    r"((?:\ufeff?<\?xml[^>]{,200}\?>)?(?:\s|<!--(?:[^-]|-[^-]){,9999}-->){,99})"
    r"<!DOCTYPE\s[^\[>]{,999}(?:\[[^\]]{,9999}\]\s{,99})?>"
)
"""The document type at the beginning; [1] is what stands before it."""


def xmlbif_text(parameters: Parameters) -> str:
    """Return the XMLBIF text of a network with its parameters."""
    network = parameters.network
    names = [_word(name) for name in network.names]
    labels = [[_word(label) for label in states] for states in parameters.states]
    plain = names == list(network.names) and all(
        words == list(states) for words, states in zip(labels, parameters.states, strict=True)
    )
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines += [] if plain else [f"<!-- {MARK} -->"]
    lines += ['<BIF VERSION="0.3">', "<NETWORK>", "<NAME>unknown</NAME>"]
    for name, words in zip(names, labels, strict=True):
        lines.append('<VARIABLE TYPE="nature">')
        lines.append(_element("NAME", name))
        lines += [_element("OUTCOME", word) for word in words]
        lines.append("</VARIABLE>")
    for name, members, table in zip(names, network.parents, parameters.tables, strict=True):
        lines.append("<DEFINITION>")
        lines.append(_element("FOR", name))
        lines += [_element("GIVEN", names[p]) for p in members]
        lines.append(_element("TABLE", " ".join(repr(float(p)) for p in table.ravel())))
        lines.append("</DEFINITION>")
    lines += ["</NETWORK>", "</BIF>"]
    return "\n".join(lines) + "\n"


def parse_xmlbif(text: str, name: str) -> Parameters:
    """Parse XMLBIF; errors name the file."""
    plain = _without_doctype(text, name)
    try:
        root = ElementTree.fromstring(plain)  # noqa: S314 # without declarations nothing expands
    except (ElementTree.ParseError, ValueError) as error:
        raise InputError(f"{name} is not XML: {error}") from None
    decode = unescape if MARK in text else str
    network_element = next((e for e in root.iter() if _tag(e) == "NETWORK"), None)
    if network_element is None:
        raise InputError(f"{name} has no NETWORK element; is it XMLBIF?")
    states = _read_states(network_element, decode, name)
    given: dict[str, list[str]] = {}
    tables: dict[str, list[float]] = {}
    for definition in _children(network_element, "DEFINITION"):
        child = _only(definition, "FOR", decode, name)
        if child in given:
            raise InputError(f"{name}: {child!r} has two DEFINITION elements")
        given[child] = [decode(e.text or "") for e in _children(definition, "GIVEN")]
        tables[child] = _read_table(definition, child, name)
    for known in (*given, *(parent for parents in given.values() for parent in parents)):
        if known not in states:
            raise InputError(f"{name}: no variable {known!r}; {did_you_mean(known, states)}")
    without = [variable for variable in states if variable not in given]
    if without:
        raise InputError(f"{name}: variable {without[0]!r} has no DEFINITION")

    def table_of(child: str) -> Probabilities:
        shape = [len(states[variable]) for variable in (*given[child], child)]
        size, found = math.prod(shape), len(tables[child])
        if found != size:
            raise InputError(f"{name}: the TABLE of {child!r} needs {size} numbers, {found} found")
        return np.array(tables[child], np.float64).reshape(shape)

    return _assembled(states, given, table_of)


def _without_doctype(text: str, name: str) -> str:
    """Leave out the document type: nothing in it matters here, and what it declares can blow up."""
    head = _DOCTYPE.match(text)
    if head is not None:
        text = head[1] + text[head.end() :]
    if "<!DOCTYPE" in text or "<!ENTITY" in (head or [""])[0]:
        raise InputError(
            f"{name} has a document type (<!DOCTYPE …>) that is not the one of XMLBIF; remove it"
        )
    return text


def _read_states(
    network: ElementTree.Element, decode: Callable[[str], str], name: str
) -> dict[str, list[str]]:
    states: dict[str, list[str]] = {}
    for variable in _children(network, "VARIABLE"):
        label = _only(variable, "NAME", decode, name)
        if label in states:
            raise InputError(f"{name}: variable {label!r} is declared twice")
        states[label] = [decode(e.text or "") for e in _children(variable, "OUTCOME")]
    return states


def _read_table(definition: ElementTree.Element, child: str, name: str) -> list[float]:
    table = next(iter(_children(definition, "TABLE")), None)
    words = "".join(table.itertext()).split() if table is not None else []
    try:
        return [plain_float(word) for word in words]
    except ValueError as error:
        raise InputError(f"{name}: the TABLE of {child!r}: {error}") from None


def _word(text: str) -> str:
    return escape(text, [match.start() for match in _UNSAFE.finditer(text)])


def _element(tag: str, text: str) -> str:
    return f"  <{tag}>{xml_escape(text)}</{tag}>"


def _tag(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2].upper()


def _children(element: ElementTree.Element, tag: str) -> list[ElementTree.Element]:
    return [child for child in element if _tag(child) == tag]


def _only(element: ElementTree.Element, tag: str, decode: Callable[[str], str], name: str) -> str:
    found = _children(element, tag)
    if len(found) != 1:
        raise InputError(f"{name}: a {_tag(element)} needs one {tag}, {len(found)} found")
    return decode(found[0].text or "")
