"""Move an agent with all that is its own to another home or database, while daemons run."""
