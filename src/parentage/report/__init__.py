"""The report: one page with everything that is known of a network, to open, send and print.

:mod:`.gather` collects a typed :class:`.records.Report` from a solution, a table, lists and
support, as far as they are there; :mod:`.document` writes it as one HTML file with the style and
script of ``assets``. The page asks nobody for anything: a browser may read it from a mail.
"""

from parentage.report.write import write_report

__all__ = ["write_report"]
