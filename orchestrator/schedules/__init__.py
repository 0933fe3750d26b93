"""Scheduled tasks as data: what one is, when it is due, what happens when it was missed."""
