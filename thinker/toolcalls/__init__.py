"""Tool calls: which tools are offered, and how a model's arguments become usable."""
