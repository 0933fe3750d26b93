"""Schedules of tasks: cron, interval and one-shot times, and time zones. No I/O."""
