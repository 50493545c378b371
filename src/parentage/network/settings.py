"""How probabilities are estimated from a table: the settings of parameters."""

from __future__ import annotations

from dataclasses import dataclass

from parentage.work.settings import Option, setting

SMOOTHING = 1.0
"""Added to every count unless told: what was never seen is rare, not impossible."""


@dataclass(frozen=True)
class Estimating:
    """Settings of :func:`parentage.network.parameters.fit_parameters`."""

    smoothing: float = setting(
        SMOOTHING,
        "What is added to every count; 0 is maximum likelihood.",
        Option(
            ("--smoothing",),
            "Add A to every count; 0: shares of rows as they are.",
            "A",
            float,
            least=0,
            common=True,
        ),
    )
