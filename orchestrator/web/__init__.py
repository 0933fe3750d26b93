"""OpenAI-compatible endpoints: every agent is a model, every request a turn in the journal."""
