"""The calls of `orchestrator models test`, in the worker of the agent that it tries."""
