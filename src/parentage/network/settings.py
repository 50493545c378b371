"""How probabilities are estimated from a table: the settings of parameters."""

from __future__ import annotations

from dataclasses import dataclass

from parentage.work.settings import Option, setting


@dataclass(frozen=True)
class Estimating:
    """Settings of :func:`parentage.network.parameters.fit_parameters`."""

    pseudo_count: float = setting(
        0.0,
        "α of a symmetric Dirichlet prior, added to every cell: 0 is maximum likelihood.",
        Option(
            ("--pseudo-count",),
            "Smooth probabilities: add A to every count.",
            "A",
            float,
            least=0,
            common=True,
        ),
    )
    equivalent_sample_size: float = setting(
        0.0,
        "s of the BDeu prior, spread evenly over the cells of each table.",
        Option(
            ("--equivalent-sample-size",),
            "Smooth probabilities: S rows spread evenly over each table.",
            "S",
            float,
            least=0,
            common=True,
        ),
    )
