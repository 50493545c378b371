"""How sure each arc is: its need, its bootstrap, its place among near-optimal networks."""
