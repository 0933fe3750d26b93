"""Structured answers: `parse` finds the JSON, `contract` checks it, `verdict` says the outcome.

`snapshots` reports the fields of an answer while it streams, for Python programs.
"""
