"""Schedules of tasks: cron, interval and one-shot times, time zones and misfires. No I/O."""
