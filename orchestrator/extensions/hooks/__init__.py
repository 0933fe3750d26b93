"""Hooks: an operator's Python functions at fixed points of a turn, run in the agent's worker."""
