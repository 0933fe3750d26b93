"""``orchestrator completion``: what the Tab key completes in a shell."""
