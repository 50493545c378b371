"""A certificate written as a VIPR file: tried first for its size, then written line by line."""

from __future__ import annotations

import gzip
import io
import json
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parentage.check.document import parse_document, read_document
from parentage.check.families import Families, allowed_sets, check_lists, make_families
from parentage.check.records import ProofError
from parentage.check.whole import lists_digest, whole_scores
from parentage.files.atomic import replacing
from parentage.vipr.lines import SENSES, Lines
from parentage.vipr.model import Model, Row
from parentage.vipr.proof import Proof
from parentage.vipr.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any, TextIO

    from parentage.check.records import Certificate, Lists
    from parentage.check.whole import Ints
    from parentage.files.source import SourceLike


class Size(NamedTuple):
    """How large a file is or will be: derivations, and bytes before compression."""

    derivations: int
    bytes: int

    def text(self) -> str:
        """The size in words.

        >>> Size(17417, 7_640_000).text()
        '17,417 derivations, 7.6 MB'
        """
        return f"{self.derivations:,} derivations, {self.bytes / 1e6:.1f} MB"


def is_vipr(path: str | Path) -> bool:
    """Whether a file of this name is a VIPR file, compressed or not.

    >>> is_vipr("proof.vipr"), is_vipr("proof.vipr.gz"), is_vipr("proof.json")
    (True, True, False)
    """
    return str(path).lower().endswith((".vipr", ".vipr.gz"))


def write_vipr(
    lists: Lists,
    certificate: SourceLike | Mapping[str, Any],
    path: str | Path,
    *,
    announce: Callable[[Size], None] | None = None,
) -> Size:
    """Write the proof of a certificate as a VIPR 1.0 file; compressed when the name ends in .gz.

    Parameters
    ----------
    lists
        The lists that the certificate is about.
    certificate
        A path, bytes, or the document itself.
    path
        The file.
    announce
        Called with a forecast before anything is written.

    Raises
    ------
    InputError
        A file that is not a certificate, or lists that are broken.
    ProofError
        A certificate that does not hold, or with a step that no VIPR file is written for.
    """
    document = read_document(certificate)
    check_lists(lists)
    parsed = parse_document(document, lists.n_variables, lists.n_sets)
    if parsed.digest != lists_digest(lists):
        raise ProofError("lists: their digest is another one; the proof is about other lists")
    families, chosen = _families(lists, parsed)
    cost = sum(families.cost[chosen].tolist())
    goal = cost - parsed.tolerance
    walk = Walk(families, parsed)
    root = walk.root(goal)
    known = Model(families)
    trial = Lines(known)
    Proof(trial, walk).prove(root, [])
    model = Model(families, known)
    head = _head(model, chosen, (goal, cost), trial.count, lists, parsed)
    text = "".join(head)
    if announce is not None:
        announce(Size(trial.count, trial.size + len(text)))
    packed = str(path).lower().endswith(".gz")
    with replacing(path) as draft, _opened(draft, packed=packed) as out:
        out.write(text)
        lines = Lines(model, out)
        Proof(lines, walk).prove(root, [])
    return Size(lines.count, lines.size + len(text))


def _opened(draft: Path, *, packed: bool) -> TextIO:
    if packed:
        return io.TextIOWrapper(gzip.GzipFile(draft, "wb", mtime=0), encoding="ascii")
    return draft.open("w", encoding="ascii", newline="\n")


def _families(lists: Lists, certificate: Certificate) -> tuple[Families, Ints]:
    """Return the sets that the constraints allow, and those of the claim among them."""
    allowed = allowed_sets(lists, certificate.constraints)
    whole = whole_scores(lists.scores, certificate.unit).whole
    full = make_families(lists, allowed, whole)
    kept = np.flatnonzero(allowed)
    place = np.cumsum(allowed) - 1
    sizes = np.diff(full.starts)[kept]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    counts = np.add.reduceat(allowed.astype(np.int64), full.offsets[:-1])
    families = Families(
        np.concatenate([[0], np.cumsum(counts)]),
        starts,
        full.parents[np.repeat(allowed, np.diff(full.starts))],
        np.ones(len(kept), np.bool_),
        full.cost[kept],
    )
    chosen = np.array(certificate.chosen, np.int64)
    if not allowed[chosen].all():
        raise ProofError("claim.sets: a set breaks the constraints")
    return families, place[chosen]


def _head(
    model: Model,
    chosen: Ints,
    bounds: tuple[int, int],
    derivations: int,
    lists: Lists,
    certificate: Certificate,
) -> list[str]:
    """Everything before the derivations."""
    unit = certificate.unit
    text = [
        "% The best network of candidate lists, as an integer programme.\n",
        f"% lists {certificate.digest}\n",
        f"% unit of costs {'10^-' if unit.decimal else '2^-'}{unit.digits}\n",
        *(f"% {v} {json.dumps(name)}\n" for v, name in enumerate(lists.names)),
        f"VER 1.0\nVAR {model.n_variables}\n",
        "\n".join(model.names()),
        f"\nINT {model.n_variables}\n",
        "\n".join(map(str, range(model.n_variables))),
        "\nOBJ min\n",
        str(len(model.objective)),
        "".join(f" {i} {cost}" for i, cost in model.objective.items()),
        f"\nCON {model.n_rows} {model.ones}\n",
    ]
    for index in range(model.n_rows):
        row = model.row(index)
        text.append(f"c{index} {SENSES[row.sense]} {row.right} {_left(row)}\n")
    ones = model.solution(chosen.tolist())
    text.append(f"RTP range {bounds[0]} {bounds[1]}\nSOL 1\n")
    text.append(f"network {len(ones)}" + "".join(f" {i} 1" for i in ones) + "\n")
    text.append(f"DER {derivations}\n")
    return text


def _left(row: Row) -> str:
    return str(len(row.coefficients)) + "".join(
        f" {i} {number}" for i, number in row.coefficients.items()
    )
