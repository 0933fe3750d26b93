"""Tool calls as text, for models that have none of their own (seed 003)."""
