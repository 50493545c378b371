"""Files as such, before anyone knows what they mean: read once, recognised, written whole."""
