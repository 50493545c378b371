"""The report: one page with everything that is known of a network, to open, send and print.

:mod:`.gather` collects a typed :class:`.gather.Page` from a solution, a table, lists and support,
as far as they are there; :mod:`.page` writes it as one HTML file with the templates, the style and
the script of this room. The page makes no request: a browser may read it from a mail.
"""

from parentage.report.page import save

__all__ = ["save"]
