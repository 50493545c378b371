"""A certificate as a document: read, told apart from other files, and turned into typed records.

The format is described in docs/certificates.md. Nothing here judges a proof; but every number
that comes out has the right type and range, so that what follows can rely on it. A file that is
not a certificate raises an :class:`~parentage.errors.InputError`; a certificate that breaks the
format is :class:`ProofError` with the place that does.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from parentage.errors import InputError, ParentageError
from parentage.files.atomic import digest_of
from parentage.files.source import open_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from parentage.files.source import SourceLike
    from parentage.scoring.lists import CandidateLists

LARGEST = 2**62
"""No number of a document, and none of a check, reaches this."""


class ProofError(ParentageError):
    """A step of a certificate that does not hold; the message names it."""


class Listed(NamedTuple):
    """Candidate lists that a certificate carries, in the arrays of ``CandidateLists``."""

    names: tuple[str, ...]
    offsets: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    parents: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]
    counted: int
    """Sets that scoring counted; a recount counts about as many."""

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.names)

    @property
    def n_sets(self) -> int:
        """Number of sets."""
        return len(self.scores)

    def parents_of(self, i: int) -> npt.NDArray[np.int64]:
        """Return the parents of set ``i``."""
        return self.parents[self.starts[i] : self.starts[i + 1]]


Lists: TypeAlias = "CandidateLists | Listed"
"""Lists that were read or made, or those that a certificate carries."""


Unit: TypeAlias = tuple[int, int]
"""The grid of whole scores: a base, 10 or 2, and d digits after the point; a step is base^−d."""


class StatedCut(NamedTuple):
    """A cut on some members: what their sets weigh adds up to at most ``right``.

    With ``k`` ≥ 1 a set weighs one if it has k members or more: at most |members| − k have such a
    set. Otherwise member ``j`` has ``values[j][t]`` for sets that hold the members in
    ``masks[j][t]``, the largest counts; ``through`` are variables passed through, each with the
    parents it is assumed to have, and ``weight`` is their M.
    """

    members: tuple[int, ...]
    right: int
    k: int = 0
    masks: tuple[tuple[int, ...], ...] = ()
    values: tuple[tuple[int, ...], ...] = ()
    through: tuple[tuple[int, tuple[int, ...]], ...] = ()
    weight: int = 0


Round = tuple[tuple[int, ...], tuple[int, ...]]
"""Cuts, by number, and multipliers: a bound, and sets to remove."""

Step = Round | Literal["ancestors", "dominance"]
"""A round, or: follow the arcs that every set left has; remove sets that another one replaces."""

Part = tuple[tuple[int, ...], int, int]
"""Variables, what their cost is at least, and the node that proves it."""


class ProofNode(NamedTuple):
    """Steps, and what closes the node when they leave it open: at most one of the others."""

    steps: tuple[Step, ...]
    branch: tuple[int, int, int, int] | None = None
    """An arc, parent and child, the node without it, and the node with it."""
    parts: tuple[Part, ...] | None = None
    """Their least costs add up."""
    solved_by: Literal["subsets", "forest"] | None = None
    """Dynamic programming over all subsets, or the best forest, when every set keeps at most one of
    its parents."""


class Document(NamedTuple):
    """A certificate in typed records."""

    digest: str
    settings: Mapping[str, Any] | None
    constraints: Mapping[str, Any]
    unit: Unit
    chosen: tuple[int, ...]
    score: float
    tolerance: int
    denominator: int
    cuts: tuple[StatedCut, ...]
    nodes: tuple[ProofNode, ...]


FORMAT = "parentage certificate"
VERSION = 2
STATED = ("lists", "settings", "constraints", "claim")
"""The keys that the digest of a certificate covers: all but the proof, which is checked itself."""

SETTINGS = (
    "score",
    "log_base",
    "max_parents",
    "constraints",
    "prior",
    "width",
    "complete_to",
    "settled",
    "rows",
    "data",
)
"""How a table was scored (docs/certificates.md)."""

LARGEST_DOCUMENT = 256 * 2**20
"""Bytes of a document, unpacked."""

MOST_MEMBERS = 16
"""Members of a local cut."""

Json = Any
"""What ``json.loads`` returns."""


def read_document(source: SourceLike | Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the JSON object of a certificate: from a path, bytes, or parsed already.

    Raises
    ------
    InputError
        A file that is not there, not JSON, or another kind of document.
    """
    if isinstance(source, Mapping):
        document, name = source, "the certificate"
    else:
        opened = open_source(source, unpack=False)
        name = opened.name
        document = _parse(_unpack(opened.data, name), name)
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise InputError(f'{name} is not a certificate: it lacks "format": "{FORMAT}"')
    if document.get("version") != VERSION:
        raise InputError(
            f"{name} has version {_shown(document.get('version'))}, and this program knows "
            f"version {VERSION}; use the release that wrote it"
        )
    return document


def sealed(document: dict[str, Json]) -> dict[str, Json]:
    """Return a document with the digest of what it states."""
    return {
        **document,
        "digest": digest_of("certificate 2", {key: document[key] for key in STATED}),
    }


def recorded_settings(document: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """Return how the lists were made, as the certificate states it; None if that is not known.

    Raises
    ------
    ProofError
        A key that is missing or unknown, or a digest that is not the one of what is stated.
    """
    top = _object(
        document,
        "the document",
        ("format", "version", *STATED, "unit", "denominator", "cuts", "nodes", "digest"),
        ("note", "families"),
    )
    settings: Mapping[str, Json] | None = top["settings"]
    if settings is not None:
        settings = _object(settings, "settings", SETTINGS)
    if top["digest"] != sealed({key: top[key] for key in STATED})["digest"]:
        raise ProofError(
            f"digest: does not match {', '.join(STATED[:-1])} and {STATED[-1]}; "
            "the certificate is damaged, or was changed by hand"
        )
    return settings


def carried_lists(document: Mapping[str, Json], names: Sequence[str]) -> Listed:
    """Return the candidate lists that a certificate carries, of variables of these names.

    Raises
    ------
    InputError
        It carries none.
    ProofError
        They break the format.
    """
    if "families" not in document:
        raise InputError(
            "this certificate does not carry its lists; give the candidate lists instead of the "
            "table, or learn from the table again"
        )
    carried = _object(document["families"], "families", ("counted", "sets"))
    by_child = _list(carried["sets"], "families.sets")
    if len(by_child) != len(names):
        raise ProofError(f"families: {len(by_child)} variables, but the table has {len(names)}")
    sizes, parents, scores = list[int](), list[int](), list[float]()
    for v, own in enumerate(by_child):
        if not _list(own, f"families.sets[{v}]"):
            raise ProofError(f"families.sets[{v}]: a variable needs at least the empty set")
        for i, entry in enumerate(own):
            where = f"families.sets[{v}][{i}]"
            pair = _list(entry, where)
            if len(pair) != 2 or type(pair[0]) not in (int, float) or not math.isfinite(pair[0]):
                raise ProofError(f"{where}: must be [score, parents]")
            members = _distinct(pair[1], f"{where}: parents", len(names))
            if v in members or list(members) != sorted(members):
                raise ProofError(f"{where}: parents must be other variables, in ascending order")
            sizes.append(len(members))
            parents.extend(members)
            scores.append(float(pair[0]))
    offsets = np.cumsum([0, *map(len, by_child)])
    starts = np.cumsum([0, *sizes])
    return Listed(
        tuple(names), offsets, starts, np.array(parents, np.int64), np.array(scores, np.float64),
        _whole(carried["counted"], "families.counted"),
    )  # fmt: skip


def parse_document(document: Mapping[str, Json], n: int, m: int) -> Document:
    """Turn a document about ``n`` variables and ``m`` sets into records.

    Raises
    ------
    ProofError
        A key that is missing, unknown, or has the wrong type or range.
    """
    settings, top = recorded_settings(document), document
    about = _object(top["lists"], "lists", ("variables", "sets", "digest"))
    for key, size in (("variables", n), ("sets", m)):
        if _whole(about[key], f"lists.{key}") != size:
            raise ProofError(
                f"lists: the certificate is about {about[key]} {key}, these lists have {size}"
            )
    if not isinstance(about["digest"], str):
        raise ProofError("lists.digest: must be text")
    claim = _object(top["claim"], "claim", ("sets", "score", "tolerance"))
    if isinstance(claim["score"], bool) or not isinstance(claim["score"], int | float):
        raise ProofError("claim.score: must be a number")
    chosen = _wholes(claim["sets"], "claim.sets", below=m)
    if len(chosen) != n:
        raise ProofError(f"claim.sets: {len(chosen)} sets for {n} variables")
    cuts = tuple(_cut(entry, f"cuts[{i}]", n) for i, entry in enumerate(_list(top["cuts"], "cuts")))
    entries = _list(top["nodes"], "nodes")
    if not entries:
        raise ProofError("nodes: the proof is empty")
    nodes = tuple(_node(entry, f"nodes[{i}]", n, len(cuts)) for i, entry in enumerate(entries))
    _check_tree(nodes)
    constraints = top["constraints"]
    if not isinstance(constraints, Mapping):
        raise ProofError("constraints: must be an object")
    return Document(
        about["digest"],
        settings,
        constraints,
        _unit(top["unit"]),
        chosen,
        _number(claim["score"]),
        _whole(claim["tolerance"], "claim.tolerance"),
        _whole(top["denominator"], "denominator", 1),
        cuts,
        nodes,
    )


def _unpack(data: bytes, name: str) -> bytes:
    """Unpack gzip, never beyond the largest document."""
    if data.startswith(b"\x1f\x8b"):
        stream = zlib.decompressobj(wbits=31)
        try:
            data = stream.decompress(data, LARGEST_DOCUMENT + 1)
        except zlib.error as error:
            raise InputError(f"{name} is a damaged gzip file: {error}") from None
        if not stream.eof and len(data) <= LARGEST_DOCUMENT:
            raise InputError(f"{name} is a damaged gzip file: its end is missing")
    if len(data) > LARGEST_DOCUMENT:
        raise InputError(f"{name} holds more than {LARGEST_DOCUMENT >> 20} MB, the limit")
    return data


def _parse(data: bytes, name: str) -> Json:
    try:
        return json.loads(data, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except RecursionError:
        raise InputError(f"{name} is nested too deeply for a certificate") from None
    except (ValueError, UnicodeError) as error:
        raise InputError(f"{name} is not a certificate in JSON: {error}") from None


def _no_constant(text: str) -> Json:
    raise ValueError(f"{text} is not a JSON number")


def _no_repeats(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [key for key, _ in pairs]
        raise ValueError(f"the key {next(k for k in names if names.count(k) > 1)!r} repeats")
    return content


def _shown(value: Json) -> str:
    """A value for a message, short whatever it is."""
    text = repr(value) if isinstance(value, str | int | float | bool | None) else "…"
    return text if len(text) <= 40 else text[:37] + "…"


def _object(
    value: Json, where: str, needed: Sequence[str], optional: Sequence[str] = ()
) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise ProofError(f"{where}: must be an object")
    for key in needed:
        if key not in value:
            raise ProofError(f"{where}: {key!r} is missing")
    for key in value:
        if key not in needed and key not in optional:
            raise ProofError(f"{where}: unknown key {_shown(key)}")
    return value


def _list(value: Json, where: str) -> Sequence[Json]:
    if not isinstance(value, list | tuple):
        raise ProofError(f"{where}: must be a list")
    return value


def _whole(value: Json, where: str, low: int = 0, below: int = LARGEST) -> int:
    if type(value) is not int:
        raise ProofError(f"{where}: must be a whole number, not {_shown(value)}")
    if not low <= value < below:
        raise ProofError(f"{where}: {_shown(value)} is out of range, {low} to {below - 1}")
    return value


def _wholes(value: Json, where: str, low: int = 0, below: int = LARGEST) -> tuple[int, ...]:
    entries = tuple(_list(value, where))
    if entries and not (set(map(type, entries)) == {int} and low <= min(entries)
                        and max(entries) < below):  # fmt: skip
        for i, entry in enumerate(entries):
            _whole(entry, f"{where}[{i}]", low, below)
    return entries


def _distinct(value: Json, where: str, n: int) -> tuple[int, ...]:
    members = _wholes(value, where, below=n)
    if len(set(members)) < len(members):
        raise ProofError(f"{where}: a variable repeats")
    return members


def _number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ProofError("claim.score: too large") from None


def _unit(value: Json) -> Unit:
    kinds = {"decimals": (10, 9), "bits": (2, 60)}
    if not isinstance(value, Mapping) or len(value) != 1 or next(iter(value)) not in kinds:
        raise ProofError('unit: must be {"decimals": d} or {"bits": b}')
    ((kind, digits),) = value.items()
    base, most = kinds[kind]
    return base, _whole(digits, f"unit.{kind}", 0, most + 1)


def _cut(value: Json, where: str, n: int) -> StatedCut:
    entry = _list(value, where)
    kind = entry[0] if entry else None
    if kind == "cluster" and len(entry) == 3:
        members = _distinct(entry[1], f"{where}: members", n)
        if len(members) < 2:
            raise ProofError(f"{where}: a cluster has two members or more")
        k = _whole(entry[2], f"{where}: k", 1, len(members))
        return StatedCut(members, len(members) - k, k)
    if kind == "local" and len(entry) in (5, 7):
        return _local(entry, where, n)
    raise ProofError(
        f'{where}: must be ["cluster", members, k] or '
        '["local", members, masks, values, right side(, through, M)]'
    )


def _local(entry: Sequence[Json], where: str, n: int) -> StatedCut:
    members = _distinct(entry[1], f"{where}: members", n)
    size = len(members)
    if not 1 <= size <= MOST_MEMBERS:
        raise ProofError(f"{where}: {size} members; must be 1 to {MOST_MEMBERS}")
    masks, values = _list(entry[2], f"{where}: masks"), _list(entry[3], f"{where}: values")
    if not len(masks) == len(values) == size:
        raise ProofError(f"{where}: masks and values must be given for each of {size} members")
    checked_masks, checked_values = [], []
    for j in range(size):
        own = _wholes(masks[j], f"{where}: masks[{j}]", below=1 << size)
        worth = _wholes(values[j], f"{where}: values[{j}]", 1, 2**40)
        if len(own) != len(worth):
            raise ProofError(f"{where}: member {j} has {len(own)} masks but {len(worth)} values")
        if any(mask >> j & 1 for mask in own):
            raise ProofError(f"{where}: a mask of member {j} contains that member itself")
        checked_masks.append(own)
        checked_values.append(worth)
    right = _whole(entry[4], f"{where}: right side", 0, 2**50)
    through: list[tuple[int, tuple[int, ...]]] = []
    weight = 0
    if len(entry) == 7:
        for i, pair in enumerate(_list(entry[5], f"{where}: through")):
            two = _list(pair, f"{where}: through[{i}]")
            if len(two) != 2:
                raise ProofError(f"{where}: through[{i}] must be [variable, parents]")
            u = _whole(two[0], f"{where}: through[{i}]", 0, n)
            through.append((u, _distinct(two[1], f"{where}: through[{i}]: parents", n)))
        _distinct([*members, *(u for u, _ in through)], f"{where}: members and through", n)
        weight = _whole(entry[6], f"{where}: M", 0, 2**50)
    return StatedCut(
        members, right, 0, tuple(checked_masks), tuple(checked_values), tuple(through), weight
    )


def _node(value: Json, where: str, n: int, n_cuts: int) -> ProofNode:
    ends = ("branch", "split", "subsets", "forest")
    content = _object(value, where, (), ("steps", *ends))
    given = [key for key in ends if key in content]
    if len(given) > 1:
        raise ProofError(f"{where}: {given[0]!r} and {given[1]!r} cannot be combined")
    steps = tuple(
        _step(entry, f"{where}.steps[{i}]", n_cuts)
        for i, entry in enumerate(_list(content.get("steps", []), f"{where}.steps"))
    )
    if not given:
        return ProofNode(steps)
    where = f"{where}.{given[0]}"
    value = content[given[0]]
    if given[0] in ("subsets", "forest"):
        if value is not True:
            raise ProofError(f"{where}: must be true")
        return ProofNode(steps, solved_by="subsets" if given[0] == "subsets" else "forest")
    if given[0] == "branch":
        four = _wholes(value, where)
        if len(four) != 4 or max(four[:2]) >= n or four[0] == four[1]:
            raise ProofError(f"{where}: must be [parent, child, node without, node with]")
        return ProofNode(steps, branch=(four[0], four[1], four[2], four[3]))
    return ProofNode(steps, parts=_split(value, where, n))


def _split(value: Json, where: str, n: int) -> tuple[Part, ...]:
    parts: list[Part] = []
    for i, entry in enumerate(_list(value, where)):
        at = f"{where}[{i}]"
        three = _list(entry, at)
        if len(three) != 3:
            raise ProofError(f"{at}: must be [variables, goal, node]")
        variables = _distinct(three[0], f"{at}: variables", n)
        goal = _whole(three[1], f"{at}: goal", -LARGEST)
        parts.append((variables, goal, _whole(three[2], f"{at}: node")))
    return tuple(parts)


def _step(value: Json, where: str, n_cuts: int) -> Step:
    entry = _list(value, where)
    kind = entry[0] if entry else None
    if kind == "ancestors" and len(entry) == 1:
        return "ancestors"
    if kind == "dominance" and len(entry) == 1:
        return "dominance"
    if kind != "round" or len(entry) != 3:
        raise ProofError(f'{where}: must be ["round", cuts, times], ["ancestors"] or ["dominance"]')
    cuts = _wholes(entry[1], f"{where}: cuts", below=n_cuts)
    times = _wholes(entry[2], f"{where}: times")
    if len(cuts) != len(times):
        raise ProofError(f"{where}: {len(cuts)} cuts and {len(times)} multipliers")
    return cuts, times


def _check_tree(nodes: Sequence[ProofNode]) -> None:
    """Every node comes after the one that leads to it, and is used once at most."""
    used: set[int] = set()
    for i, node in enumerate(nodes):
        follow = node.branch[2:] if node.branch else [part[2] for part in node.parts or ()]
        for other in follow:
            if not i < other < len(nodes):
                raise ProofError(f"nodes[{i}]: node {other} must come after node {i}")
            if other in used:
                raise ProofError(f"nodes[{i}]: node {other} is used twice")
            used.add(other)
