"""Tool calls as text, for models without native tool calls."""
