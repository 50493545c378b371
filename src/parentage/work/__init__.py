"""What long work needs, whatever it works on: limits, progress, memory."""
