"""The supervisor: channels, journal, routing, policy and all child processes."""

__version__ = "0.1.0"
