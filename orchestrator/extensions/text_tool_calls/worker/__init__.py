"""The text protocol of tool calls, in the workers of agents that use it."""
