"""The provably best Bayesian network for a table of categorical data."""
