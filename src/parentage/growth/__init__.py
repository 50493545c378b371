"""Expanding candidate lists around the best network, where complete lists do not fit.

:mod:`parentage.growth.anytime` alternates between :mod:`parentage.growth.growth`, which adds parent
sets, and the order search of :mod:`parentage.optimise.orders`. Families are scored by the same
measure as in the search (:mod:`parentage.scoring.measures`), so their scores are the same bit for
bit.
"""
