"""Random tables, networks, proofs, files, faults and signals, against independent truths.

``make fuzz MINUTES=10`` runs all parts in turn. Every case is made from one number, its seed; a
failure prints the command that repeats it, is made as small as it can be, and is kept in
``tests/regressions``, where ``tests/test_fuzz.py`` tries it again for ever. What was tried is
counted by kind, over all runs (:mod:`fuzz.counts`).
"""
