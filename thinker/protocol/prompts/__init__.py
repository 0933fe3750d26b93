"""Prompt definitions as files and as values: what the supervisor checks and the worker renders."""
