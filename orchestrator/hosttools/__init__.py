"""Built-in tools that the supervisor answers itself."""
