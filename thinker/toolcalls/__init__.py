"""Tool calls in the worker: which tools are offered, and how a model's arguments become usable."""
