"""Forms for parts of agents.json, drawn from its schema."""
