"""``orchestrator completion``: shell completion with the Tab key."""
