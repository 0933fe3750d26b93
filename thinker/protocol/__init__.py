"""What the two processes agree on: environment, messages, methods, wire and log format."""
