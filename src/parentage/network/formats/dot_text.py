"""The grammar of the dot language, as far as arcs go. Used by ``dot``."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from parentage.errors import InputError, ResourceError
from parentage.network.formats.escaping import MARK, unescape
from parentage.network.network import Network

_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
      | "(?P<quoted>(?:[^"\\]|\\.)*)"
      | (?P<mark>->|--|[{}\[\];,=:+])
      | (?P<word>-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)|[^\W\d]\w*)
      | (?P<html><)""",
    re.DOTALL | re.VERBOSE,
)
_KEYWORDS = ("strict", "graph", "digraph", "node", "edge", "subgraph")
_END = ""
_BRACKET = re.compile("[<>]")

MOST_ARCS = 1_000_000
"""A few subgraphs joined to each other can mean millions of arcs."""

DEEPEST = 100
"""Subgraphs inside subgraphs."""


@dataclass(frozen=True)
class _Token:
    text: str
    line: int
    kind: str  # "mark", "keyword" or "name"


def parse_dot(text: str, name: str) -> Network:
    """Parse a digraph; errors name the file and the line."""
    parser = _Parser(text, name)
    parser.read()
    return Network.from_arcs(parser.nodes, parser.arcs)


class _Parser:
    """One pass over the tokens; ``nodes`` and ``arcs`` fill up in the order of the file."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.tokens = _tokens(text, name)
        self.at = 0
        self.decode = unescape if MARK in text else str
        self.nodes: dict[str, None] = {}
        self.arcs: dict[tuple[str, str], None] = {}
        self.depth = 0
        self.pairs = 0

    def error(self, what: str) -> InputError:
        return InputError(f"{self.name}, line {self.tokens[self.at].line}: {what}")

    def next(self) -> _Token:
        token = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def skip(self, *marks: str) -> bool:
        found = self.tokens[self.at].kind == "mark" and self.tokens[self.at].text in marks
        if found:
            self.next()
        return found

    def keyword(self, *words: str) -> bool:
        token = self.tokens[self.at]
        found = token.kind == "keyword" and token.text in words
        if found:
            self.next()
        return found

    def expect(self, mark: str) -> None:
        if not self.skip(mark):
            found = self.tokens[self.at].text or "the end of the file"
            raise self.error(f"{mark!r} expected, {found!r} found")

    def read(self) -> None:
        self.keyword("strict")
        if self.keyword("graph"):
            raise self.error("an undirected graph; a network needs 'digraph'")
        if not self.keyword("digraph"):
            raise self.error("'digraph' expected; is this a dot file?")
        if self.tokens[self.at].kind == "name":
            self.next()
        self.expect("{")
        self.statements()
        if self.tokens[self.at].text != _END or self.tokens[self.at].kind != "mark":
            found = self.tokens[self.at].text[:40]
            raise self.error(f"{found!r} after the closing brace; one digraph a file")

    def statements(self) -> list[str]:
        """Read statements up to the closing brace; return the nodes they mention."""
        inside: dict[str, None] = {}
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error(f"subgraphs nested more than {DEEPEST} deep")
        while not self.skip("}"):
            inside.update(dict.fromkeys(self.statement()))
            self.skip(";", ",")
        self.depth -= 1
        return list(inside)

    def statement(self) -> list[str]:
        if self.keyword("graph", "node", "edge"):
            self.attributes()
            return []
        follows = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None
        if follows is not None and follows.kind == "mark" and follows.text == "=":
            for _ in range(3):
                self.next()
            return []
        ends = [self.group()]
        while self.skip("->"):
            ends.append(self.group())
        if self.skip("--"):
            raise self.error("an undirected edge '--'; write '->'")
        self.attributes()
        for tails, heads in itertools.pairwise(ends):
            self.pairs += len(tails) * len(heads)
            if self.pairs > MOST_ARCS:
                raise ResourceError(f"{self.name} has more than {MOST_ARCS:,} arcs")
            self.arcs.update(dict.fromkeys((tail, head) for tail in tails for head in heads))
        return [node for group in ends for node in group]

    def group(self) -> list[str]:
        """Read one end of an arc: a node, or a subgraph and all its nodes."""
        if self.keyword("subgraph"):
            if self.tokens[self.at].kind == "name":
                self.next()
            self.expect("{")
            return self.statements()
        if self.skip("{"):
            return self.statements()
        token = self.tokens[self.at]
        if token.kind != "name":
            raise self.error(f"a node expected, {token.text or 'the end of the file'!r} found")
        node = self.decode(self.text())
        while self.skip(":"):
            self.next()  # a port: where the arc meets the node
        self.nodes.setdefault(node)
        return [node]

    def text(self) -> str:
        text = self.next().text
        while self.skip("+"):
            text += self.next().text
        return text

    def attributes(self) -> None:
        while self.skip("["):
            while not self.skip("]"):
                if self.tokens[self.at].text == _END and self.tokens[self.at].kind == "mark":
                    raise self.error("']' expected, the end of the file found")
                self.next()


def _tokens(text: str, name: str) -> list[_Token]:
    tokens, at, line = [], 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        end = match.end() if match else at
        if match is None:
            raise InputError(f"{name}, line {line}: {text[at]!r} is not valid in a dot file")
        if match["html"]:
            end = _html_end(text, at, name, line)
            tokens.append(_Token(text[at:end], line, "name"))
        elif match["mark"]:
            tokens.append(_Token(match["mark"], line, "mark"))
        elif match["quoted"] is not None:
            tokens.append(_Token(_unquoted(match["quoted"]), line, "name"))
        elif match["word"]:
            lowered = match["word"].lower()
            kind = "keyword" if lowered in _KEYWORDS else "name"
            tokens.append(_Token(lowered if kind == "keyword" else match["word"], line, kind))
        line += text.count("\n", at, end)
        at = end
    return [*tokens, _Token(_END, line, "mark")]


def _html_end(text: str, at: int, name: str, line: int) -> int:
    """Find the end of an HTML-like string: its angle brackets are balanced."""
    depth = 0
    for match in _BRACKET.finditer(text, at):
        depth += 1 if match[0] == "<" else -1
        if depth == 0:
            return match.end()
    raise InputError(f"{name}, line {line}: '<' without its '>'")


def _unquoted(text: str) -> str:
    """Undo what a quoted string may hold: a joined line, a quote, a backslash."""
    return re.sub(r'\\(\n|["\\])', lambda match: match[1].strip("\n"), text)
