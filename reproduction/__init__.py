"""The reproduction of the paper behind the rules: every number and figure, printed and stated.

:mod:`.published` has the target, :mod:`.counting` how to count, :mod:`.experiments` the run,
:mod:`.errata` what the run says of the paper; :mod:`.page` and :mod:`.figures` show it, and
:mod:`.run` writes it into a folder. The folder is no part of the package, which it imports.
"""
