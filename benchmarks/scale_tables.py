"""The tables of the benchmark of many variables, and what others find on them.

Budgets are chosen here; the rest is from the READMEs of ``data/large`` and ``data/density`` in the
shared folder, where the sources are named.
"""

from __future__ import annotations

from typing import NamedTuple


class Large(NamedTuple):
    """A table drawn from a network, and what was measured when it was made."""

    complete: int
    """Parents up to which lists are complete before they grow."""
    effort: float
    """Nominal seconds of growing."""
    seconds: float
    """CPU seconds allowed."""
    target: float
    """Score to be reached in that time."""
    pyagrum: float | None
    """Its tabu search."""
    blip: float | None
    """Independence selection and WINASOBS, one core, at most 6 parents."""
    true: float
    """The network that was drawn from, fitted."""


class Density(NamedTuple):
    """A table of density estimation; with no effort everything is listed and proven."""

    complete: int
    effort: float
    published: float
    """The best of seven methods."""


LARGE = {
    "andes_1000": Large(2, 15.0, 40.0, -95_095.95, -95_583.2, -95_375.6, -96_168.2),
    "andes_5000": Large(2, 45.0, 90.0, -468_353.45, -468_852.8, -470_686.6, -468_993.2),
    "munin1_1000": Large(2, 60.0, 200.0, -55_794.0, -57_006.2, -56_906.8, -75_412.8),
    "pigs_1000": Large(2, 30.0, 60.0, -348_886.5, None, -351_299.9, -348_886.5),
    "link_1000": Large(2, 65.0, 90.0, -250_000.0, -288_210.3, -304_773.5, -257_118.7),
    "genes_500": Large(1, 28.0, 60.0, -411_795.0, None, None, -415_813.5),
}

DENSITY = {
    "nltcs": Density(0, 0.0, -13_368),
    "msnbc": Density(0, 0.0, -246_620),
    "kdd": Density(2, 15.0, -49_046),
    "plants": Density(2, 15.0, -33_269),
    "baudio": Density(2, 15.0, -84_177),
    "bnetflix": Density(2, 15.0, -117_445),
    "jester": Density(2, 15.0, -56_258),
    "accidents": Density(2, 15.0, -49_719),
    "tretail": Density(2, 15.0, -32_656),
    "pumsb_star": Density(2, 15.0, -42_742),
    "dna": Density(2, 15.0, -33_513),
    "kosarek": Density(2, 15.0, -51_877),
    "msweb": Density(2, 15.0, -34_274),
    "book": Density(2, 15.0, -41_810),
    "tmovie": Density(2, 15.0, -62_657),
    "cwebkb": Density(1, 20.0, -91_022),
    "cr52": Density(1, 20.0, -98_637),
    "bbc": Density(1, 20.0, -55_921),
    "ad": Density(1, 20.0, -13_835),
}

LONGER = 4
"""Times the budget of the other runs that the long run has."""

PEER_SECONDS = 60
"""CPU seconds that pyAgrum gets on one core."""
