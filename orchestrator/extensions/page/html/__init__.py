"""HTML of all screens: pure functions from values to nodes, which escape all text."""
