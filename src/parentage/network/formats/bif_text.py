"""The grammar of BIF: text in, a network with parameters out. Used by ``bif``.

What other programs write is read too: quoted names, names of several words, states or parents
without commas between them, properties, comments, ``default`` rows, and ``table`` blocks with
parents, whose values run over the child's states first (as pgmpy and bnlearn have it).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import numpy as np

from parentage.errors import InputError, ResourceError, did_you_mean
from parentage.files.numbers import plain_float
from parentage.network.formats.escaping import MARK, unescape
from parentage.network.network import Network
from parentage.network.parameters import MAX_CELLS, Parameters, Probabilities, from_rows

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
                raise self.error("a block or property that does not end")
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
            raise self.error(f"variable {name!r} is of {' '.join(words)!r}; only discrete is read")
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
        network = Network.from_parents({name: self.blocks[name].parents for name in self.states})
        tables = {name: self.table(name, network.parents_of(name)) for name in network.names}
        return from_rows(network, self.states, tables)

    def table(self, child: str, order: tuple[str, ...]) -> Probabilities:
        """Return ``float64[q, r]`` with the parents in the network's order."""
        block, r = self.blocks[child], len(self.states[child])
        shape = [len(self.states[parent]) for parent in block.parents]
        if block.table is not None:
            values = self.sized(child, block.table, math.prod(shape) * r)
            array = np.moveaxis(values.reshape(r, *shape), 0, -1)
        else:
            array = self.filled(child, block, (*shape, r))
        axes = [block.parents.index(parent) for parent in order]
        return array.transpose([*axes, len(axes)]).reshape(-1, r)

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


def _tokens(text: str, name: str) -> list[_Token]:
    tokens, at, line = [], 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise InputError(f"{name}, line {line}: a quote or comment that does not end")
        if match["mark"]:
            tokens.append(_Token(match["mark"], line, mark=True))
        elif match["blank"] is None:
            tokens.append(_Token(match["quoted"] or match["word"] or "", line, mark=False))
        line += match[0].count("\n")
        at = match.end()
    return [*tokens, _Token(_END, line, mark=True)]
