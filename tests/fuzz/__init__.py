"""Random tables, damaged files, faults and signals, against an independent truth.

``make fuzz MINUTES=10`` runs all three parts. Every case is made from one number, its seed; a
failure prints the command that repeats it, is made as small as it can be, and is kept in
``tests/regressions``, where ``tests/test_fuzz.py`` tries it again for ever.
"""
