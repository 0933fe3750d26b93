"""Scheduled tasks and their runs, one row for each due instant."""
