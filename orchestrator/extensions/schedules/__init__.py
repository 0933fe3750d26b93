"""Tasks that agents schedule: their tools."""
