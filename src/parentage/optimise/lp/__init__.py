"""Cuts and branching: the linear programme of a part, what cuts it, and the tree of its nodes."""
