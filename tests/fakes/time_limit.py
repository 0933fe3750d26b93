"""The time limit of every wait in the tests, which pytest's own is above."""

from orchestrator.testing.time_limit import LIMIT, time_limit

__all__ = ["LIMIT", "time_limit"]
