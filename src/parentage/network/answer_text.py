"""What inference answers, laid out as the command and Python print it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from parentage.view.aligned import table_text

if TYPE_CHECKING:
    from parentage.network.inference import Answer, Joint, MostProbable, Posterior

Intervals = Mapping[str, Mapping[str, tuple[float, float]]]
NO_INTERVALS: Intervals = MappingProxyType({})

MOST_LINES = 60
"""Lines that Python shows of an answer."""

ABOUT_INTERVALS = (
    "95 % credible intervals from 1,000 draws of the probability tables (Dirichlet posteriors), "
    "for this structure"
)


def brief(text: str) -> str:
    """Return the first lines of an answer, and how many more it has."""
    lines = text.splitlines()
    more = len(lines) - MOST_LINES
    return text if more <= 0 else "\n".join([*lines[:MOST_LINES], f"… and {more:,} more lines"])


def probability_text(p: float) -> str:
    """Show a probability with four digits, a tiny one by its size.

    >>> [probability_text(p) for p in (0.0, 1.0, 0.12345, 0.0000123)]
    ['0.0000', '1.0000', '0.1235', '1.2e-05']
    """
    return f"{p:.4f}" if p == 0 or p >= 0.00005 else f"{p:.1e}"


def case_text(answer: Answer) -> list[str]:
    """Say what was assumed, and how probable the evidence was."""
    lines = []
    if answer.intervene:
        lines.append(f"after intervention: {_findings_text(answer.intervene)}")
    if answer.given:
        log_p = answer.log_probability
        p = probability_text(math.exp(log_p)) if log_p > -700 else f"e^{log_p:.2f}"
        lines.append(f"given {_findings_text(answer.given)} (probability {p})")
    return [*lines, ""] if lines else []


def _findings_text(findings: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {label}" for name, label in findings.items())


def posterior_text(
    answer: Posterior, before: Posterior | None = None, ends: Intervals = NO_INTERVALS
) -> str:
    """Lay out marginals, beside them their intervals and what they are without evidence."""
    rows = []
    for name, shares in answer.marginals.items():
        for k, (label, p) in enumerate(shares.items()):
            row = [name if k == 0 else "", label, probability_text(p)]
            if ends:
                pair = ends.get(name, {}).get(label)
                row.append("" if pair is None else " – ".join(map(probability_text, pair)))
            if before is not None:
                row.append(probability_text(before[name][label]))
            rows.append(tuple(row))
    head = ["variable", "state", "probability"]
    head += ["95 % interval"] if ends else []
    head += [] if before is None else ["without evidence"]
    lines = [*case_text(answer), table_text(tuple(head), rows, left=2)]
    if ends:
        lines += ["", ABOUT_INTERVALS]
    return "\n".join(lines)


def joint_text(answer: Joint) -> str:
    """Lay out a joint distribution."""
    rows = [(*labels, probability_text(p)) for labels, p in answer.rows()]
    head = (*answer.names, "probability")
    return "\n".join([*case_text(answer), table_text(head, rows, left=len(answer.names))])


def most_probable_text(answer: MostProbable) -> str:
    """Lay out the most probable states."""
    rows = list(answer.states.items())
    p = probability_text(answer.probability)
    last = f"joint probability {p}" + (" given that" if answer.given else "")
    lines = [*case_text(answer), table_text(("variable", "most probable"), rows, left=2)]
    return "\n".join([*lines, "", last])
