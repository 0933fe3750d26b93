"""Tool calls in the worker: which tools are offered, and how a model's calls become valid."""
