"""Figures of results; they know the result types and not how they were found."""
