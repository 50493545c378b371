"""Tables made ready for counting: distinct rows, their encoding, and what nothing explains."""
