"""Real tables and instances, each read once however many tests use it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from parentage.data.reading import read_table
from parentage.errors import DataWarning
from parentage.scoring.formats import read_lists

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.data.table import Table
    from parentage.scoring.lists import CandidateLists

IDENTIFIER = {"flags": ["name"], "zoo": ["animal"]}
NAMED = ("alarm_10000.csv", "insurance_10000.csv")


@dataclass(frozen=True)
class RealData:
    """What is in the shared folder; tables and lists are immutable, so all tests share them."""

    folder: Path
    _tables: dict[str, Table] = field(default_factory=dict)
    _lists: dict[str, CandidateLists] = field(default_factory=dict)

    def uci(self, name: str) -> Table:
        """One of the 18 tables of the paper, cut at medians, without its identifier."""
        if name not in self._tables:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                self._tables[name] = read_table(
                    self.folder / "uci" / f"{name}.arff",
                    discretize="median",
                    missing="mode",
                    drop=IDENTIFIER.get(name, []),
                )
        return self._tables[name]

    def table(self, name: str) -> Table:
        """A table of the literature, by the name of its file."""
        if name not in self._tables:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                path = self.folder / "tables" / name
                self._tables[name] = read_table(path, header=name in NAMED, na=[])
        return self._tables[name]

    def instance(self, name: str) -> CandidateLists:
        """Candidate lists of the literature, by the name of their file."""
        if name not in self._lists:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                self._lists[name] = read_lists(self.folder / "instances" / name)
        return self._lists[name]
