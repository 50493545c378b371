"""A checker of VIPR 1.0 files in exact fractions, written from the description of the format.

It knows nothing of networks. :func:`problem_faults` is the other half: whether the integer
programme that a file states is the one of given lists, read from the names of its variables.
"""

from __future__ import annotations

import gzip
import math
import re
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from parentage.scoring.lists import CandidateLists

Number = int | Fraction
Coefficients = dict[int, Number]
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(/\d+)?")


class RefusedError(Exception):
    """A file that is no proof."""


@dataclass
class Constraint:
    """A constraint, what it assumes, and after which line nobody may use it."""

    coefficients: Coefficients
    sense: str
    right: Number
    assumes: frozenset[int] = frozenset()
    last: int = -1

    def absurd(self) -> bool:
        """Whether it cannot hold."""
        if self.coefficients:
            return False
        return {"G": self.right > 0, "L": self.right < 0, "E": self.right != 0}[self.sense]

    def dominates(self, other: Constraint) -> bool:
        """Whether the other one follows, in the restricted sense of the format."""
        if self.absurd():
            return True
        if self.coefficients != other.coefficients:
            return False
        if other.sense == "E":
            return self.sense == "E" and self.right == other.right
        if self.sense not in ("E", other.sense):
            return False
        return self.right >= other.right if other.sense == "G" else self.right <= other.right


@dataclass
class Stated:
    """The problem that a file states, and what it claims."""

    names: list[str] = field(default_factory=list)
    whole: set[int] = field(default_factory=set)
    minimise: bool = True
    objective: Coefficients = field(default_factory=dict)
    constraints: list[Constraint] = field(default_factory=list)
    lower: Number | None = None
    upper: Number | None = None
    infeasible: bool = False
    solutions: list[Coefficients] = field(default_factory=list)
    derivations: int = 0


class Tokens:
    """The words of a file, one after the other."""

    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        while lines and lines[0].startswith("%"):
            lines.pop(0)
        self._words: Iterator[str] = iter("\n".join(lines).split())

    def word(self) -> str:
        """The next word."""
        found = next(self._words, None)
        if found is None:
            raise RefusedError("the file ends too early")
        return found

    def expect(self, *words: str) -> str:
        """The next word, one of these."""
        found = self.word()
        if found not in words:
            raise RefusedError(f"{found!r} in place of {' or '.join(words)}")
        return found

    def index(self, below: int | None = None) -> int:
        """A whole number ≥ 0, less than a limit."""
        found = self.word()
        if not found.isdecimal() or (below is not None and int(found) >= below):
            raise RefusedError(f"{found!r} is no index that is possible here")
        return int(found)

    def number(self) -> Number:
        """A rational number."""
        return rational(self.word())

    def terms(self, below: int) -> Coefficients:
        """A count, and so many pairs of an index and a number; zeros are left out."""
        found: Coefficients = {}
        for _ in range(self.index()):
            index = self.index(below)
            if index in found:
                raise RefusedError(f"index {index} repeats")
            found[index] = self.number()
        return {index: number for index, number in found.items() if number}

    def end(self) -> None:
        """Nothing may follow."""
        if next(self._words, None) is not None:
            raise RefusedError("something follows the last derivation")


def rational(word: str) -> Number:
    """A number as the format writes it."""
    if not NUMBER.fullmatch(word):
        raise RefusedError(f"{word!r} is not a number")
    try:
        found = Fraction(word)
    except (ValueError, ZeroDivisionError):
        raise RefusedError(f"{word!r} is not a number") from None
    return found.numerator if found.denominator == 1 else found


def read_text(path: Path) -> str:
    """The text of a file, compressed or not."""
    data = path.read_bytes()
    return (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode("ascii")


def check_vipr(source: Path | str) -> Stated:
    """Verify a file, and return what it states.

    Raises
    ------
    RefusedError
        With the first thing that is wrong.
    """
    tokens = Tokens(read_text(source) if isinstance(source, Path) else source)
    stated = read_problem(tokens)
    check_solutions(stated)
    check_derivations(tokens, stated)
    return stated


def read_problem(tokens: Tokens) -> Stated:
    """Read everything before the derivations."""
    stated = Stated()
    tokens.expect("VER")
    tokens.expect("1.0")
    tokens.expect("VAR")
    stated.names = [tokens.word() for _ in range(tokens.index())]
    n = len(stated.names)
    tokens.expect("INT")
    stated.whole = {tokens.index(n) for _ in range(tokens.index())}
    tokens.expect("OBJ")
    stated.minimise = tokens.expect("min", "max") == "min"
    stated.objective = tokens.terms(n)
    tokens.expect("CON")
    count, bounds = tokens.index(), tokens.index()
    if bounds > count:
        raise RefusedError("more bounds than constraints")
    stated.constraints = [read_constraint(tokens, stated) for _ in range(count)]
    tokens.expect("RTP")
    if tokens.expect("infeas", "range") == "infeas":
        stated.infeasible = True
    else:
        lower, upper = tokens.word(), tokens.word()
        stated.lower = None if lower == "-inf" else rational(lower)
        stated.upper = None if upper == "inf" else rational(upper)
        if None not in (stated.lower, stated.upper) and stated.lower > stated.upper:  # type: ignore[operator]
            raise RefusedError("the lower bound is above the upper one")
    tokens.expect("SOL")
    for _ in range(tokens.index()):
        tokens.word()
        stated.solutions.append(tokens.terms(n))
    tokens.expect("DER")
    stated.derivations = tokens.index()
    return stated


def read_constraint(tokens: Tokens, stated: Stated) -> Constraint:
    """Read a name, sense, right side and coefficients."""
    tokens.word()
    sense, right = tokens.expect("E", "L", "G"), tokens.number()
    word = tokens.word()
    if word == "OBJ":
        return Constraint(dict(stated.objective), sense, right)
    if not word.isdecimal():
        raise RefusedError(f"{word!r} is no number of coefficients")
    found: Coefficients = {}
    for _ in range(int(word)):
        index = tokens.index(len(stated.names))
        if index in found:
            raise RefusedError(f"index {index} repeats")
        found[index] = tokens.number()
    return Constraint({i: number for i, number in found.items() if number}, sense, right)


def check_solutions(stated: Stated) -> None:
    """Every solution satisfies everything, and one of them is as good as claimed."""
    values = []
    for solution in stated.solutions:
        for index, value in solution.items():
            if index in stated.whole and Fraction(value).denominator != 1:
                raise RefusedError("a solution has a fraction where a whole number belongs")
        for row in stated.constraints:
            reached = product(row.coefficients, solution)
            low, high = reached >= row.right, reached <= row.right
            if not {"G": low, "L": high, "E": low and high}[row.sense]:
                raise RefusedError("a solution breaks a constraint")
        values.append(product(stated.objective, solution))
    wanted = stated.upper if stated.minimise else stated.lower
    if stated.infeasible:
        if values:
            raise RefusedError("there is a solution, so the problem is feasible")
    elif wanted is not None and not values:
        raise RefusedError("no solution is given")
    elif wanted is not None and (min(values) > wanted if stated.minimise else max(values) < wanted):
        raise RefusedError("no solution is as good as claimed")


def product(a: Coefficients, b: Coefficients) -> Number:
    """The sum of products."""
    return sum(number * b[index] for index, number in a.items() if index in b)


def check_derivations(tokens: Tokens, stated: Stated) -> None:
    """Every derivation follows, and the last one is what is claimed."""
    rows = stated.constraints[:]
    for _ in range(stated.derivations):
        row = read_constraint(tokens, stated)
        tokens.expect("{")
        kind = tokens.expect("asm", "lin", "rnd", "uns", "sol")
        if kind == "asm":
            row.assumes = frozenset([len(rows)])
        elif kind == "uns":
            row.assumes = unsplit(tokens, stated, rows, row)
        elif kind == "sol":
            raise RefusedError("derivations from solutions are not in these files")
        else:
            row.assumes = combined(tokens, stated, rows, row, rounded=kind == "rnd")
        tokens.expect("}")
        word = tokens.word()
        if not re.fullmatch(r"-1|\d+", word):
            raise RefusedError(f"{word!r} is no index")
        row.last = int(word)
        rows.append(row)
    tokens.end()
    last = rows[-1] if rows else Constraint({}, "E", 0)
    if last.assumes:
        raise RefusedError("the last derivation rests on an assumption")
    if stated.infeasible:
        if not last.absurd():
            raise RefusedError("the last derivation can hold")
        return
    claimed = stated.lower if stated.minimise else stated.upper
    sense = "G" if stated.minimise else "L"
    if claimed is not None and not last.dominates(Constraint(stated.objective, sense, claimed)):
        raise RefusedError("the last derivation is not the bound that is claimed")


def used(rows: list[Constraint], index: int) -> Constraint:
    """A constraint that a derivation refers to."""
    row = rows[index]
    if -1 < row.last < len(rows):
        raise RefusedError(f"constraint {index} is used after its last use")
    return row


def combined(
    tokens: Tokens, stated: Stated, rows: list[Constraint], row: Constraint, *, rounded: bool
) -> frozenset[int]:
    """Check a linear combination, rounded or not; return what it assumes."""
    signs = {"G": 1, "E": 0, "L": -1}
    total: Coefficients = {}
    right: Number = 0
    directions, assumes = set(), frozenset[int]()
    for index, times in tokens.terms(len(rows)).items():
        own = used(rows, index)
        direction = signs[own.sense] * (1 if times > 0 else -1)
        directions |= {direction} - {0}
        assumes |= own.assumes
        right += times * own.right
        for variable, number in own.coefficients.items():
            total[variable] = total.get(variable, 0) + times * number
    if len(directions) > 1:
        raise RefusedError("a combination points both ways")
    sense = "E" if not directions else "G" if directions == {1} else "L"
    total = {variable: number for variable, number in total.items() if number}
    if rounded:
        if any(
            variable not in stated.whole or Fraction(number).denominator != 1
            for variable, number in total.items()
        ):
            raise RefusedError("a combination with fractions is rounded")
        if sense != "E":
            right = math.ceil(right) if sense == "G" else math.floor(right)
    if not Constraint(total, sense, right).dominates(row):
        raise RefusedError("a combination does not give what it should")
    return assumes


def unsplit(
    tokens: Tokens, stated: Stated, rows: list[Constraint], row: Constraint
) -> frozenset[int]:
    """Check a distinction of two cases; return what is assumed besides them."""
    first, low, second, high = (tokens.index(len(rows)) for _ in range(4))
    if not (used(rows, first).dominates(row) and used(rows, second).dominates(row)):
        raise RefusedError("a case does not give what it should")
    a, b = used(rows, low), used(rows, high)
    if {a.sense, b.sense} != {"L", "G"} or a.coefficients != b.coefficients:
        raise RefusedError("two cases are not of one kind")
    if any(
        variable not in stated.whole or Fraction(number).denominator != 1
        for variable, number in a.coefficients.items()
    ):
        raise RefusedError("two cases are about fractions")
    below, above = (a, b) if a.sense == "L" else (b, a)
    if Fraction(below.right).denominator != 1 or above.right != below.right + 1:
        raise RefusedError("two cases leave something out")
    return (rows[first].assumes - {low}) | (rows[second].assumes - {high})


def problem_faults(
    stated: Stated, lists: CandidateLists, costs: Mapping[int, int], allowed: Iterable[int]
) -> list[str]:
    """What in the stated problem is not the problem of these lists; empty if it is.

    Every constraint must hold for every network with any order it respects, and the objective must
    be its cost. Then a lower bound on the objective is one on the cost of every network.
    """
    faults = []
    child = {i: v for v in range(lists.n_variables)
             for i in range(lists.offsets[v], lists.offsets[v + 1])}  # fmt: skip
    sets = [(child[i], tuple(int(p) for p in lists.parents_of(i)), costs[i]) for i in allowed]
    orders: dict[int, tuple[int, int]] = {}
    for index, name in enumerate(stated.names):
        if match := re.fullmatch(r"x(\d+)\(([\d,]*)\)", name):
            parents = tuple(int(p) for p in match[2].split(",") if p)
            if index >= len(sets) or sets[index] != (
                int(match[1]), parents, stated.objective.get(index, 0)
            ):  # fmt: skip
                faults.append(f"{name} is not a set of the lists, or has another cost")
        elif match := re.fullmatch(r"o(\d+)<(\d+)", name):
            orders[index] = (int(match[1]), int(match[2]))
        else:
            faults.append(f"{name} has no meaning")
    if len(stated.names) != len(sets) + len(orders) or set(stated.objective) & set(orders):
        faults.append("the variables are not those of the lists")
    if not stated.minimise or stated.whole != set(range(len(stated.names))):
        faults.append("something else is asked for")
    if not faults:
        faults += [
            f"constraint {k} does not hold for networks"
            for k, row in enumerate(stated.constraints)
            if not holds_for_networks(row, sets, orders)
        ]
    return faults


def holds_for_networks(
    row: Constraint,
    sets: list[tuple[int, tuple[int, ...], int]],
    orders: Mapping[int, tuple[int, int]],
) -> bool:
    """Whether a constraint is one of those that every network satisfies."""
    families = {i: a for i, a in row.coefficients.items() if i not in orders}
    pairs = {orders[i]: a for i, a in row.coefficients.items() if i in orders}
    if row.sense != "E" and list(row.coefficients.values()) == [1]:
        return (row.sense, row.right) == ("G", 0) or (bool(pairs), row.sense, row.right) == (
            True, "L", 1
        )  # fmt: skip
    if set(families.values()) - {1}:
        return False
    children = {sets[i][0] for i in families}
    if not pairs:  # all sets of one child
        whole = {i for i, one in enumerate(sets) if one[0] in children}
        return (row.sense, row.right, len(children)) == ("E", 1, 1) and whole == set(families)
    before = {pair if a > 0 else pair[::-1] for pair, a in pairs.items()}
    if {abs(a) for a in pairs.values()} != {1} or row.sense != "L":
        return False
    turned = sum(a < 0 for a in pairs.values())
    if families:  # sets that hold u, only if u is before v: x − [u before v] ≤ 0
        if len(pairs) != 1 or len(children) != 1:
            return False
        v, u = next(iter(before))
        return (
            children == {v}
            and all(u in sets[i][1] for i in families)
            and row.right == 1 - turned  # x + [v before u] ≤ 1
        )
    tails, heads = {a for a, _ in before}, {b for _, b in before}
    # a cycle of three: at most two of its arcs
    return len(before) == len(tails) == 3 and tails == heads and row.right == 2 - turned
