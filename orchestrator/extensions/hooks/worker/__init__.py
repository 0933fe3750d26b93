"""The hooks of an agent, in its worker."""
