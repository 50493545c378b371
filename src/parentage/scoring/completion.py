"""The record of a structural expectation maximisation: its steps, and whether it settled."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class EmStep:
    """One network on the way.

    Parameters
    ----------
    arcs
        Number of arcs.
    changed
        Arcs added, removed or turned since the network before.
    log_likelihood
        Of what is observed, at the parameters that maximise it, in nats.
    score
        That minus the penalty, plus the log prior of the arcs if there is one: what the method
        makes grow. In the unit of the scores.
    expected
        The score of the best network on the completed data, which is the next one.
    proven
        Whether that one is proven to be the best on them.
    """

    arcs: int
    changed: int
    log_likelihood: float
    score: float
    expected: float
    proven: bool


@dataclass(frozen=True)
class Completion:
    """How missing cells were completed.

    Parameters
    ----------
    steps
        The networks, from the first on.
    settled
        Whether the last network came back as the best one on data completed by itself.
    bits
        Weights of completions are whole multiples of 2^−bits of a row.
    completions
        Distinct rows that the last completed data have.
    empty_rows
        Rows without any value, which were left out.
    starts
        Networks it was begun from; the steps are those of the one with the best end.
    """

    steps: tuple[EmStep, ...]
    settled: bool
    bits: int
    completions: int
    empty_rows: int = 0
    starts: int = 1

    @property
    def reached(self) -> float:
        """The penalised likelihood of what is observed, at the last network."""
        return self.steps[-1].score

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; :func:`parentage.files.decoding.decoded` is the way back."""
        return {**asdict(self), "steps": [asdict(step) for step in self.steps]}

    def words(self) -> str:
        """Say how it went, in a line per network."""
        lines = [
            f"step {i}: {step.arcs} arcs, {step.changed} changed, log-likelihood of what is "
            f"observed {step.log_likelihood:.4f}, less its penalty {step.score:.4f}"
            for i, step in enumerate(self.steps)
        ]
        end = (
            "the last network is the best one on the data that it completes itself"
            if self.settled
            else "ended before the network repeated"
        )
        end += f", the best end of {self.starts} starts" if self.starts > 1 else ""
        left = f"; {self.empty_rows:,} empty rows left out" if self.empty_rows else ""
        return "\n".join(
            [*lines, f"expectation maximisation: {end} ({self.completions:,} distinct rows){left}"]
        )
