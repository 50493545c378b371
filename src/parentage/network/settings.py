"""How probabilities are estimated from a table: the settings of parameters."""

from __future__ import annotations

from dataclasses import dataclass

from parentage.work.settings import Option, Settings, setting

SMOOTHING = 1.0
"""Added to every count unless told: what was never seen is rare, not impossible."""


@dataclass(frozen=True)
class Estimating(Settings):
    """Settings of :func:`parentage.network.parameters.fit_parameters`."""

    smoothing: float = setting(
        SMOOTHING,
        "Number added to every count; 0 is maximum likelihood.",
        Option("A", float, least=0),
    )
