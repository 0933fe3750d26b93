"""The wire between supervisor and worker: environment, messages, methods, framing, log format."""
