"""Recorded turns that are run again without effects: replay, tests, and trials of models."""
