"""Proofs for the checkers of others: a certificate written as a VIPR 1.0 file.

VIPR is the certificate format of exact integer programming; its checker ``viprchk`` and others
verify such a file without anything of ours. :mod:`.model` states the problem and checks every
derivation from it, :mod:`.walk` goes through the certificate, :mod:`.cuts` derives its cuts and
:mod:`.write` its steps, and puts a file together.
"""

from __future__ import annotations

from parentage.vipr.write import Size, is_vipr, write_vipr

__all__ = ["Size", "is_vipr", "write_vipr"]
