"""From files and frames to a table of states: the first stage of the path."""
