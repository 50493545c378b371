"""Proofs for the checkers of others: a certificate written as a VIPR 1.0 file.

VIPR is the certificate format of exact integer programming; its checker ``viprchk`` and others
verify such a file without anything of ours. :mod:`.model` states the problem, :mod:`.walk` goes
through the certificate, :mod:`.proof` and :mod:`.cuts` derive every step and every cut from the
model with :mod:`.orders`, :mod:`.lines` writes what follows, :mod:`.write` puts a file together.
"""

from __future__ import annotations

from parentage.vipr.write import Size, is_vipr, write_vipr

__all__ = ["Size", "is_vipr", "write_vipr"]
