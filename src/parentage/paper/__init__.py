"""The reproduction of the paper behind the rules: every number and figure, printed and stated.

:mod:`.published` has the target, :mod:`.conventions` how to count, :mod:`.reproduction` the run;
:mod:`.folder` writes the results. ``parentage reproduce`` is a thin command over these.
"""
