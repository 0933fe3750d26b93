"""The model calls of upkeep, in the agents' workers: summaries and facts."""
