"""Certificates checked: a proof of optimality verified by code that shares nothing with the solver.

Everything is whole-number arithmetic on the lists and the document (docs/certificates.md). The
room imports neither the solver nor a compiled kernel nor an LP solver: :mod:`.document` reads,
:mod:`.families` holds the sets and puts scores on a grid, :mod:`.nodes` proves cuts, carries out
the steps and repeats what was solved directly, :mod:`.verdict` states on which terms the claim
holds. :mod:`.table` checks lists against their table, with the counts and scores in whole
numbers of :mod:`.counting`.
"""

from __future__ import annotations

from parentage.check.document import (
    ProofError,
    Unit,
    carried_lists,
    read_document,
    recorded_settings,
    sealed,
)
from parentage.check.families import lists_digest, whole_scores
from parentage.check.verdict import MEMORY, Verdict, check, check_table

__all__ = [
    "MEMORY",
    "ProofError",
    "Unit",
    "Verdict",
    "carried_lists",
    "check",
    "check_table",
    "lists_digest",
    "read_document",
    "recorded_settings",
    "sealed",
    "whole_scores",
]
