"""The model calls of the memory, in the agents' workers: summaries and facts."""
