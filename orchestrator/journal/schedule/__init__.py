"""Scheduled tasks and their runs, one row per due instant."""
