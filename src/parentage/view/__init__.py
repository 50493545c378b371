"""Figures of results and tables of text; they know the results and not how they were found."""
