"""The adapter of the Messages API, in the workers of agents that use it."""
