"""Fixtures of all tests of tools here."""

from fakes.tool_fixtures import context, db

__all__ = ["context", "db"]
