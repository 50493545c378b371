"""The search: a plan, what it will cost, its state, and the way from level to level."""
