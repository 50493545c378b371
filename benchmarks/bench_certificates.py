"""Certificates of the instances: how large they are, and how long checking takes, ours and VIPR.

``python benchmarks/bench_certificates.py [INSTANCE …] [--again] [--certificates FOLDER]``

Every instance is learned as ``learn`` does it, and its certificate is checked. Then it is written
as a VIPR file, from a proof by cuts where the first one has dynamic programming over more variables
than such a file can have, and given to ``viprchk`` if that is on the path. Seconds are CPU time of
one thread. Certificates are kept in a folder if one is given, and results after every instance.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from parentage.scoring.lists import CandidateLists

LIMIT = 900.0
"""Seconds for a proof."""

Document = dict[str, Any]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of something, once."""
    return measure.cpu(work, repeat=1)


def measured(path: Path, kept: Path | None) -> Document:
    """Everything about one instance."""
    from parentage.check import ProofError, check
    from parentage.scoring.formats import read_lists
    from parentage.vipr import write_vipr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lists = read_lists(path)
    found: Document = {"n": lists.n_variables, "sets": lists.n_sets}
    document = certificate(lists, path.name, "auto", kept)
    if document is None:
        return {**found, "why": f"not proven in {LIMIT:.0f} s"}
    proof = document
    found["json"] = len(json.dumps(document, separators=(",", ":")))
    found["check"], verdict = timed(lambda: check(lists, document))
    assert verdict, verdict.reason
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "proof.vipr"
        try:
            spent, size = timed(lambda: write_vipr(lists, document, target))
        except ProofError as refusal:
            cut = certificate(lists, path.name, "branch-and-cut", kept)
            if cut is None:
                return {**found, "why": f"{refusal}; not proven by cuts in {LIMIT:.0f} s"}
            proof = cut
            spent, size = timed(lambda: write_vipr(lists, proof, target))
        found |= {"vipr": size.bytes, "derivations": size.derivations, "write": spent}
        return found | viprchk(target)


def certificate(
    lists: CandidateLists, name: str, engine: str, kept: Path | None
) -> Document | None:
    """The certificate of an instance, from the folder or learned; None if it is not proven."""
    from parentage.pipeline import Advanced, learn

    place = None if kept is None else kept / f"{name}.{engine}.json"
    if place is not None and place.exists():
        content: Document | None = json.loads(place.read_text())
        return content
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how = Advanced(engine=engine)
        proof = learn(lists, time_limit=LIMIT, threads=1, advanced=how).certificate
    content = None if proof is None else proof.document
    if place is not None:
        place.write_text(json.dumps(content))
    return content


def viprchk(path: Path) -> Document:
    """What ``viprchk`` says of a file, its CPU seconds and its memory."""
    checker = shutil.which("viprchk")
    if checker is None:
        return {}
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([checker, str(path)], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    accepted = done.returncode == 0 and "Successfully verified" in done.stdout
    return {"accepted": accepted, "viprchk": after.ru_utime - before}


def report(found: dict[str, Document]) -> str:
    """Lay out what is known."""
    rows = []
    for name, one in sorted(found.items(), key=lambda item: (item[1]["n"], item[1]["sets"])):
        row = [f"`{name}`", f"{one['n']:,}", f"{one['sets']:,}"]
        row += [f"{one['json'] / 1e3:,.1f}", f"{one['check']:.1f}"] if "json" in one else ["", ""]
        if "vipr" in one:
            row += [f"{one['vipr'] / 1e6:,.1f}", f"{one['derivations']:,}", f"{one['write']:.1f}"]
            verdict = "accepted" if one.get("accepted") else "refused"
            verdict = verdict if "accepted" in one else "not asked"
            row += [f"{one['viprchk']:.1f}" if "viprchk" in one else "", verdict]
        else:
            row += ["", "", "", "", one["why"]]
        rows.append(row)
    head = ["instance", "n", "sets", "JSON kB", "`check` s", "VIPR MB", "derivations", "written s",
            "`viprchk` s", ""]  # fmt: skip
    proven = [one for one in found.values() if "json" in one]
    accepted = [one for one in proven if one.get("accepted")]
    written = [one for one in proven if "vipr" in one]
    return "\n\n".join(
        [
            "# Certificates",
            "`python benchmarks/bench_certificates.py`: CPU seconds of one thread. A certificate "
            "is JSON; `check` is `parentage check`. The VIPR file is that of a proof by cuts where "
            "the certificate solves more than 12 variables by dynamic programming.",
            f"{len(proven)} instances are proven. A VIPR file was written for {len(written)} of "
            f"them, and `viprchk` accepts {len(accepted)} of these files.",
            "## Sizes and times",
            measure.markdown(head, rows),
        ]
    )


def main() -> None:
    """Measure what is asked for, or what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("instance", nargs="*")
    parser.add_argument("--again", action="store_true", help="measure what is known, too")
    parser.add_argument("--certificates", type=Path, help="a folder where certificates are kept")
    asked = parser.parse_args()
    folder = measure.shared() / "data" / "instances"
    paths = sorted(folder.iterdir(), key=lambda path: path.stat().st_size)
    record = measure.RESULTS / "certificates.json"
    for path in paths:
        if asked.instance and path.name not in asked.instance:
            continue
        found = json.loads(record.read_text()) if record.exists() else {}
        if path.name in found and not asked.again:
            continue
        began = time.monotonic()
        one = measured(path, asked.certificates)
        print(path.name, one, f"{time.monotonic() - began:.1f} s", flush=True)
        found = json.loads(record.read_text()) if record.exists() else {}
        found[path.name] = one
        measure.write("certificates", dict(sorted(found.items())), report(found))


if __name__ == "__main__":
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    main()
