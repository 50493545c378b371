"""What readers of a network ask next: the penalty path, effects, and how well it predicts."""
