"""The HTTP client: bounded waits, kept-alive connections, one error type."""
