"""The HTTP client: bounded waits, kept connections, one error type."""
