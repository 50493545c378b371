"""Certificates checked: a proof of optimality verified by code that shares nothing with the solver.

Everything is whole-number arithmetic on the lists and the document (docs/certificates.md). The
room imports neither the solver nor a compiled kernel nor an LP solver: :mod:`.document` reads,
:mod:`.whole` puts scores on a grid, :mod:`.families` holds the sets, :mod:`.cuts` proves cuts,
:mod:`.nodes` carries out the steps, :mod:`.subsets` and :mod:`.forest` repeat what was solved
directly, :mod:`.terms` states on which terms the claim holds. :mod:`.table` checks lists against
their table: :mod:`.counting` counts, :mod:`.fixed` has the scores in whole numbers.
"""

from __future__ import annotations

from parentage.check.document import carried_lists, read_document, recorded_settings, sealed
from parentage.check.records import ProofError, Unit
from parentage.check.verdict import MEMORY, Verdict, check, check_table
from parentage.check.whole import lists_digest, whole_scores

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
